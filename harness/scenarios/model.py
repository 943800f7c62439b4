"""What a scenario says: one field a decision, each with a text, what is allowed, and the flag that overrides it.

Files, flags, help and error messages all come from these classes, so a field added here is a field everywhere. What one field
allows is said here; what fields allow together is `consistency`. Times are seconds unless the name says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from harness.scenarios.broker_settings import Setting, with_short_timers
from nemesis.catalogue import CATALOGUE, FaultSpec, Value
from nemesis.schedule import Timing

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
LONGEST = 7 * 86_400.0
Event = Literal[
    "leader-changed",
    "epoch-fenced",
    "isr-shrunk",
    "isr-grown",
    "isr-change-refused",
    "truncated",
    "duplicate-batch",
    "session-lapsed",
    "controller-changed",
]


@dataclass(frozen=True, slots=True)
class Told:
    """How a field shows itself to people: its flag, if not the field's own name, and what is allowed, if types cannot say."""

    flag: str | None = None
    allowed: str | None = None


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


def _as_word(value: Any) -> Any:
    return str(value) if type(value) is int else value


def _broker(value: Any) -> Any:
    return with_short_timers(value) if isinstance(value, Mapping) else value


class Topics(_Part):
    """The pool of topics made at the start."""

    count: Annotated[int, Field(ge=1, le=1000), Told("topics")] = Field(default=8, description="how many topics")
    partitions: Annotated[int, Field(ge=1, le=1000)] = Field(default=4, description="partitions of each topic")
    replicas: Annotated[int, Field(ge=1, le=9)] = Field(default=3, description="replicas of each partition")
    min_insync: Annotated[int, Field(ge=1, le=9)] = Field(default=2, description="min.insync.replicas")
    unclean: bool = Field(default=False, description="unclean.leader.election.enable: a replica outside the ISR may lead, losing data")


class Clients(_Part):
    """Settings of every client."""

    acks: Annotated[Literal["0", "1", "all"], BeforeValidator(_as_word)] = Field(
        default="all", description="replicas that must have a message"
    )
    idempotence: bool = Field(default=True, description="the broker refuses what a retry sends twice")
    in_flight: Annotated[int, Field(ge=1, le=1000)] = Field(default=5, description="requests in flight on a connection")
    linger_ms: Annotated[float, Field(ge=0, le=10_000)] = Field(default=5.0, description="how long a batch waits for more, ms")
    batch_bytes: Annotated[int, Field(ge=1, le=10_000_000)] = Field(default=65_536, description="largest batch, bytes")
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = Field(default="none", description="codec of batches")
    retries: Annotated[int, Field(ge=0, le=2_147_483_647)] = Field(default=2_147_483_647, description="how often a send is tried again")
    request_timeout: Annotated[float, Field(ge=0.1, le=300)] = Field(default=3.0, description="how long a request waits for its answer")
    delivery_timeout: Annotated[float, Field(ge=0.1, le=900)] = Field(default=10.0, description="how long a send may take, retries and all")
    isolation: Literal["read_uncommitted", "read_committed"] = Field(default="read_uncommitted", description="what polls return")


class Workload(_Part):
    """What clients do."""

    kind: Annotated[Literal["log", "ordered"], Told("workload")] = Field(
        default="log", description="log: sends of unique values and polls that seek and look up; ordered: many record keys, order of each"
    )
    preset: Literal["idempotent", "fire-and-forget"] | None = Field(default=None, description="client settings to start from")
    rate: Annotated[float, Field(ge=0, le=10_000_000)] = Field(
        default=2000.0, description="sends a second of all workers together (open loop); 0: as fast as it goes (closed loop)"
    )
    workers: Annotated[int, Field(ge=1, le=64)] = Field(default=2, description="worker processes")
    senders: Annotated[int, Field(ge=1, le=1000)] = Field(default=4, description="sending clients in each worker")
    pollers: Annotated[int, Field(ge=0, le=1000)] = Field(default=2, description="polling clients in each worker")
    record_bytes: Annotated[int, Field(ge=64, le=1_000_000)] = Field(default=128, description="size a message is padded to, bytes")
    live_partitions: Annotated[int, Field(ge=1, le=10_000)] = Field(default=10, description="partitions written to at a time")
    writes_per_partition: Annotated[int, Field(ge=1, le=1_000_000_000)] = Field(
        default=4000, description="sends after which a partition is retired for a fresh one, on average"
    )
    keys: Annotated[int, Field(ge=1, le=10_000_000)] = Field(default=1000, description="record keys of `ordered`")


