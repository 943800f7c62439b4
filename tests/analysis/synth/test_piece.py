import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analysis.partition import MISSING
from analysis.synth.numbering import Numbering
from analysis.synth.pattern import BLOCK, STRIDE
from analysis.synth.piece import Blocks, clean_piece
from harness.history.schema import Outcome


def blocks(first: int, last: int, *, part: int = 2, sends: int = 10_000) -> Blocks:
    return Blocks(7, Numbering(4), part, sends, first, last)


@given(st.integers(0, 60), st.integers(1, 9), st.integers(1, 9))
def test_two_pieces_are_what_one_would_be(first, one, more):
    whole = clean_piece(blocks(first, first + one + more))
    parts = [clean_piece(blocks(first, first + one)), clean_piece(blocks(first + one, first + one + more))]
    for name in ("sends", "log"):
        for column, values in getattr(whole, name).items():
            assert values.tolist() == np.concatenate([getattr(part, name)[column] for part in parts]).tolist(), column


def test_offsets_rise_by_one_and_leave_one_out_behind_each_block():
    offset = clean_piece(blocks(3, 6)).log["offset"]
    assert offset[0] == 3 * STRIDE
    steps = np.diff(offset)
    assert sorted(set(steps.tolist())) == [1, 2]
    assert (offset[1:][steps == 2] % STRIDE == 0).all() and (steps == 2).sum() == 2


def test_what_is_acknowledged_is_where_it_was_said_to_be():
    piece = clean_piece(blocks(0, 5))
    at = dict(zip(piece.log["offset"].tolist(), piece.log["live"].tolist(), strict=True))
    ok = piece.sends["outcome"] == Outcome.OK
    told = zip(piece.sends["offset"][ok].tolist(), piece.sends["value"][ok].tolist(), strict=True)
    assert all(at[offset] == value for offset, value in told)
    assert (piece.sends["offset"][~ok] == MISSING).all()


def test_the_log_row_of_a_stored_send_is_known():
    piece = clean_piece(blocks(0, 5))
    ok = np.flatnonzero(piece.sends["outcome"] == Outcome.OK)
    assert piece.log["live"][piece.log_at[ok]].tolist() == piece.sends["value"][ok].tolist()


def test_sends_of_one_client_are_stored_in_the_order_they_were_made_and_neighbours_overlap():
    sends = clean_piece(blocks(0, 20)).sends
    assert (np.diff(sends["invoked"]) > 0).all()
    ok = sends["outcome"] == Outcome.OK
    assert (sends["completed"][ok][:-2] > sends["invoked"][ok][2:]).all()
    assert (np.diff(sends["offset"][ok]) > 0).all()


def test_the_last_block_may_be_cut_short():
    piece = clean_piece(blocks(0, 2, sends=BLOCK + 17))
    assert len(piece.sends["op"]) == BLOCK + 17
    assert piece.log["offset"][-1] < STRIDE + 17


def test_numbers_of_different_partitions_never_meet():
    values = [set(clean_piece(blocks(0, 3, part=part)).sends["value"].tolist()) for part in range(4)]
    assert len(set.union(*values)) == sum(map(len, values))
