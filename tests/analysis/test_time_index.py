import pytest

from analysis.context import Context, FinalRead
from harness.history.schema import Function, Kind
from tests.analysis.hand_made import FAIL, Hand, identities, sentence


def timed() -> Hand:
    """Offsets 10, 20, 30 with the times 100, 300, 200."""
    hand = Hand()
    for offset, time in ((10, 100), (20, 300), (30, 200)):
        hand.poll((offset, offset), timestamp=time)
    return hand


def lookup(hand: Hand, time: int, offset: int | None, **more) -> None:
    hand.row(Function.LOOKUP, Kind.LOOKUP, process=4, timestamp=time, offset=offset, **more)


@pytest.mark.parametrize(("time", "offset"), [(100, 10), (50, 10), (101, 20), (300, 20), (301, None), (301, 40), (200, 15)])
def test_the_first_message_of_that_time_or_later_is_right_and_so_is_one_of_which_nothing_is_known(time, offset):
    hand = timed()
    lookup(hand, time, offset)
    assert "stale-time-index" not in hand.find()


def test_an_answer_older_than_asked_for_is_stale():
    hand = timed()
    lookup(hand, 150, 10)
    assert sentence(hand.find(), "stale-time-index") == (
        "Process 4 (op 4, 4.500 s) asked for the first message of timestamp 150 or later and was told offset 10; "
        "process 2 (op 1, 1.500 s) polled offset 10 with timestamp 100."
    )


@pytest.mark.parametrize("offset", [30, 40])
def test_an_answer_behind_the_first_is_stale(offset):
    hand = timed()
    lookup(hand, 150, offset)
    assert sentence(hand.find(), "stale-time-index").endswith("process 2 (op 2, 2.500 s) polled offset 20 with timestamp 300.")


def test_none_is_stale_only_if_one_had_been_polled_before():
    hand = timed()
    lookup(hand, 150, None)
    lookup(hand, 150, None, at=1)
    found = hand.find()
    assert identities(found, "stale-time-index") == [(4,)]
    assert "was told that there is none; process 2 (op 2, 2.500 s) polled offset 20" in sentence(found, "stale-time-index")


def test_a_failed_look_up_and_one_behind_the_log_start_accuse_nobody():
    hand = timed()
    lookup(hand, 150, 10, outcome=FAIL)
    lookup(hand, 50, 30)
    found = hand.find(Context(final=FinalRead(True, 25, 40, 30, 0)))
    assert "stale-time-index" not in found


def test_of_two_timestamps_of_one_offset_the_one_counts_that_accuses_nobody():
    hand = timed()
    hand.poll((10, 10), timestamp=160, process=3)
    lookup(hand, 150, 10)
    lookup(hand, 150, 20)
    assert "stale-time-index" not in hand.find()
