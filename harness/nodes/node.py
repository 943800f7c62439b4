"""A node: a host with an address, on which commands run and processes are started, watched and signalled.

Brokers, workers and faults are written against this interface alone, so the same run takes place in namespaces on one machine, in
containers, or on real hosts. What only some kinds can do is an object of its own that may be missing (`Node.network`).

The trap is naming a process by its number alone: numbers are reused, and a kill that strikes a stranger is worse than none. A
process is its pid and its start time, both as the node itself sees them.
"""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from harness.errors import EnvironmentFault
from harness.nodes.network import Network

COMMAND_TIMEOUT = 60.0
_ENDED = ("Z", "X", "x")  # a zombie is dead: it holds no port, file or lock


class CommandTimedOut(EnvironmentFault):
    """A command was killed because it did not end in time."""


class CommandFailed(EnvironmentFault):
    """A command that had to succeed did not, or could not be started at all."""


class NodeLost(EnvironmentFault):
    """The node does not answer any more: its keeper or its connection is gone."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a command ended; a negative code is the signal that ended it."""

    code: int
    out: bytes
    err: bytes

    def require(self, what: str) -> bytes:
        """What it wrote, if it succeeded."""
        if self.code != 0:
            words = (self.err or self.out).decode(errors="replace").strip()[-500:]
            raise CommandFailed(f"{what} failed with exit code {self.code}: {words or 'without a word'}")
        return self.out


@dataclass(frozen=True, slots=True)
class Process:
    """A process of one node; `started` is its start in the node's clock ticks since boot."""

    pid: int
    started: int


class Node(ABC):
    """One host. Safe to use from several threads."""

    name: str
    address: str
    folder: str  # of its own, on the node: where commands run and what relative paths start from
    network: Network | None = None
    shares_files: ClassVar[bool] = False  # those of the machine the harness runs on, its Python and our code among them

    @abstractmethod
    def run(
        self,
        command: Sequence[str],
        *,
        timeout: float = COMMAND_TIMEOUT,
        input: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> Result:
        """Run it to its end. One that takes too long is killed with its process group, and CommandTimedOut is raised.

        `env` is added to the node's own environment, here and in `start`.
        """

    @abstractmethod
    def start(
        self,
        command: Sequence[str],
        *,
        out: str,
        err: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> Process:
        """Start it in a session of its own, appending what it says to files on the node (`err` missing: both to `out`).

        It lives until it ends, is signalled, or the group of nodes is closed.
        """

    @abstractmethod
    def signal(self, process: Process, number: signal.Signals, *, group: bool = False) -> bool:
        """Whether there was such a process to send it to. `group`: to every process of the session it leads."""

    @abstractmethod
    def state(self, process: Process) -> str | None:
        """The letter of its state in /proc (R, S, D, T, Z, ...), or nothing when it is gone."""

    @abstractmethod
    def wait(self, process: Process, timeout: float) -> int | None:
        """Its exit code (negative: the signal), or nothing if it has not ended after so many seconds. Asked again, the same answer."""

    @abstractmethod
    def put(self, path: str, content: bytes | Path, *, mode: int = 0o644) -> None:
        """A file with this content, or that of a file here, in place of any other at once: readers see the old one or the new one.

        Folders on the way are made.
        """

    @abstractmethod
    def get(self, path: str) -> bytes:
        """A file's content; FileNotFoundError where there is none."""

    def alive(self, process: Process) -> bool:
        state = self.state(process)
        return state is not None and state not in _ENDED

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self.address})"


class Nodes(ABC):
    """A group of nodes and one for clients, made for one run. However its use ends, nothing of it is left."""

    kind: str
    run_id: str
    nodes: Sequence[Node]
    client: Node

    @property
    def everyone(self) -> list[Node]:
        return [*self.nodes, self.client]

    @abstractmethod
    def close(self) -> None:
        """End every process in it and take away what was made for it. Closing twice is closing once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
