from dataclasses import replace

from analysis import transactions
from analysis.context import FinalRead
from analysis.findings import merge
from harness.history.schema import Kind
from tests.analysis.hand_made import FAIL, READ_TO_THE_END, Hand, identities, sentence


def txn(hand: Hand, op: int, *values: int, offset: int | None = 0, **more) -> None:
    for number, value in enumerate(values):
        hand.send(value, None if offset is None else offset + number, op=op, kind=Kind.TXN, process=op, **more)


def torn(*hands: Hand, context=READ_TO_THE_END):
    found = [piece for hand in hands if (piece := transactions.pieces(hand.log(context))) is not None]
    return merge(transactions.judge_torn(transactions.join_pieces(found)))


def own(*hands: Hand):
    found = [shown for hand in hands if (shown := transactions.own_reads(hand.log())) is not None]
    return merge(transactions.judge_own_reads(transactions.join_shown(found))) if found else {}


def test_a_reader_of_a_part_that_polled_behind_the_whole():
    hand = Hand()
    txn(hand, 1, 10, 11)
    hand.send(12, 2)
    hand.poll((0, 10), (2, 12), process=8)
    found = hand.find()
    assert identities(found, "G1b") == [(3, 1)]
    assert sentence(found, "G1b") == (
        "Process 8 (op 3, 3.500 s) read value 10 at offset 0, which transaction 1 of process 1 (op 1, 1.000 s) sent, and polled on "
        "behind offset 1, but not the last value sent by it, 11 at offset 1."
    )


def test_a_reader_that_stopped_inside_or_read_all_or_failed_is_none():
    hand = Hand()
    txn(hand, 1, 10, 11)
    hand.send(12, 2)
    hand.poll((0, 10))
    hand.poll((0, 10), (1, 11), (2, 12), process=3)
    hand.poll((0, 10), (2, 12), process=4, outcome=FAIL)
    assert "G1b" not in hand.find()


def test_a_transaction_that_polls_what_it_sent_counts_once_over_all_partitions():
    first, second = Hand("t", 0), Hand("t", 1)
    for hand, value in ((second, 20), (first, 10)):
        txn(hand, 1, value)
        hand.poll((0, value), op=1, kind=Kind.TXN, process=1)
    found = own(second, first)
    assert found["precommitted-read"].count == 1
    assert sentence(found, "precommitted-read") == (
        "Process 1 (op 1, 1.500 s) polled value 10 at offset 0 of t-0, which it sent itself in the same operation."
    )


def test_what_another_transaction_sent_is_no_precommitted_read():
    hand = Hand()
    txn(hand, 1, 10)
    hand.poll((0, 10), op=2, kind=Kind.TXN)
    assert own(hand) == {}


def test_a_transaction_of_which_a_part_is_not_in_the_final_reads_is_torn():
    first, second = Hand("t", 0), Hand("t", 1)
    for hand, value in ((first, 10), (second, 20)):
        txn(hand, 1, value, value + 1, micro=None)
    first.final((0, 10), (1, 11))
    found = torn(first, second)
    assert found["torn-transaction"].count == 1
    assert sentence(found, "torn-transaction") == (
        "Transaction 1 is committed, but only a part of it is there: value 20, sent to t-1 by process 1 at 1.000 s, is not in the final "
        "read; value 10, sent to t-0 by process 1 at 1.000 s, is in the final read."
    )


def test_a_transaction_wholly_there_wholly_gone_or_behind_the_end_is_not_torn():
    hand = Hand()
    txn(hand, 1, 10, 11)
    txn(hand, 2, 20, 21, offset=None)
    txn(hand, 3, 30, 31, offset=99)
    hand.final((0, 10), (1, 11), (99, 30))
    assert torn(hand) == {}
    further = replace(READ_TO_THE_END, final=FinalRead(True, 0, 200, 199, 0))
    assert identities(torn(hand, context=further), "torn-transaction") == [(3,)]
