import weakref
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from analysis import cycles
from analysis.context import Progress
from analysis.dependencies import Dependencies
from analysis.dumps import BATCH_COLUMNS, Dumps
from analysis.families import ALL, find
from analysis.findings import merge
from analysis.log import Log
from analysis.partition import MISSING, Columns, Partition
from analysis.pieces import BY_OP, IN_PIECES, OF_DUMPS, OF_TRANSACTIONS, By, InPieces, only_range, ranges
from harness.history.schema import Function, Kind, Phase
from tests.analysis.hand_made import FAIL, INFO, OK, READ_TO_THE_END, Hand


def messy(seed: int) -> Partition:
    """A history in which a good deal goes wrong."""
    random = np.random.default_rng(seed)
    hand = Hand()
    stored: list[int] = []
    op, sender = 0, 1
    for value in range(100, 160):
        outcome = (OK, OK, OK, INFO, FAIL)[random.integers(5)]
        op, sender = (
            (op, sender) if op and random.random() < 0.3 else (hand.row(Function.KEEP, Kind.ASSIGN) + 1, int(random.choice([1, 3])))
        )
        at = len(stored) if random.random() < 0.9 else int(random.integers(len(stored) + 1))
        if outcome is not FAIL or random.random() < 0.2:
            stored.insert(at, value)
        told = at if outcome is OK and random.random() < 0.9 else None
        hand.send(value, told, outcome, op=op, process=sender, producer=int(random.integers(3)), key=int(random.integers(2)))
        if random.random() < 0.1:
            hand.row(Function.FORGET, Kind.ASSIGN, process=sender)
            op = 0
    for phase in (Phase.RUN, Phase.FINAL):
        kept = [(offset, value) for offset, value in enumerate(stored) if random.random() < 0.9]
        wrong = [(int(random.integers(60)), int(random.integers(100, 170))) for _ in range(6)]
        for start in range(0, len(kept), 7):
            process = int(random.choice([2, 4]))
            messages = (*kept[start : start + 7], *wrong[start // 7 :][:1])
            hand.poll(*messages, phase=phase, outcome=(OK, OK, INFO)[random.integers(3)], process=process)
            if random.random() < 0.3:
                f, kind = ((Function.SEEK, Kind.SEEK), (Function.FORGET, Kind.ASSIGN))[random.integers(2)]
                hand.row(f, kind, process=process, offset=start + 9)
    hand.poll((7, None, "corrupt"), (50, None, "misplaced"))
    return hand.partition()


def reader(whole: Partition, count: int):
    def pieces(by: By) -> Iterator[Partition]:
        column = whole[by]
        for low, high in ranges(column[column != MISSING], count):
            yield whole.only((column >= low) & (column < high) & (column != MISSING))

    return pieces


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("seed", range(12))
def test_pieces_find_what_the_whole_has(seed, count):
    whole = messy(seed)
    expected = merge(find(whole, READ_TO_THE_END, IN_PIECES))
    looked_at = InPieces(reader(whole, count), READ_TO_THE_END, IN_PIECES)
    found = merge(looked_at.findings())
    assert looked_at.unjudged == set()
    told = {name: (one.count, one.doubtful, [each.identity for each in one.witnesses]) for name, one in found.items()}
    assert told == {name: (one.count, one.doubtful, [each.identity for each in one.witnesses]) for name, one in expected.items()}


def test_no_piece_is_held_while_the_next_is_read():
    """Else a task would need twice the memory it was given."""
    passes: list[By] = []

    def watched(by: By) -> Iterator[Partition]:
        passes.append(by)
        for piece in reader(messy(1), 5)(by):
            op = piece["op"].copy()
            held = weakref.ref(op)
            columns = Columns(piece.__getitem__, {"op": op})
            del op
            yield Partition(piece.topic, piece.part, columns, piece.names)
            del columns
            assert held() is None, by

    list(InPieces(watched, READ_TO_THE_END, IN_PIECES).findings())
    assert set(passes) == {"offset", "value", "op"}


def test_the_messy_histories_have_nearly_everything_that_is_looked_for():
    found = merge(finding for seed in range(12) for finding in find(messy(seed), READ_TO_THE_END, IN_PIECES))
    assert set(found) == set(IN_PIECES) - set(OF_DUMPS)


def sends_and_polls(seed: int) -> Partition:
    """Every send an operation of its own, now and then stored before one that was over when it began."""
    random = np.random.default_rng(seed)
    hand = Hand()
    late = int(random.integers(40)) if seed % 2 else -1
    for offset in range(40):
        at = offset + (random.random() if offset != late else 9.0)
        hand.send(100 + offset, offset if random.random() < 0.8 else None, at=at, completed=at + random.random() * 3)
    for start in range(0, 40, 5):
        hand.poll(*((offset, 100 + offset) for offset in range(start, start + 5)), at=start + 6.5 + random.random() * 5)
    return hand.partition()


@pytest.mark.parametrize("count", [1, 3])
def test_circles_are_ruled_out_where_time_and_log_agree_and_else_told_as_not_looked_for(count):
    ruled_out = []
    for seed in range(40):
        whole = sends_and_polls(seed)
        looked_at = InPieces(reader(whole, count), READ_TO_THE_END, cycles.NAMES)
        assert list(looked_at.findings()) == []
        arcs = len(Dependencies(Log(whole, READ_TO_THE_END)).arcs()) > 0
        assert looked_at.unjudged == (set(cycles.NAMES) if arcs else set())
        assert looked_at.spans is not None and looked_at.spans.unsearched == 1
        ruled_out.append(not arcs)
    assert 5 < sum(ruled_out) < 35


def test_replicas_that_differ_are_found_once_however_many_pieces_there_are():
    batches = {name: np.array([5, 5], np.int64) for name in BATCH_COLUMNS} | {"node": np.array([0, 1]), "crc": np.array([7, 8])}
    context = replace(READ_TO_THE_END, dumps=Dumps(("n1", "n2"), batches=batches | {"high_watermark": np.array([9, 9])}))
    (found,) = InPieces(reader(messy(1), 4), context, OF_DUMPS).findings()
    assert (found.name, found.count) == ("replica-divergence", 1)


def test_what_pieces_cannot_show_is_told_where_there_is_any():
    hand = Hand()
    hand.send(1, 0, kind=Kind.TXN)
    hand.row(Function.LOOKUP, Kind.LOOKUP, timestamp=1, offset=0)
    looked_at = InPieces(reader(hand.partition(), 1), replace(READ_TO_THE_END, progress=Progress()), ALL)
    assert list(looked_at.findings()) != []
    assert looked_at.unjudged == {*cycles.NAMES, *OF_TRANSACTIONS, "stale-time-index", "unavailable"}
    jepsen = InPieces(reader(messy(1), 2), replace(READ_TO_THE_END, rules="jepsen"), ALL)
    assert list(jepsen.findings()) != []
    assert jepsen.unjudged == {*cycles.NAMES, *BY_OP}


def test_ranges_hold_about_as_much_each_and_every_number():
    found = ranges(np.arange(1000), 4)
    assert [high for _, high in found[:-1]] == [250, 500, 750]
    assert ranges(np.empty(0, np.int64), 3) == [(MISSING, 2**63 - 1)]
    assert ranges(np.full(10, 7), 3) == [(MISSING, 7), (7, 2**63 - 1)]


def test_rows_are_in_the_range_of_their_number_and_without_one_in_none():
    rows = pa.table({"value": pa.array([5, None, 9, 10, 2**63 - 1], pa.int64())})
    assert only_range(rows, "value", (5, 10))["value"].to_pylist() == [5, 9]
    assert only_range(rows, "value", (10, 2**63 - 1))["value"].to_pylist() == [10, 2**63 - 1]
