"""What the tests of this package share: rows with their words, in an order that does not depend on files."""

from pathlib import Path
from typing import Any

from harness.history.readers import History, open_history
from harness.history.schema import DICTIONARIES

BLANK: dict[str, Any] = {
    "producer": None, "error": None, "intended": None, "completed": None, "topic": None, "part": None, "key": None, "value": None,
    "offset": None, "timestamp": None, "leader_epoch": None, "group": None, "generation": None, "phase": 0, "micro": 0,
}  # fmt: skip


def rows_of(run: Path) -> list[dict[str, Any]]:
    return named_rows(open_history(run))


def named_rows(history: History) -> list[dict[str, Any]]:
    rows = history.read_all().to_pylist()
    for row in rows:
        for column in DICTIONARIES:
            if row[column] is not None:
                row[column] = history.names[column][row[column]]
    return sorted(rows, key=lambda row: (row["op"], row["micro"]))
