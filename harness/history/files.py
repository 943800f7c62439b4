"""Where the files of a history lie, and how one appears: whole, under its final name, or not at all.

Finished files lie in `history/`; what is still being recorded lies in `history/open/` and is gone when the run is over.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_SEGMENT = re.compile(r"w(\d{5,})-(\d{6,})\.slots")


def history_directory(run: Path) -> Path:
    return run / "history"


def open_directory(run: Path) -> Path:
    return run / "history" / "open"


def segment_path(run: Path, worker: int, number: int) -> Path:
    return open_directory(run) / f"w{worker:05}-{number:06}.slots"


def names_path(run: Path, worker: int) -> Path:
    return open_directory(run) / f"w{worker:05}.names"


def finished_path(run: Path, worker: int, number: int) -> Path:
    return history_directory(run) / f"w{worker:05}-{number:06}.parquet"


def finished_files(run: Path, worker: int) -> list[Path]:
    return sorted(history_directory(run).glob(f"w{worker:05}-*.parquet"))


def segments_left(run: Path) -> dict[int, list[int]]:
    """Worker -> numbers of its segments that are not converted yet, rising."""
    left: dict[int, list[int]] = {}
    for path in open_directory(run).glob("w*.slots"):
        if match := _SEGMENT.fullmatch(path.name):
            left.setdefault(int(match[1]), []).append(int(match[2]))
    return {worker: sorted(numbers) for worker, numbers in sorted(left.items())}


def workers_left(run: Path) -> list[int]:
    """Workers that recorded and did not close, with segments or without."""
    named = {int(path.stem[1:]) for path in open_directory(run).glob("w*.names") if path.stem[1:].isdecimal()}
    return sorted(named | set(segments_left(run)))


def unfinished(path: Path) -> Path:
    """The name a file has while it is being written."""
    return path.with_name(path.name + ".tmp")


def appear(path: Path) -> None:
    """Give a written file its final name, on the disk for good."""
    sync(unfinished(path))
    os.replace(unfinished(path), path)
    sync(path.parent)


def write_atomically(path: Path, data: bytes) -> None:
    unfinished(path).write_bytes(data)
    appear(path)


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
