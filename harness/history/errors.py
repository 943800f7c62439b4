"""The one error of this package: a fact and the file it is about, in one sentence.

It is no error of the command line: workloads and the analysis stand on this package without knowing that there is one.
"""

from __future__ import annotations

from pathlib import Path


class HistoryError(Exception):
    """A history that cannot be recorded or read as asked."""


class MalformedFile(HistoryError):
    """A file that is not what its name says. The rest of a run may still be fine."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(path, why)
        self.path = path
        self.why = why

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"
