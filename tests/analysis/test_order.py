import pytest

from analysis.context import Context
from harness.history.schema import Function, Kind
from tests.analysis.hand_made import FAIL, INFO, OK, Hand, identities, names, sentence

JEPSEN = Context(rules="jepsen")
INSIDE_POLLS = ("int-poll-skip", "int-nonmonotonic-poll")
INSIDE_SENDS = ("int-send-skip", "int-nonmonotonic-send")
ALONG_POLLS = ("poll-skip", "nonmonotonic-poll")


def logged(*values: int) -> Hand:
    """Values that lie at 10, 20, 30…: holes are no matter."""
    hand = Hand()
    for number, value in enumerate(values, 1):
        hand.send(value, number * 10, process=50 + number, producer=50 + number)
    return hand


def test_inside_an_operation_a_poll_goes_forward_by_one_place():
    hand = logged(1, 2, 3)
    hand.poll((10, 1), (20, 2), (30, 3))
    assert names(hand.find(), INSIDE_POLLS) == set()


@pytest.mark.parametrize("outcome", [OK, FAIL, INFO])
def test_a_poll_that_leaves_out_a_place_is_a_skip_whatever_became_of_it(outcome):
    hand = logged(1, 2, 3)
    hand.poll((10, 1), (30, 3), outcome=outcome)
    found = hand.find()
    assert names(found, INSIDE_POLLS) == {"int-poll-skip"}
    assert identities(found, "int-poll-skip") == [(4, 1)]
    assert sentence(found, "int-poll-skip") == (
        "Process 2 (op 4, 4.500 s) polled offset 10 (value 1) and next offset 30 (value 3); offset 20 has value 2."
    )


@pytest.mark.parametrize("second", [(10, 1), (20, 2)])
def test_a_poll_that_does_not_go_forward_is_nonmonotonic(second):
    hand = logged(1, 2)
    hand.poll((20, 2), second)
    found = hand.find()
    assert names(found, INSIDE_POLLS) == {"int-nonmonotonic-poll"}
    assert identities(found, "int-nonmonotonic-poll") == [(3, 1)]


def test_a_rebalance_in_the_operation_excuses_it():
    hand = logged(1, 2, 3)
    op = hand.poll((10, 1), (30, 3), (20, 2))
    hand.row(Function.REBALANCE, Kind.POLL, op=op, process=2)
    assert names(hand.find(), INSIDE_POLLS) == set()


def test_a_damaged_message_is_a_step_like_any_other_where_its_place_is_known():
    hand = logged(1, 2, 3)
    hand.poll((10, 1), (20, None, "corrupt"), (30, 3))
    hand.poll((40, None, "corrupt"), (10, 1), process=3)
    assert names(hand.find(), INSIDE_POLLS) == set()
    assert identities(hand.find(JEPSEN), "int-poll-skip") == [(4, 2)]


def test_a_value_stored_twice_is_judged_by_offset_here_and_by_its_last_place_by_jepsen():
    hand = logged(1, 2)
    hand.poll((10, 1), (20, 2), (30, 1))
    assert names(hand.find(), INSIDE_POLLS) == set()
    assert identities(hand.find(JEPSEN), "int-nonmonotonic-poll") == [(3, 1)]


def test_sends_of_one_operation_lie_one_behind_the_other():
    hand = Hand()
    op = hand.send(1, 10, kind=Kind.TXN)
    hand.send(2, 20, kind=Kind.TXN, op=op)
    assert names(hand.find(), INSIDE_SENDS) == set()


def test_a_place_between_two_sends_of_an_operation_is_a_skip_and_a_step_back_nonmonotonic():
    hand = logged(7)
    op = hand.send(1, 5, kind=Kind.TXN)
    hand.send(2, 20, kind=Kind.TXN, op=op)
    hand.send(3, 15, kind=Kind.TXN, op=op)
    found = hand.find()
    assert identities(found, "int-send-skip") == [(2, 1)]
    assert identities(found, "int-nonmonotonic-send") == [(2, 2)]
    assert sentence(found, "int-nonmonotonic-send") == (
        "Process 1 (op 2, 2.000 s) sent value 2, which lies at offset 20, and next value 3, which lies at offset 15."
    )


