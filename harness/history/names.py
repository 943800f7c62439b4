"""Names of topics, errors and groups, numbered in the order in which a worker met them.

A slot holds the number only, so the name must be safe before the first slot that uses it: each new name is one line appended to a
file, one system call for the whole life of the name. A line that was cut off by a kill was never used and is ignored. The
file is also the worker's lock: whoever holds it may write the worker's segments, and a killed worker holds it no more.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

from harness.history.errors import HistoryError, MalformedFile
from harness.history.schema import GROWING_WORDS, MAX_NAMES


class Names:
    """`numbers[column][name]` is the name's number plus one, as slots have it: zero is null. Numbers have no holes."""

    def __init__(self, path: Path) -> None:
        try:
            self._descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o644)
        except FileExistsError:
            raise HistoryError(f"{path} exists: a worker's number is used once in a run") from None
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        self.path = path
        self.numbers: dict[str, dict[str, int]] = {column: {} for column in GROWING_WORDS}

    def add(self, column: str, name: str) -> int:
        """The number plus one of a name that is not yet there."""
        known = self.numbers[column]
        assert name not in known
        if len(known) >= MAX_NAMES:
            raise HistoryError(f"a worker cannot record more than {MAX_NAMES} different names of a {column}: {name!r} is one too many")
        self._append((json.dumps([column, name]) + "\n").encode())
        known[name] = len(known) + 1
        return known[name]

    def listed(self) -> dict[str, list[str]]:
        return {column: list(known) for column, known in self.numbers.items()}

    def close(self, *, remove: bool) -> None:
        """The file stays where segments are left that need it."""
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def _append(self, line: bytes) -> None:
        end = os.fstat(self._descriptor).st_size
        if os.write(self._descriptor, line) != len(line):
            os.ftruncate(self._descriptor, end)
            raise HistoryError(f"{self.path}: no room for a name; the disk is full")


def read_names(path: Path) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {column: [] for column in GROWING_WORDS}
    if not path.exists():
        return names
    lines = path.read_bytes().split(b"\n")[:-1]
    for number, line in enumerate(lines, start=1):
        try:
            column, name = json.loads(line)
            names[column].append(name)
        except (ValueError, KeyError, TypeError):
            raise MalformedFile(path, f"line {number} is not a name") from None
    return names


class DeadWorker:
    """The lock of a worker that is gone, held while its segments are converted. Refused while the worker lives."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_CREAT | os.O_RDONLY, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            raise HistoryError(f"{path}: this worker still records; end it first") from None

    def __enter__(self) -> DeadWorker:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
