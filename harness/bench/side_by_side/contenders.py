"""Who is measured: our broker as it lies here, Apache Kafka, or our broker as it was at some revision.

A revision is checked out into a folder of its own, beside the working tree and not in it, and gone when the benchmark ends. It runs on the
packages of today's lock file.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.errors import EnvironmentFault, UserMistake
from harness.nodes import Nodes
from harness.systems.deployed_system import DeployedSystem

ROOT = Path(__file__).resolve().parents[3]
OURS, KAFKA = "highwater", "kafka"


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    version: str
    source: Path | None = None
    """A checkout of ours; none: Apache Kafka."""
    kafka_home: Path | None = None

    @property
    def compiles_itself(self) -> bool:
        """Its rate climbs for minutes, not for seconds."""
        return self.source is None

    def create(self, nodes: Nodes) -> DeployedSystem:
        if self.source is None:
            from harness.systems.kafka_system import KafkaSystem

            return KafkaSystem(nodes, kafka_home=self.kafka_home)
        from harness.systems.highwater_system import HighwaterSystem

        return HighwaterSystem(nodes, source=self.source)


@contextmanager
def contenders(names: Sequence[str], folder: Path, kafka_home: Path | None = None) -> Iterator[list[Contender]]:
    """Checkouts lie in the folder."""
    if len(set(names)) < len(names):
        raise UserMistake(f"a system cannot be compared with itself: {','.join(names)}")
    with ExitStack() as checkouts:
        yield [_contender(name, folder, kafka_home, checkouts) for name in names]


def require(names: Sequence[str], kafka_home: Path | None = None) -> None:
    """Every name means something that can be had here; asked before anything is started."""
    for name in names:
        if name == KAFKA:
            from harness.systems.kafka_files import missing

            if reason := missing(kafka_home):
                raise EnvironmentFault(reason)
        elif name != OURS:
            _commit(name)


def _contender(name: str, folder: Path, kafka_home: Path | None, checkouts: ExitStack) -> Contender:
    if name == KAFKA:
        from harness.systems.kafka_files import VERSION

        return Contender(name, VERSION if kafka_home is None else kafka_home.name, kafka_home=kafka_home)
    if name == OURS:
        return Contender(name, _described(), ROOT)
    commit = _commit(name)
    path = folder / f"revision-{commit[:12]}"
    _git("worktree", "add", "--detach", str(path), commit)
    checkouts.callback(_git, "worktree", "remove", "--force", str(path))
    return Contender(name, commit[:12], path)


def _commit(name: str) -> str:
    found = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"], capture_output=True, text=True
    )
    if found.returncode:
        raise UserMistake(f"there is no system `{name}`, and no such revision; there are {OURS}, {KAFKA} and what git knows")
    return found.stdout.strip()


def _described() -> str:
    found = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"], capture_output=True, text=True)
    return found.stdout.strip() or "unknown revision"


def _git(*words: str) -> None:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
    if done.returncode:
        raise EnvironmentFault(f"git {words[0]} {words[1]} failed: {done.stderr.strip()}")
