from dataclasses import replace

import numpy as np
import pytest

from analysis.context import Context, FinalRead
from analysis.dumps import Dumps
from harness.history.schema import Kind
from tests.analysis.hand_made import FAIL, INFO, OK, READ_TO_THE_END, Hand, identities, sentence

DELIVERY = ("G1a", "lost-write", "unseen", "phantom", "corrupt", "misplaced", "lost", "lost-after-read")


def dumped(*records: tuple[int, int, int]) -> Dumps:
    """Of nodes n1, n2…: node, offset, value."""
    node, offset, value = (np.array(column, np.int64) for column in zip(*records, strict=True))
    return Dumps(("n1", "n2", "n3"), {"node": node - 1, "offset": offset, "value": value})


def test_a_sound_history_has_nothing_to_say():
    hand = Hand()
    hand.send(17, 0)
    hand.send(18, None, INFO)
    hand.send(19, None, FAIL)
    hand.poll((0, 17))
    hand.final((0, 17), (1, 18))
    assert hand.find(READ_TO_THE_END) == {}


def test_a_send_has_its_own_outcome_in_whatever_order_the_values_come():
    hand = Hand()
    for value, outcome in ((10, OK), (12, FAIL), (11, INFO), (13, OK)):
        hand.send(value, None, outcome)
    log = hand.log()
    assert dict(zip(log.values.tolist(), log.outcome.tolist(), strict=True)) == {10: OK, 11: INFO, 12: FAIL, 13: OK}


def test_an_ok_read_of_a_failed_send_is_aborted_each_time():
    hand = Hand()
    hand.send(17, None, FAIL, process=3)
    hand.poll((9, 17), process=8)
    hand.poll((9, 17), outcome=FAIL)
    hand.poll((9, 17), outcome=INFO)
    hand.poll((9, 17), process=4)
    found = hand.find()
    assert identities(found, "G1a") == [(17, 2, 0), (17, 5, 0)]
    assert found["G1a"].witnesses[0].sentence == (
        "Value 17 was sent by process 3 (op 1, 1.000 s) and failed; process 8 (op 2, 2.500 s) read it at offset 9 all the same."
    )
    assert found["G1a"].witnesses[0].ops == (1, 2)


def test_a_failed_send_that_no_ok_operation_read_is_no_aborted_read():
    hand = Hand()
    hand.send(17, None, FAIL)
    hand.poll((9, 17), outcome=FAIL)
    assert "G1a" not in hand.find()


def test_a_committed_value_behind_which_somebody_read_is_a_lost_write():
    hand = Hand()
    hand.send(17, 0)
    hand.send(18, 1)
    hand.poll((1, 18))
    found = hand.find()
    assert sentence(found, "lost-write") == (
        "Value 17 was sent by process 1 (op 1, 1.000 s) and was acknowledged at offset 0. "
        "No ok operation read it, though value 18 at offset 1 was read by process 2 (op 3, 3.500 s)."
    )


@pytest.mark.parametrize("last", [0, 2])
def test_a_value_is_no_lost_write_while_one_of_its_places_is_behind_what_was_read(last):
    hand = Hand()
    hand.send(17, 0)
    hand.send(18, 1)
    hand.poll((0, 17), outcome=FAIL)
    hand.poll((last, 17), outcome=INFO)
    hand.poll((1, 18))
    assert identities(hand.find(), "lost-write") == ([(17,)] if last == 0 else [])


def test_an_unfinished_operation_one_of_whose_values_was_read_is_committed_and_can_lose_the_other():
    hand = Hand()
    op = hand.send(17, 0, INFO, kind=Kind.TXN)
    hand.send(18, 1, INFO, kind=Kind.TXN, op=op)
    hand.poll((1, 18))
    assert identities(hand.find(), "lost-write") == [(17,)]


@pytest.mark.parametrize("committed", [True, False])
def test_whether_an_unfinished_operation_is_committed_may_be_known_from_elsewhere(committed):
    hand = Hand()
    op = hand.send(17, None, INFO)
    hand.poll((0, 17), outcome=FAIL)
    hand.send(18, 1)
    hand.poll((1, 18))
    context = Context(committed=np.array([op] if committed else [], np.int64))
    assert identities(hand.find(context), "lost-write") == ([(17,)] if committed else [])


def test_a_loser_of_an_offset_with_two_values_has_no_place_and_is_no_lost_write():
    hand = Hand()
    hand.send(21, 0)
    hand.send(17, None)
    hand.poll((0, 17))
    found = hand.find()
    assert "lost-write" not in found
    assert identities(found, "unseen") == [(21,)]


