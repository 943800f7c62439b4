"""Where a run's files lie: `results/<scenario>/<time>-<id>/`, and who is writing there.

Nodes live in `work/` inside it and that goes when the run is over. A file names the process that owns the run; what a harness that was
killed has left is told by its owner being gone (`leftovers`), never by its age.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserMistake
from harness.history.files import history_directory, write_atomically
from harness.history.plan import PLAN_FILE
from harness.nodes.process_table import find_state, start_time

RESULTS = Path(__file__).resolve().parents[2] / "results"
LATEST = "latest"
_OWNER = "running.json"
_WORK = "work"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """`run_id` is short and unique: names of containers and the payloads of messages carry it."""

    path: Path
    run_id: str

    @property
    def work(self) -> Path:
        return self.path / _WORK

    @property
    def nodes(self) -> Path:
        """Logs, a folder a node."""
        return self.path / "nodes"

    @classmethod
    def create(cls, results: Path, scenario: str) -> RunFolder:
        folder = cls.without_history(results, scenario)
        history_directory(folder.path).mkdir()
        _point_latest(results.resolve(), folder.path)
        return folder

    @classmethod
    def without_history(cls, results: Path, name: str) -> RunFolder:
        """For what uses nodes and is not checked, and so is no run that `latest` could mean."""
        path = fresh_folder(results, name)
        owner = {"pid": os.getpid(), "started": start_time(os.getpid())}
        write_atomically(path / _OWNER, json.dumps(owner).encode())
        (path / _WORK).mkdir()
        return cls(path, _id_of(path))

    def release(self) -> None:
        """The run is over: nothing of it is left but its results."""
        shutil.rmtree(self.work, ignore_errors=True)
        (self.path / _OWNER).unlink(missing_ok=True)


def fresh_folder(results: Path, name: str) -> Path:
    path = results.resolve() / name / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"
    path.mkdir(parents=True)
    return path


def find_run(reference: str, results: Path) -> Path:
    """A run by its folder, `latest`, `SCENARIO/TIME-ID`, or its id."""
    for path in (Path(reference), results / reference):
        if (path / PLAN_FILE).is_file():
            return path.resolve()
    found = [path.parent for path in results.glob(f"*/*-{reference}/{PLAN_FILE}")] if "/" not in reference else []
    if len(found) == 1:
        return found[0].resolve()
    raise UserMistake(f"there is no run {reference!r}; give its folder, its id, or `{LATEST}` ({results} holds them)")


def ownerless(results: Path) -> Iterator[RunFolder]:
    """Runs that were begun and whose harness is gone."""
    for file in sorted(results.glob(f"*/*/{_OWNER}")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            owner = json.loads(file.read_bytes())
            if find_state(owner["pid"], owner["started"]) in (None, "Z", "X"):
                yield RunFolder(file.parent, _id_of(file.parent))


def _id_of(path: Path) -> str:
    return path.name.rpartition("-")[2]


def _point_latest(results: Path, path: Path) -> None:
    """By rename: another run may do the same at this moment."""
    fresh = results / f".{LATEST}-{path.name}"
    fresh.symlink_to(path.relative_to(results))
    os.replace(fresh, results / LATEST)