def test_a_send_whose_place_nobody_knows_takes_no_part():
    hand = Hand()
    op = hand.send(1, 30, kind=Kind.TXN)
    hand.send(2, None, kind=Kind.TXN, op=op)
    hand.send(3, 10, kind=Kind.TXN, op=op)
    assert names(hand.find(), INSIDE_SENDS) == set()


def test_a_process_reads_on_where_it_stopped():
    hand = logged(1, 2, 3)
    hand.poll((10, 1))
    hand.poll((20, 2), (30, 3))
    assert names(hand.find(), ALONG_POLLS) == set()


def test_a_process_that_leaves_out_a_place_between_two_operations_skips():
    hand = logged(1, 2, 3)
    hand.poll((10, 1))
    hand.poll((20, 2), process=3)
    hand.poll((30, 3))
    found = hand.find()
    assert names(found, ALONG_POLLS) == {"poll-skip"}
    assert sentence(found, "poll-skip") == (
        "Process 2 (op 4, 4.500 s) polled offset 10 (value 1) and in op 6 went on at offset 30 (value 3); offset 20 has value 2."
    )


def test_a_process_that_goes_back_is_nonmonotonic():
    hand = logged(1, 2, 3)
    hand.poll((10, 1), (20, 2))
    hand.poll((20, 2), (30, 3))
    found = hand.find()
    assert names(found, ALONG_POLLS) == {"nonmonotonic-poll"}
    assert identities(found, "nonmonotonic-poll") == [(5,)]


@pytest.mark.parametrize("outcome", [FAIL, INFO])
def test_only_ok_operations_move_a_reader(outcome):
    hand = logged(1, 2, 3)
    hand.poll((10, 1))
    hand.poll((20, 2), outcome=outcome)
    hand.poll((20, 2), (30, 3))
    assert names(hand.find(), ALONG_POLLS) == set()
    hand = logged(1, 2, 3)
    hand.poll((10, 1))
    hand.poll((20, 2), outcome=outcome)
    hand.poll((30, 3))
    assert identities(hand.find(), "poll-skip") == [(6,)]


@pytest.mark.parametrize("outcome", [OK, FAIL, INFO])
def test_whoever_gives_a_partition_up_is_free(outcome):
    hand = logged(1, 2, 3)
    hand.poll((10, 1))
    hand.row(Function.FORGET, Kind.ASSIGN, outcome, process=2)
    hand.poll((30, 3))
    assert names(hand.find(), ALONG_POLLS) == ({"poll-skip"} if outcome is FAIL else set())


@pytest.mark.parametrize(
    ("outcome", "offset", "expected"),
    [
        (OK, 30, set()),
        (OK, 21, set()),
        (OK, 20, {"poll-skip"}),
        (OK, 31, {"nonmonotonic-poll"}),
        (INFO, 20, set()),
        (FAIL, 30, {"poll-skip"}),
    ],
)
def test_a_seek_puts_the_reader_before_the_place_it_sought(outcome, offset, expected):
    hand = logged(1, 2, 3, 4)
    hand.poll((10, 1))
    hand.row(Function.SEEK, Kind.SEEK, outcome, process=2, offset=offset)
    hand.poll((30, 3))
    assert names(hand.find(), ALONG_POLLS) == expected


def test_a_skip_after_a_seek_is_told_with_the_seek():
    hand = logged(1, 2, 3)
    hand.row(Function.SEEK, Kind.SEEK, process=2, offset=0)
    hand.poll((20, 2))
    assert sentence(hand.find(), "poll-skip") == (
        "Process 2 (op 4, 4.500 s) sought offset 0 and in op 5 went on at offset 20 (value 2); offset 10 has value 1."
    )