class Fault(_Part):
    """One fault. What is left out is drawn from the seed."""

    kind: Annotated[str, Told(allowed=", ".join(CATALOGUE))] = Field(description="which fault")
    variant: Annotated[str | None, Told(allowed="a word; `./highwater faults` lists them")] = Field(
        default=None, description="which form of it; left out: drawn for each strike"
    )
    target: Annotated[str | None, Told(allowed="a role as text; `./highwater faults` lists them")] = Field(
        default=None, description="whom it strikes"
    )
    name: Annotated[str, StringConstraints(pattern=f"^{NAME}$"), Told(allowed="a short word")] | None = Field(
        default=None, description="what another fault's target `as:NAME` refers to"
    )
    at: Annotated[float, Field(ge=0, le=LONGEST)] | None = Field(default=None, description="when it strikes; left out: at random times")
    lasts: Annotated[float, Field(gt=0, le=LONGEST)] | None = Field(default=None, description="how long; left out: drawn for each strike")
    every: Annotated[float, Field(gt=0, le=LONGEST)] | None = Field(default=None, description="strike again so often after `at`")
    rests: Annotated[float, Field(ge=0.5, le=LONGEST)] | None = Field(
        default=None, description="mean wait after a strike at random; left out: the schedule's mean_interval"
    )
    parameters: Annotated[Mapping[str, float | int | str], Told(allowed="a table of numbers and words")] = Field(
        default_factory=dict, description="as the fault has them"
    )

    def spec(self) -> FaultSpec:
        parameters: dict[str, Value] = dict(sorted(self.parameters.items()))
        return FaultSpec(self.kind, self.variant, self.target, self.name, self.at, self.lasts, self.every, self.rests, parameters)


class Schedule(_Part):
    """How faults without a time of their own are spread over the run."""

    mean_interval: Annotated[float, Field(ge=0.5, le=3600)] = Field(
        default=10.0, description="mean length of a strike, and of the wait after it"
    )
    first_after: Annotated[float, Field(ge=0, le=3600)] = Field(default=5.0, description="no fault before")
    calm_share: Annotated[float, Field(ge=0, le=0.9)] = Field(default=0.25, description="share of the periods without any fault")
    overlap: bool = Field(default=True, description="different faults at the same time; else one after the other")

    def timing(self) -> Timing:
        return Timing(self.mean_interval, self.first_after, self.calm_share, self.overlap)


class Durations(_Part):
    """The lengths of the phases."""

    warm_up: Annotated[float, Field(ge=0, le=3600)] = Field(default=5.0, description="load before time begins to count")
    time_limit: Annotated[float, Field(ge=1, le=LONGEST)] = Field(default=60.0, description="load with faults")
    after_heal: Annotated[float, Field(ge=0, le=3600)] = Field(
        default=5.0, description="load after everything is healed, so that the return of service is in the history"
    )
    recovery: Annotated[float, Field(ge=0, le=3600)] = Field(
        default=60.0, description="how long the cluster may take to come to rest before the final reads; then nobody can tell"
    )


class Expect(_Part):
    """What must be seen for the run to count."""

    progress: bool = Field(default=False, description="service is promised wherever a quorum and enough replicas can reach each other")
    coverage: Annotated[tuple[Event, ...], Told("coverage")] = Field(default=(), description="states that must have been reached")


class Scenario(_Part):
    """Everything a run is made of. Left out is what its default says."""

    name: Annotated[str, StringConstraints(pattern=f"^{NAME}$"), Told(allowed="letters, digits, `.`, `_`, `-`")] = Field(
        default="scenario", description="results go to results/NAME/; left out: the file's name"
    )
    description: str = Field(default="", description="what this run is about, one paragraph")
    system: Literal["highwater", "kafka", "external"] = Field(default="highwater", description="the broker under test")
    nodes: Annotated[int, Field(ge=1, le=9)] = Field(default=3, description="how many nodes")
    nodes_kind: Literal["namespaces", "docker", "ssh"] = Field(default="namespaces", description="what nodes are")
    inventory: str | None = Field(default=None, description="TOML file of the hosts of `ssh`")
    bootstrap: Annotated[tuple[str, ...], Told(allowed="HOST:PORT, several separated by commas or in a list")] = Field(
        default=(), description="bootstrap servers of `external`"
    )
    kafka_home: str | None = Field(default=None, description="where `kafka` is installed; left out: resolved from Maven Central")
    plugin: str | None = Field(
        default=None, description="Python file that replaces a behaviour of `highwater`: a broken broker to be caught"
    )
    restart_dead: bool = Field(default=True, description="start a broker again that died on its own")
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = Field(
        default=None, description="everything random; left out: drawn at the start"
    )
    topics: Topics = Topics()
    broker: Annotated[
        Mapping[str, Setting], BeforeValidator(_broker), Told("set", "names and values of broker settings, as Kafka has them")
    ] = Field(default_factory=lambda: with_short_timers({}), description="a broker setting by Kafka's name")
    clients: Clients = Clients()
    workload: Workload = Workload()
    faults: Annotated[tuple[Fault, ...], Told("fault")] = Field(
        default=(),
        description="KIND[:VARIANT][@TARGET][/FIELD=VALUE]..., by commas (FIELD: at, lasts, every, rests, name, a parameter); none",
    )
    schedule: Schedule = Schedule()
    durations: Durations = Durations()
    expect: Expect = Expect()

    def fault_specs(self) -> list[FaultSpec]:
        return [fault.spec() for fault in self.faults]


PRESETS: Mapping[str, Mapping[str, object]] = {
    "idempotent": {"acks": "all", "idempotence": True, "in_flight": 5, "retries": 2_147_483_647},
    "fire-and-forget": {"acks": "0", "idempotence": False, "retries": 0},
}
