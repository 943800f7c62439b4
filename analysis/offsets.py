"""One offset, one value: what lies where must be the same for everybody who was told.

`inconsistent-offsets` is Jepsen's name for any two values at one offset. Who told matters: an acknowledgement against a poll is a lost
write where acknowledgements promise little, whereas two polls that differ are never right.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analysis.check import Check
from analysis.findings import Finding, Witness
from analysis.log import Log
from analysis.partition import Column
from analysis.telling import finding, how_known, listed, who, witness


def conflicts(log: Log) -> Iterator[Finding]:
    """Offsets with several values, and of what kind they are."""
    if log.owns.all():
        return
    values = np.bincount(log.place)
    polled, told = (_values_at_places(log, of_row) for of_row in (log.pairs.of_poll, log.pairs.of_ack))
    yield _conflict(log, "inconsistent-offsets", np.flatnonzero(values > 1))
    yield _conflict(log, "ack-conflict", np.flatnonzero((values > 1) & (polled > 0) & (told > 0)))
    yield _conflict(log, "read-conflict", np.flatnonzero(polled > 1), polled_first=True)


def duplicates(log: Log) -> Iterator[Finding]:
    """Values at several offsets."""
    numbers = np.flatnonzero(np.bincount(log.pairs.number, minlength=len(log.values)) > 1)
    yield finding("duplicate", (log.values[numbers],), lambda at: _tell_duplicate(log, int(numbers[at])))


def _values_at_places(log: Log, of_row: Column) -> Column:
    """How many values these rows told of each place."""
    told = np.zeros(len(log.place), np.bool_)
    told[of_row] = True
    return np.bincount(log.place[told], minlength=log.place[-1] + 1)


def _conflict(log: Log, name: str, places: Column, *, polled_first: bool = False) -> Finding:
    starts = np.searchsorted(log.place, places)
    offsets = log.pairs.offset[starts]
    return finding(name, (offsets,), lambda at: _tell_conflict(log, int(places[at]), polled_first))


def _tell_conflict(log: Log, place: int, polled_first: bool) -> Witness:
    pairs = range(*np.searchsorted(log.place, (place, place + 1)))
    known = [how_known(log, pair, polled_first=polled_first) for pair in pairs]
    offset = int(log.pairs.offset[pairs[0]])
    sentence = f"Offset {offset} has {len(pairs)} values: {listed([text for text, _ in known])}."
    return witness(log, sentence, (offset,), [row for _, row in known], offset=offset)


def _tell_duplicate(log: Log, number: int) -> Witness:
    pairs = np.flatnonzero(log.pairs.number == number)
    offsets = [int(offset) for offset in log.pairs.offset[pairs]]
    known = [how_known(log, int(pair)) for pair in pairs]
    value, rows = int(log.values[number]), [row for _, row in known]
    by = ""
    if number < log.sent_count:
        rows.insert(0, int(log.writer[number]))
        by = f", sent by {who(log, rows[0])},"
    evidence = listed([f"at {offset} {text}" for offset, (text, _) in zip(offsets, known, strict=True)])
    sentence = f"Value {value}{by} lies at offsets {listed([str(offset) for offset in offsets])}: {evidence}."
    return witness(log, sentence, (value,), rows, offset=offsets[0])


_COLUMNS = ("f", "outcome", "value", "offset")
CHECKS = (
    Check(("inconsistent-offsets", "ack-conflict", "read-conflict"), _COLUMNS, conflicts),
    Check(("duplicate",), _COLUMNS, duplicates),
)