def test_a_poll_of_nothing_moves_nobody():
    hand = logged(1, 2)
    hand.poll((10, 1))
    hand.poll((None, None))
    hand.poll((20, 2))
    assert names(hand.find(), ALONG_POLLS) == set()


def test_a_process_s_later_send_lies_behind_its_earlier_one():
    hand = Hand()
    hand.send(1, 10)
    hand.send(2, None, FAIL)
    hand.send(3, 20)
    assert "nonmonotonic-send" not in hand.find()


def test_a_later_send_stored_earlier_is_nonmonotonic_and_reordered():
    hand = Hand()
    hand.send(1, 20)
    hand.send(2, 10)
    found = hand.find()
    expected = (
        "Process 1 (op 1, 1.000 s) sent value 1 (acknowledged), which lies at offset 20; later, process 1 (op 2, 2.000 s) "
        "sent value 2 (acknowledged), which lies at offset 10: sent later, stored earlier."
    )
    assert sentence(found, "nonmonotonic-send") == sentence(found, "reordered") == expected
    assert (identities(found, "nonmonotonic-send"), identities(found, "reordered")) == ([(2,)], [(2,)])
    assert found["reordered"].doubtful == found["nonmonotonic-send"].doubtful == 0


@pytest.mark.parametrize("second", [{"outcome": INFO}, {"producer": 2}])
def test_a_pair_with_an_unknown_outcome_or_of_two_clients_is_doubtful(second):
    hand = Hand()
    hand.send(1, 20)
    hand.send(2, None, **second)
    hand.poll((10, 2))
    found = hand.find()
    assert (found["nonmonotonic-send"].count, found["nonmonotonic-send"].doubtful) == (1, 1)
    assert found["nonmonotonic-send"].witnesses[0].doubtful


def test_a_forget_parts_two_sends():
    hand = Hand()
    hand.send(1, 20)
    hand.row(Function.FORGET, Kind.ASSIGN, process=1)
    hand.send(2, 10)
    assert "nonmonotonic-send" not in hand.find()


@pytest.mark.parametrize("other", [{"key": 8}, {"producer": 2}])
def test_another_key_or_client_may_overtake(other):
    hand = Hand()
    hand.send(1, 20, key=7)
    hand.send(2, 10, **({"key": 7} | other))
    assert "reordered" not in hand.find()


def test_every_value_behind_one_sent_before_it_is_reordered_and_doubtful_only_where_no_ok_pair_proves_it():
    hand = Hand()
    hand.send(1, 50, key=7)
    hand.send(9, 45, key=8)
    hand.send(2, 20, key=7)
    hand.send(3, 30, key=7)
    hand.send(4, None, INFO, key=7)
    hand.poll((40, 4))
    found = hand.find()
    assert found["reordered"].count == 3 and found["reordered"].doubtful == 1
    assert [(one.identity, one.doubtful) for one in found["reordered"].witnesses] == [((2,), False), ((3,), False), ((4,), True)]


def test_a_value_behind_an_unfinished_send_is_doubtful():
    hand = Hand()
    hand.send(1, None, INFO, key=7)
    hand.send(2, 20, key=7)
    hand.poll((20, 2), (30, 1))
    found = hand.find()
    assert found["reordered"].count == found["reordered"].doubtful == 1
    assert found["reordered"].witnesses[0].ops == (1, 2)


def test_a_retry_that_stored_a_value_again_reorders_nothing():
    hand = Hand()
    hand.send(1, 10, key=7)
    hand.send(2, 20, key=7)
    hand.poll((10, 1), (20, 2), (30, 1))
    assert "reordered" not in hand.find()


def test_without_a_producer_s_number_the_process_stands_for_it():
    hand = Hand()
    hand.send(1, 20, process=1, producer=None)
    hand.send(2, 10, process=2, producer=None)
    hand.send(3, 5, process=1, producer=None)
    assert identities(hand.find(), "reordered") == [(3,)]
