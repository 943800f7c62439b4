"""A system: a broker on nodes. How to install, start, stop and wipe it, how to tell that it is up, and who leads what.

Runs and faults are written against this interface alone, so the same scenario strikes our broker and another one. Brokers are named by
their node. The trap is believing what one remembers: `process` is the process that was started, `find_process` the one that /proc
shows for this broker now, and whoever proves something compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from harness.nodes import Process

Setting = str | int | float | bool
START_TIMEOUT = 60.0
STOP_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Leadership:
    """Who has a partition, by name of node; no leader where there is none now."""

    leader: str | None
    epoch: int
    replicas: tuple[str, ...]
    isr: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """A process as /proc shows it; `state` is the letter there."""

    process: Process
    state: str


@dataclass(frozen=True, slots=True)
class ClockError:
    """By how many seconds a broker's wall clock is ahead of its node's: somewhere from `least` to `most`, for it takes time to ask."""

    least: float
    most: float

    def admits(self, seconds: float) -> bool:
        return self.least <= seconds <= self.most


@dataclass(frozen=True, slots=True)
class ReplicaLog:
    """One replica's log, read from its files: the columns of the files beside the history, without those that name the replica.

    `compressed` batches are in `batches`, their records are not in `records`.
    """

    node: str
    topic: str
    part: int
    batches: Mapping[str, Any]
    records: Mapping[str, Any]
    compressed: int = 0


class System(Protocol):
    """Safe to use from several threads."""

    name: str
    bootstrap: str
    ports: tuple[int, ...]  # what brokers listen on: a cut must cover all of them
    start_timeout: float  # how long a broker may take until it serves

    def install(self) -> None:
        """What a node needs before a broker can run there."""

    def configure(self, settings: Mapping[str, Setting], *, clock_faults: bool = False) -> None:
        """Settings of every broker, by Kafka's names. `clock_faults`: brokers started from now on have a clock that can be put off."""

    def start(self) -> None:
        """Every broker; returns when all are up."""

    def start_node(self, node: str) -> None:
        """Returns when the process is there; `is_up` and `wait_up` tell when it serves."""

    def wait_up(self, nodes: list[str], timeout: float = START_TIMEOUT) -> None: ...

    def stop_node(self, node: str, timeout: float = STOP_TIMEOUT) -> bool:
        """SIGTERM; whether it ended by itself in time. It is not killed."""

    def kill_node(self, node: str) -> None:
        """SIGKILL; returns when it has ended."""

    def wipe_node(self, node: str) -> None:
        """Remove all data of a broker that does not run."""

    def is_up(self, node: str) -> bool:
        """Whether it answers, runs and knows a controller."""

    def process(self, node: str) -> Process | None:
        """The one last started and not yet stopped or killed by us."""

    def find_process(self, node: str) -> Seen | None:
        """The broker among the processes of the node, by its command line."""

    def died(self) -> list[str]:
        """Nodes whose broker ended though nobody here ended it."""

    def controller(self) -> str | None: ...

    def leaders(self) -> dict[tuple[str, int], Leadership]:
        """Every partition, in the words of the broker that knows its latest epoch."""

    def clock_error(self, node: str) -> ClockError | None:
        """Nothing where it does not answer."""

    def set_clock(self, node: str, offset: float) -> None:
        """Put the clock of the node's broker off by so many seconds, 0: not at all. It follows within about a second."""

    def data_path(self, node: str) -> str:
        """On the node."""

    def collect_logs(self, folder: Path) -> None:
        """What brokers said, in a folder a node."""

    def dump(self, value_of: Callable[[bytes], int | None]) -> Iterator[ReplicaLog]:
        """Every replica's log; `value_of` finds our value in a payload."""
