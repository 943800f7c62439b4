"""Rows of a history for tests: what is not said is null, or the plainest there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from harness.history.buckets import bucket_of
from harness.history.layout import BucketFileWriter
from harness.history.schema import FIXED_WORDS, GROWING_WORDS, ROWS, Function, Kind, Outcome, Phase

S = 1_000_000_000
MS = 1_000_000
ERRORS = ["_MSG_TIMED_OUT", "_QUEUE_FULL"]
NAMES = {**FIXED_WORDS, "topic": ["orders", "audit"], "error": ERRORS, "group": []}
_PLAIN: dict[str, Any] = dict.fromkeys(ROWS.names) | {
    "process": 0,
    "micro": 0,
    "kind": Kind.SEND,
    "phase": Phase.RUN,
    "topic": 0,
    "part": 0,
}


def send(value: int, invoked: int, completed: int | None, outcome: Outcome = Outcome.OK, **more: Any) -> dict[str, Any]:
    return _PLAIN | {"op": value, "f": Function.SEND, "value": value, "invoked": invoked, "completed": completed, "outcome": outcome} | more


def poll(value: int | None, invoked: int, completed: int, **more: Any) -> dict[str, Any]:
    row = _PLAIN | {"op": 1 << 20 | completed, "kind": Kind.POLL, "f": Function.POLL, "outcome": Outcome.OK}
    return row | {"value": value, "invoked": invoked, "completed": completed} | more


def table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([{name: value for name, value in row.items()} for row in rows], ROWS)


def write_history(run: Path, *rows: dict[str, Any], buckets: int = 4) -> None:
    """One file with all of them."""
    by_bucket: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        topic = None if row["topic"] is None else NAMES["topic"][row["topic"]]
        by_bucket.setdefault(bucket_of(topic, row["part"], buckets), []).append(row)
    (run / "history").mkdir(parents=True, exist_ok=True)
    names = {column: NAMES[column] for column in GROWING_WORDS}
    with BucketFileWriter(run / "history" / "w00001-000000.parquet", buckets, names) as writer:
        for bucket in sorted(by_bucket):
            writer.write(bucket, table(*by_bucket[bucket]))
