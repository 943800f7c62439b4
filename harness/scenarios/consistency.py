"""What fields of a scenario allow together: each rule names the fields it is about, the fact, and what is allowed.

Rules are apart from the model so that all mistakes can be told at once: a rule about a field that is wrong by itself is not asked.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from harness.scenarios.broker_settings import SHORT_TIMERS, misplaced, unknown_to_highwater
from harness.scenarios.fields import Path
from harness.scenarios.model import Scenario
from nemesis.catalogue import mistakes_in
from nemesis.schedule import room_needed
from nemesis.targets import NAMED, SAME, Selector, parse_selector


@dataclass(frozen=True, slots=True)
class Problem:
    """`path` is the field that is told; `also` are others that the rule looked at."""

    path: Path
    text: str
    also: tuple[Path, ...] = ()


def problems_in(scenario: Scenario) -> list[Problem]:
    faults = list(_faults(scenario))
    found = [*_deployment(scenario), *_topics(scenario), *_broker(scenario), *_clients(scenario), *_names(scenario), *faults]
    return found if faults else [*found, *_time(scenario)]


def _deployment(scenario: Scenario) -> Iterator[Problem]:
    system, kind = scenario.system, scenario.nodes_kind
    if system == "external" and not scenario.bootstrap:
        yield Problem(("bootstrap",), "is missing: `external` needs HOST:PORT of one broker or more", (("system",),))
    if system != "external" and scenario.bootstrap:
        yield Problem(("bootstrap",), f"is for system = external only, this is {system}", (("system",),))
    for server in scenario.bootstrap:
        host, _, port = server.rpartition(":")
        if not (host and port.isdecimal() and 0 < int(port) < 65_536):
            yield Problem(("bootstrap",), f"{server!r} is not of the form HOST:PORT")
    if system == "external" and scenario.faults:
        text = "of brokers we did not deploy none can be given; leave them out (--fault none), or take another system"
        yield Problem(("faults",), text, (("system",),))
    if system != "kafka" and scenario.kafka_home is not None:
        yield Problem(("kafka_home",), f"is for system = kafka only, this is {system}", (("system",),))
    if system != "highwater" and scenario.plugin is not None:
        yield Problem(("plugin",), f"is for system = highwater only, this is {system}", (("system",),))
    if kind == "ssh" and scenario.inventory is None and system != "external":
        yield Problem(("inventory",), "is missing: `ssh` needs the TOML file of its hosts", (("nodes_kind",),))
    if kind != "ssh" and scenario.inventory is not None:
        yield Problem(("inventory",), f"is for nodes_kind = ssh only, this is {kind}", (("nodes_kind",),))


def _topics(scenario: Scenario) -> Iterator[Problem]:
    topics = scenario.topics
    if scenario.system != "external" and topics.replicas > scenario.nodes:
        yield Problem(
            ("topics", "replicas"), f"{topics.replicas} is more than there are nodes; allowed: 1 to {scenario.nodes}", (("nodes",),)
        )
    if topics.min_insync > topics.replicas:
        text = f"{topics.min_insync} is more than there are replicas; allowed: 1 to {topics.replicas}"
        yield Problem(("topics", "min_insync"), text, (("topics", "replicas"),))
    if scenario.workload.live_partitions > topics.count * topics.partitions:
        text = f"{scenario.workload.live_partitions} is more than there are partitions; allowed: 1 to {topics.count * topics.partitions}"
        yield Problem(("workload", "live_partitions"), text, (("topics", "count"), ("topics", "partitions")))


def _broker(scenario: Scenario) -> Iterator[Problem]:
    for name, text in misplaced(scenario.broker):
        yield Problem(("broker", name), text)
    if scenario.system == "highwater":
        for name, text in unknown_to_highwater(scenario.broker):
            yield Problem(("broker", name), text, (("system",),))
    if scenario.system == "external":
        for name in sorted(name for name, value in scenario.broker.items() if SHORT_TIMERS.get(name) != value):
            yield Problem(("broker", name), "cannot be set on brokers we did not deploy", (("system",),))


def _clients(scenario: Scenario) -> Iterator[Problem]:
    clients = scenario.clients
    idempotence = (("clients", "idempotence"),)
    if clients.idempotence and clients.acks != "all":
        text = f"{clients.acks} cannot be with idempotence; allowed: all, or idempotence = false"
        yield Problem(("clients", "acks"), text, idempotence)
    if clients.idempotence and clients.in_flight > 5:
        yield Problem(("clients", "in_flight"), f"{clients.in_flight} cannot be with idempotence; allowed: 1 to 5", idempotence)
    if clients.idempotence and clients.retries == 0:
        yield Problem(("clients", "retries"), "0 cannot be with idempotence; allowed: 1 or more", idempotence)
    if clients.delivery_timeout < clients.request_timeout + clients.linger_ms / 1000:
        least = clients.request_timeout + clients.linger_ms / 1000
        text = f"{clients.delivery_timeout:g} is shorter than one attempt (linger and request); allowed: {least:g} s or more"
        yield Problem(("clients", "delivery_timeout"), text, (("clients", "request_timeout"), ("clients", "linger_ms")))


def _faults(scenario: Scenario) -> Iterator[Problem]:
    for number, fault in enumerate(scenario.faults):
        for mistake in mistakes_in(fault.spec(), scenario.nodes):
            yield Problem(("faults", number, *mistake.field), mistake.text, (("nodes",),) if mistake.for_nodes else ())
        if fault.variant == "leader-from-isr" and scenario.topics.replicas < 2:
            text = "`leader-from-isr` needs partitions with 2 replicas or more"
            yield Problem(("faults", number, "variant"), text, (("topics", "replicas"),))


def _names(scenario: Scenario) -> Iterator[Problem]:
    names = [fault.name for fault in scenario.faults if fault.name is not None]
    nodes = [f"n{number}" for number in range(1, scenario.nodes + 1)]
    for number, fault in enumerate(scenario.faults):
        if fault.name is not None and fault.name in [earlier.name for earlier in scenario.faults[:number]]:
            yield Problem(("faults", number, "name"), f"{fault.name!r} is the name of an earlier fault too")
        selector = _selector(fault.target)
        if selector.role == SAME and selector.names[0] not in names:
            known = f"names are {', '.join(names)}" if names else "no fault has a name"
            yield Problem(("faults", number, "target"), f"there is no fault called {selector.names[0]!r}; {known}")
        elif selector.role == NAMED and scenario.nodes_kind != "ssh" and not set(selector.names) <= set(nodes):
            near = difflib.get_close_matches(fault.target or "", nodes, 1)
            text = f"{fault.target!r} is no role and names no node; nodes are {', '.join(nodes)}, roles are listed by `./highwater faults`"
            yield Problem(("faults", number, "target"), text + (f"; did you mean `{near[0]}`?" if near else ""), (("nodes",),))


def _selector(target: str | None) -> Selector:
    try:
        return parse_selector(target or "all")
    except ValueError:
        return Selector("all")


def _time(scenario: Scenario) -> Iterator[Problem]:
    needed = room_needed(scenario.fault_specs(), scenario.schedule.timing(), scenario.nodes)
    limit = scenario.durations.time_limit
    if limit < needed:
        text = f"{limit:g} is too short for every fault to strike once; allowed: {needed:g} s or more"
        yield Problem(("durations", "time_limit"), text, (("schedule", "first_after"),))
