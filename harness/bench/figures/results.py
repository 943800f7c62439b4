"""The result of a suite: every round as it was measured, kept as JSON, from which every table and chart is made. Pure.

Nothing here is a mean or a ratio. Those are made anew from the rounds by whoever shows or compares them, so that a result of last year can
be shown by next year's report. Times in seconds, sizes in bytes, shares of the whole machine from 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from harness.bench.suites.case import Case
from harness.bench.usage import Cpu
from harness.errors import UserMistake

RESULT_FILE = "result.json"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What was taken from us meanwhile: by the host, and by processes that are neither brokers nor clients."""

    steal: float
    others: float


@dataclass(frozen=True, slots=True)
class Reading:
    """The topic read back from its beginning."""

    messages: int
    bytes: int
    seconds: float
    client_cpu: float
    busiest_thread: float


@dataclass(frozen=True, slots=True)
class LoadRound:
    """A load as fast as possible. Brokers' figures count from the end of the system's last measurement, so work done ahead is in them."""

    system: int
    case: int
    round: int
    messages: int
    bytes: int
    seconds: float
    replicated_seconds: float
    """Until every replica was equal."""
    behind: int
    """Messages not on every replica at the last acknowledgement."""
    client_cpu: float
    waited: float
    """Share of the time in which producers could only wait, for room or for the last answers."""
    busiest_thread: float
    """Share of a core that the busiest thread of the client took."""
    broker_cpu: Cpu
    written: int
    fsyncs: int | None
    peak: tuple[int, ...]
    """Most resident memory of each broker."""
    segments: float
    """Written a partition."""
    reading: Reading
    disturbance: Disturbance
    repeated: int
    """How often it was tried before, and given up for too much steal."""


@dataclass(frozen=True, slots=True)
class LatencyRound:
    """A load at a fixed rate. Latencies are HdrHistograms of microseconds, encoded; `publish` has none at acks=0."""

    system: int
    case: int
    round: int
    rate: float
    share: float | None
    """Of the slowest system's reach, where the rate was chosen so."""
    messages: int
    seconds: float
    unanswered: int
    unread: int
    publish: str
    end_to_end: str
    disturbance: Disturbance
    repeated: int


@dataclass(frozen=True, slots=True)
class Sustained:
    system: int
    case: int
    rate: float | None
    trials: tuple[tuple[float, bool], ...]


@dataclass(frozen=True, slots=True)
class WarmUp:
    system: int
    seconds: float
    warm: bool
    """Whether the rate had stopped to climb; otherwise time was up."""
    loads: tuple[tuple[int, float], ...]
    """Case and messages a second."""


@dataclass(frozen=True, slots=True)
class Start:
    """Of a whole cluster on empty folders, by itself on the machine: until every broker knows every other."""

    system: int
    seconds: float
    cpu: float
    resident: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Of the cluster that was measured, from its start to its end, warm-up and idle time included."""

    system: int
    cpu: Cpu
    messages: int
    bytes: int
    """What clients wrote and was acknowledged."""
    counted: int | None
    """Messages that the brokers say they took, where they do."""
    written: int
    fsyncs: int | None


@dataclass(frozen=True, slots=True)
class LostUnderKills:
    """Acknowledged messages that were gone after each kill of a leader, at one acks setting."""

    system: int
    acks: str
    lost: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SystemUsed:
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Machine:
    cores: int
    memory: int
    processor: str
    kernel: str
    python: str
    librdkafka: str
    java: str


@dataclass(frozen=True, slots=True)
class Result:
    suite: str
    description: str
    began: str
    seconds: float
    nodes: int
    client: str
    c_client: bool
    machine: Machine
    seed: int
    steal_limit: float
    least_segments: int
    systems: tuple[SystemUsed, ...]
    cases: tuple[Case, ...]
    starts: tuple[Start, ...] = ()
    warm_ups: tuple[WarmUp, ...] = ()
    loads: tuple[LoadRound, ...] = ()
    sustained: tuple[Sustained, ...] = ()
    latencies: tuple[LatencyRound, ...] = ()
    lifetimes: tuple[Lifetime, ...] = ()
    losses: tuple[LostUnderKills, ...] = ()
    version: int = field(default=VERSION)


def write_result(folder: Path, result: Result) -> None:
    (folder / RESULT_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")


def read_result(reference: Path) -> Result:
    """From its folder, or the file itself."""
    path = reference / RESULT_FILE if reference.is_dir() else reference
    try:
        return msgspec.json.decode(path.read_bytes(), type=Result)
    except FileNotFoundError:
        raise UserMistake(f"{reference} holds no result of a benchmark: there is no {RESULT_FILE}") from None
    except msgspec.MsgspecError as problem:
        raise UserMistake(f"{path} is no result of a benchmark that this version reads: {problem}") from None