def test_what_was_acknowledged_and_never_polled_is_unseen():
    hand = Hand()
    hand.send(17)
    hand.send(18, None, INFO)
    assert sentence(hand.find(), "unseen") == (
        "Value 17 was sent by process 1 (op 1, 1.000 s) and was acknowledged; no ok operation had polled it when the history ended."
    )


def test_a_value_polled_that_nobody_sent_is_a_phantom_once():
    hand = Hand()
    hand.send(17, 0)
    hand.poll((0, 17), (1, 99), outcome=FAIL, process=8)
    hand.poll((0, 17), (1, 99))
    found = hand.find()
    assert found["phantom"].count == 1
    assert sentence(found, "phantom") == "Process 8 (op 2, 2.500 s) polled value 99 at offset 1, which nobody sent to this partition."


def test_damaged_messages_are_told_by_offset():
    hand = Hand()
    hand.poll((4, None, "corrupt"), (5, None, "misplaced"))
    hand.poll((4, None, "corrupt"))
    found = hand.find()
    assert sentence(found, "corrupt") == "Process 2 (op 1, 1.500 s) polled a message at offset 4 whose bytes do not match their checksum."
    assert (
        sentence(found, "misplaced") == "Process 2 (op 1, 1.500 s) polled a message at offset 5 that belongs to another partition or run."
    )


def lossy() -> Hand:
    hand = Hand()
    hand.send(17, 9, process=3)
    hand.send(21, None, INFO)
    hand.final((9, 21))
    return hand


def test_an_acknowledged_value_that_a_complete_final_read_has_not_got_is_lost():
    assert sentence(lossy().find(READ_TO_THE_END), "lost") == (
        "Value 17 was sent by process 3 (op 1, 1.000 s) and was acknowledged at offset 9; process 9 (op 3, 3.500 s) read offset 9 "
        "as value 21. The final read from offset 0 to the end, 100, has not got it."
    )


def test_a_lost_value_s_witness_says_whether_a_replica_still_has_it():
    gone = replace(READ_TO_THE_END, dumps=dumped((1, 9, 21), (2, 9, 21)))
    assert sentence(lossy().find(gone), "lost").endswith("has not got it. It is in no replica's log.")
    kept = replace(READ_TO_THE_END, dumps=dumped((1, 9, 17), (2, 9, 17), (3, 9, 21)))
    assert sentence(lossy().find(kept), "lost").endswith("It is in the log of n1 and n2 at offset 9, but the final read did not give it.")


@pytest.mark.parametrize(
    "context",
    [Context(), Context(final=FinalRead(False, 0, 100, 9, 9)), Context(final=FinalRead(True, 10, 100, 99, 9))],
    ids=["no final read", "an incomplete one", "before the log start"],
)
def test_nothing_is_called_lost_that_the_final_read_could_not_have_shown(context):
    assert "lost" not in lossy().find(context)


def test_a_value_read_in_the_run_and_gone_at_the_end_is_lost_after_read():
    hand = Hand()
    hand.send(17, 9, INFO)
    hand.poll((9, 17), process=8)
    hand.final()
    found = hand.find(READ_TO_THE_END)
    assert "lost" not in found
    assert sentence(found, "lost-after-read") == (
        "Process 8 (op 2, 2.500 s) read value 17 at offset 9. The final read from offset 0 to the end, 100, has not got it."
    )


def test_a_value_in_the_final_read_and_in_no_dump_is_lost_after_read_too():
    hand = Hand()
    hand.send(17, 9)
    hand.final((9, 17))
    context = replace(READ_TO_THE_END, dumps=dumped((1, 0, 5)))
    assert (
        sentence(hand.find(context), "lost-after-read") == "Process 9 (op 2, 2.500 s) read value 17 at offset 9. It is in no replica's log."
    )
    assert "lost-after-read" not in hand.find(replace(READ_TO_THE_END, dumps=dumped((2, 9, 17))))


def test_a_value_read_by_nobody_with_success_is_not_lost_after_read():
    hand = Hand()
    hand.send(17, 9, INFO)
    hand.poll((9, 17), outcome=FAIL)
    assert "lost-after-read" not in hand.find(READ_TO_THE_END)


def test_offsets_and_values_may_be_as_large_as_they_like():
    hand = Hand()
    hand.send(2**62, 2**62)
    hand.send(2**62 - 1, 2**62 + 5)
    hand.poll((2**62 + 5, 2**62 - 1))
    assert identities(hand.find(), "lost-write") == [(2**62,)]
