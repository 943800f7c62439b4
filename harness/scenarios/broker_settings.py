"""Broker settings by Kafka's names: the short timers of runs, the names our broker knows, and those a scenario may not set.

Names are checked before anything is deployed, because a misspelt time-out that is ignored makes every result worthless. For Kafka only
the form of a name is checked: it has hundreds, and says itself what it does not know.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

Setting = bool | int | float | str

# Faults of ten seconds matter only if brokers notice within a few; retention must not delete what final reads look for.
SHORT_TIMERS: Mapping[str, Setting] = {
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 3000,
    "replica.fetch.wait.max.ms": 100,
    "controller.quorum.election.timeout.ms": 1000,
    "log.segment.bytes": 1 << 20,
    "log.retention.ms": -1,
}

_KNOWN = """
    auto.create.topics.enable broker.heartbeat.interval.ms broker.session.timeout.ms compression.type connections.max.idle.ms
    controller.quorum.election.timeout.ms fetch.max.bytes log.cleaner.delete.retention.ms
    log.cleaner.min.cleanable.ratio log.cleanup.policy log.flush.interval.messages log.flush.interval.ms
    log.index.interval.bytes log.index.size.max.bytes log.level
    log.message.timestamp.after.max.ms log.message.timestamp.before.max.ms log.message.timestamp.type log.retention.bytes
    log.retention.check.interval.ms log.retention.ms log.roll.ms log.segment.bytes log.segment.delete.delay.ms max.connections
    max.in.flight.requests.per.connection message.max.bytes metadata.log.max.record.bytes.between.snapshots queued.max.request.bytes
    replica.fetch.max.bytes replica.fetch.response.max.bytes replica.fetch.wait.max.ms
    replica.high.watermark.checkpoint.interval.ms replica.lag.time.max.ms socket.request.max.bytes
"""
KNOWN_TO_HIGHWATER = frozenset(_KNOWN.split())

_OF_THE_DEPLOYMENT = """
    advertised.listeners broker.id broker.rack cluster.id controller.listener.names controller.quorum.bootstrap.servers
    controller.quorum.voters http.listener listeners log.dir log.dirs node.id process.roles
"""

# Name -> what decides it instead.
DECIDED_ELSEWHERE: Mapping[str, str] = {
    "min.insync.replicas": "topics.min_insync",
    "unclean.leader.election.enable": "topics.unclean",
    "default.replication.factor": "topics.replicas",
    "num.partitions": "topics.partitions",
} | dict.fromkeys(_OF_THE_DEPLOYMENT.split(), "the deployment")

_FORM = re.compile(r"[a-z][a-z0-9]*([._-][a-z0-9]+)*")


def with_short_timers(given: Mapping[str, Any]) -> dict[str, Any]:
    """In the order of names, so that two scenarios that say the same are the same."""
    return dict(sorted({**SHORT_TIMERS, **given}.items()))


def flattened(table: Mapping[str, Any]) -> dict[str, Any]:
    """Kafka's names are dotted, and dotted keys nest in TOML."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= {f"{key}.{name}": each for name, each in flattened(value).items()} if isinstance(value, Mapping) else {key: value}
    return flat


def misplaced(settings: Mapping[str, Setting]) -> Iterator[tuple[str, str]]:
    """Name of each setting that no broker may be given here or in this form, and why."""
    for name in settings:
        if name in DECIDED_ELSEWHERE:
            yield name, f"is decided by {DECIDED_ELSEWHERE[name]}, not here"
        elif not _FORM.fullmatch(name):
            yield name, "is no name of a Kafka setting; allowed: lower-case words joined with dots"
    heartbeat, session = (settings.get(name) for name in ("broker.heartbeat.interval.ms", "broker.session.timeout.ms"))
    if isinstance(heartbeat, int) and isinstance(session, int) and heartbeat * 2 > session:
        yield "broker.heartbeat.interval.ms", f"{heartbeat} is more than half of broker.session.timeout.ms; allowed: up to {session // 2}"


def unknown_to_highwater(settings: Mapping[str, Setting]) -> Iterator[tuple[str, str]]:
    for name in settings:
        if name not in KNOWN_TO_HIGHWATER and name not in DECIDED_ELSEWHERE and _FORM.fullmatch(name):
            yield name, f"is no setting of this broker; {_nearest(name)}"


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, sorted(KNOWN_TO_HIGHWATER), 1, 0.5)
    return f"did you mean `{near[0]}`?" if near else f"allowed: {', '.join(sorted(KNOWN_TO_HIGHWATER))}"
