"""The run that is made for each acks setting: one partition, three replicas, a level load, and faults one after the other.

One partition, so that "the leader" and "a follower" are one broker each and every message is struck. An ordinary scenario, so that each
fault is proven, the end is read and the whole can be checked. Brokers have the short timers of runs: how long nobody can write after a
leader's death is above all how long the cluster waits for it, and the report says how long that is.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.scenarios import Scenario
from harness.scenarios.model import Clients, Durations, Fault, Topics, Workload
from workloads.clients import Acks

KILL, PAUSE, PARTITION = "kill", "pause", "partition"
WORDS = {KILL: "leader killed", PAUSE: "follower paused", PARTITION: "leader cut off, then healed"}
TARGETS = {KILL: "leader", PAUSE: "follower", PARTITION: "leader"}
FIRST_S = 3.0
LASTS_S = 5.5
EVERY_S = 10.5
NODES = 3


@dataclass(frozen=True, slots=True)
class FaultedLoad:
    """`kills` of the leader, then `others` pauses of a follower and as many partitions of the leader from the rest."""

    kills: int = 10
    others: int = 3
    rate: float = 2000.0
    record_bytes: int = 1024
    system: str = "highwater"
    kafka_home: str | None = None

    @property
    def strikes(self) -> list[str]:
        return [KILL] * self.kills + [PAUSE] * self.others + [PARTITION] * self.others

    @property
    def seconds(self) -> float:
        """Of one run's load."""
        return FIRST_S + EVERY_S * len(self.strikes)


def scenario_for(load: FaultedLoad, acks: Acks) -> Scenario:
    """Retries go on for as long as a message may take: what is measured is the cluster's pause, not the client's patience."""
    faults = tuple(_fault(kind, FIRST_S + EVERY_S * place) for place, kind in enumerate(load.strikes))
    settings = {
        "name": f"bench-faults-acks-{acks}",
        "description": "A level load on one partition while brokers are struck one after the other.",
        "system": load.system,
        "nodes": NODES,
        "topics": Topics(count=1, partitions=1, replicas=3, min_insync=2),
        "clients": Clients(acks=acks, idempotence=acks == "all", delivery_timeout=30.0),
        "workload": Workload(
            rate=load.rate,
            workers=1,
            senders=1,
            pollers=0,
            record_bytes=load.record_bytes,
            live_partitions=1,
            writes_per_partition=1_000_000_000,
        ),
        "faults": faults,
        "durations": Durations(warm_up=3.0, time_limit=load.seconds, recovery=120.0),
    }
    if load.kafka_home is not None:
        settings["kafka_home"] = load.kafka_home
    return Scenario.model_validate(settings)


def _fault(kind: str, at: float) -> Fault:
    return Fault(kind=kind, variant="one" if kind == PARTITION else None, target=TARGETS[kind], at=at, lasts=LASTS_S)
