"""From slots to Parquet: a full segment of a living worker, and everything a dead one left.

The name of the Parquet file follows from worker and segment, and segments are converted in the order of their numbers. So it
can be cut off anywhere and begun again: a segment whose file is there is done and only has to go, and a segment can tell which
of its open slots count in the next one, because that one is still there. Whatever converts must keep this order, and stop at
the first failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from harness.history import slots
from harness.history.buckets import bucket_of
from harness.history.files import finished_path, names_path, open_directory, segment_path, segments_left, workers_left
from harness.history.layout import BucketFileWriter
from harness.history.names import DeadWorker, read_names
from harness.history.schema import ROWS, Outcome
from harness.history.segment import Positions, Rows, Segment

NONE_MOVED: Positions = np.empty(0, np.int64)


def convert_leftovers(run: Path) -> list[Path]:
    """Save what dead workers left in a run. Open slots end as `info`. Doing it again does nothing."""
    return [path for worker in workers_left(run) for path in convert_worker(run, worker)]


def convert_worker(run: Path, worker: int) -> list[Path]:
    with DeadWorker(names_path(run, worker)) as dead:
        numbers = segments_left(run).get(worker, [])
        names = read_names(dead.path)
        written = [_convert_dead(run, worker, number, names) for number in numbers]
        for scrap in open_directory(run).glob(f"w{worker:05}-*.tmp"):
            scrap.unlink()
        dead.path.unlink()
    return [path for path in written if path is not None]


def convert_segment(run: Path, segment: Segment, moved: Positions, names: Mapping[str, Sequence[str]]) -> Path | None:
    """Write a segment's rows, but those that moved on, and remove it. No file where there is no row."""
    path = finished_path(run, segment.header.worker, segment.header.number)
    chosen = np.setdiff1d(np.arange(len(segment.filled())), moved, assume_unique=True)
    if len(chosen):
        _write(path, segment, chosen, names)
    segment.remove()
    return path if len(chosen) else None


def to_table(rows: Rows) -> pa.Table:
    """Slots as rows of the history; an open one is `info` and has no completion."""
    done = rows["outcome"] != 0
    given, answered = rows["given"], rows["answered"]
    present: dict[str, npt.NDArray[np.bool_]] = {
        "completed": done,
        "producer": given & slots.GIVEN_PRODUCER != 0,
        "intended": given & slots.GIVEN_INTENDED != 0,
        "part": given & slots.GIVEN_PART != 0,
        "key": given & slots.GIVEN_KEY != 0,
        "value": given & slots.GIVEN_VALUE != 0,
        "generation": given & slots.GIVEN_GENERATION != 0,
        "offset": done & (answered & slots.ANSWERED_OFFSET != 0),
        "timestamp": done & (answered & slots.ANSWERED_TIMESTAMP != 0),
        "leader_epoch": done & (answered & slots.ANSWERED_EPOCH != 0),
    }
    words = {
        "kind": rows["kind"] - 1,
        "outcome": np.where(done, rows["outcome"], Outcome.INFO + 1) - 1,
        "error": np.where(done, rows["error"], 0).astype(np.int32) - 1,
        "topic": rows["topic"].astype(np.int32) - 1,
        "group": rows["group"].astype(np.int32) - 1,
    }
    present |= {column: words[column] >= 0 for column in ("error", "topic", "group")}
    columns = [_column(words.get(field.name, rows[field.name]), field.type, present.get(field.name)) for field in ROWS]
    return pa.Table.from_arrays(columns, schema=ROWS)


def _convert_dead(run: Path, worker: int, number: int, names: Mapping[str, Sequence[str]]) -> Path | None:
    path = segment_path(run, worker, number)
    if finished_path(run, worker, number).exists():
        path.unlink()
        return None
    segment = Segment.open(path)
    return convert_segment(run, segment, _moved_on(segment_path(run, worker, number + 1)), names)


def _moved_on(newer: Path) -> Positions:
    if not newer.exists():
        return NONE_MOVED
    segment = Segment.open(newer)
    moved = segment.taken_over()
    segment.close()
    return moved


def _write(path: Path, segment: Segment, chosen: Positions, names: Mapping[str, Sequence[str]]) -> None:
    """A bucket at a time, in the order of the slots, so that no more than one bucket is held in memory twice."""
    buckets = _buckets_of(segment, chosen, names["topic"])
    order = np.argsort(buckets, kind="stable")
    numbers, starts = np.unique(buckets[order], return_index=True)
    ends = [*starts[1:].tolist(), len(order)]
    with BucketFileWriter(path, segment.header.buckets, names) as writer:
        for bucket, start, end in zip(numbers.tolist(), starts.tolist(), ends, strict=True):
            writer.write(bucket, to_table(segment.slots[chosen[order[start:end]]]))


def _buckets_of(segment: Segment, chosen: Positions, topics: Sequence[str]) -> npt.NDArray[np.int32]:
    """One checksum a topic-partition, not a row."""
    topic = segment.slots["topic"][chosen].astype(np.int64)
    part = segment.slots["part"][chosen].astype(np.int64)
    has_part = segment.slots["given"][chosen] & slots.GIVEN_PART != 0
    pairs, which = np.unique(np.where(has_part & (topic > 0), (topic << 32) + part, -(2**62)), return_inverse=True)
    return np.array([_bucket_of_pair(pair, topics, segment.header.buckets) for pair in pairs.tolist()], np.int32)[which]


def _bucket_of_pair(pair: int, topics: Sequence[str], buckets: int) -> int:
    if pair == -(2**62):
        return bucket_of(None, None, buckets)
    topic = (pair + 2**31) >> 32
    return bucket_of(topics[topic - 1], pair - (topic << 32), buckets)


def _column(values: npt.NDArray[np.generic], kind: pa.DataType, present: npt.NDArray[np.bool_] | None) -> pa.Array:
    exact = np.ascontiguousarray(values).astype(kind.to_pandas_dtype(), copy=False)
    return pa.array(exact, kind, mask=None if present is None or present.all() else ~present)
