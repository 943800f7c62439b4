"""The floor: read the columns that the core checks need, with pyarrow, and do nothing with them. Nobody can be faster."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]

from harness.bench.checkers.passes import Counts, arguments, time_passes
from harness.history.readers import history_files

COLUMNS = ["part", "f", "outcome", "phase", "op", "producer", "key", "value", "offset"]


def read(run: Path) -> Counts:
    """File by file, on all cores."""
    for path in history_files(run):
        pq.read_table(path, columns=COLUMNS, partitioning=None)
    return {}


if __name__ == "__main__":
    given = arguments()
    time_passes("read", lambda: read(given.run), given.passes)
