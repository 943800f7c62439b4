"""What a run tells before anybody has judged its history: counts.

Counted from the files, a bucket at a time: a value's send and its reads lie in the same bucket, so what was acknowledged and never read
is known without holding more than one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from harness.history.readers import open_history
from harness.history.schema import Function, Outcome
from harness.run.display import Display
from harness.run.outcome import RunOutcome

_COLUMNS = ("f", "outcome", "value")
Values = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Counts:
    """Of messages. `never_read`: acknowledged, and in no poll that succeeded."""

    sends: int = 0
    acknowledged: int = 0
    failed: int = 0
    unknown: int = 0
    reads: int = 0
    never_read: int = 0


def end_run(outcome: RunOutcome, display: Display) -> RunOutcome:
    """Tell how it went; the outcome with what the files add to it."""
    found = count(outcome.folder)
    if not found.acknowledged and not outcome.interrupted:
        outcome = replace(outcome, doubts=(*outcome.doubts, "nothing was acknowledged"))
    display.line(f"{found.sends:,} sends: {found.acknowledged:,} acknowledged, {found.failed:,} failed, {found.unknown:,} unknown")
    display.line(f"{found.reads:,} messages read; {found.never_read:,} acknowledged and never read")
    for doubt in outcome.doubts:
        display.line(f"cannot tell: {doubt}")
    return outcome


def count(run: Path) -> Counts:
    history = open_history(run)
    total = Counts()
    for bucket in history.filled_buckets():
        total = _sum(total, _count_bucket(history.read(bucket, _COLUMNS)))
    return total


def _count_bucket(rows: pa.Table) -> Counts:
    """Words are those of our own recorder, which wrote these files."""
    sent = rows.filter(pc.equal(rows["f"], int(Function.SEND)))
    read = rows.filter(pc.and_(pc.equal(rows["f"], int(Function.POLL)), pc.equal(rows["outcome"], int(Outcome.OK))))
    read = read.filter(pc.is_valid(read["value"]))
    acknowledged = sent.filter(pc.equal(sent["outcome"], int(Outcome.OK)))
    never = np.setdiff1d(_values(acknowledged), _values(read))
    failed = pc.sum(pc.equal(sent["outcome"], int(Outcome.FAIL))).as_py() or 0
    unknown = sent.num_rows - acknowledged.num_rows - failed
    return Counts(sent.num_rows, acknowledged.num_rows, failed, unknown, read.num_rows, len(never))


def _values(rows: pa.Table) -> Values:
    values: Values = rows["value"].to_numpy()
    return values


def _sum(one: Counts, other: Counts) -> Counts:
    return Counts(
        one.sends + other.sends,
        one.acknowledged + other.acknowledged,
        one.failed + other.failed,
        one.unknown + other.unknown,
        one.reads + other.reads,
        one.never_read + other.never_read,
    )
