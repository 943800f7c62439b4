"""A gap that the broker made is told from one that the client made."""

import pytest

from broker_impl.protocol.errors import ErrorCode
from broker_impl.storage.batch import BatchHeader, parse_header
from broker_impl.storage.records import Record, build_batch
from broker_impl.transactions.refusals import MEMORY_S, MOST, PASSING, Refusals

FEW, STORAGE = ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR
LAST = 2**31 - 1


def batch(sequence: int, count: int = 1, epoch: int = 0, producer: int = 7) -> BatchHeader:
    return parse_header(build_batch([Record(b"")] * count, producer_id=producer, producer_epoch=epoch, base_sequence=sequence))


def refused(*batches: BatchHeader, code: ErrorCode = FEW, at: float = 0.0) -> Refusals:
    refusals = Refusals()
    for one in batches:
        refusals.note("t", 0, one, code, at)
    return refusals


def why(refusals: Refusals, header: BatchHeader, expected: int | None, now: float = 1.0) -> ErrorCode | None:
    return refusals.reason("t", 0, header, expected, now)


@pytest.mark.parametrize("code", sorted(PASSING))
def test_what_follows_a_refused_batch_is_refused_for_the_same_reason(code):
    assert why(refused(batch(10, 5), code=code), batch(15), expected=10) == code


def test_so_is_what_follows_the_second_of_two():
    """The first of them may be stored by now, through another leader: then only the second is missing."""
    refusals = refused(batch(10, 5), batch(15, 5))
    assert why(refusals, batch(20), expected=10) == FEW
    assert why(refusals, batch(20), expected=15) == FEW
    assert why(refusals, batch(25), expected=20) is None


def test_the_refused_batch_itself_may_come_again_and_so_may_what_is_stored():
    refusals = refused(batch(10, 5))
    assert why(refusals, batch(10, 5), expected=10) is None
    assert why(refusals, batch(5, 5), expected=10) is None


def test_once_it_is_stored_what_follows_it_is_welcome():
    assert why(refused(batch(10, 5)), batch(15), expected=15) is None


def test_a_gap_elsewhere_is_the_clients_own():
    refusals = refused(batch(10, 5))
    assert why(refusals, batch(30), expected=20) is None
    assert why(refusals, batch(8), expected=5) is None
    assert refusals.reason("t", 1, batch(15), 10, 1.0) is None
    assert refusals.reason("u", 0, batch(15), 10, 1.0) is None
    assert why(refusals, batch(15, producer=8), expected=10) is None
    assert why(refusals, batch(15, epoch=1), expected=10) is None


def test_an_unknown_producer_must_not_begin_behind_what_was_refused():
    refusals = refused(batch(0, 3))
    assert why(refusals, batch(3), expected=None) == FEW
    assert why(refusals, batch(0, 3), expected=None) is None


@pytest.mark.parametrize("code", [ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER])
def test_a_refusal_for_good_leaves_a_gap_that_is_the_clients_own(code):
    assert not refused(batch(10), code=code)


def test_a_batch_without_a_producer_has_no_successor():
    assert not refused(batch(-1, producer=-1))


def test_it_goes_on_from_the_largest_sequence_to_zero():
    refusals = refused(batch(LAST - 1, 4))
    assert why(refusals, batch(2), expected=LAST - 1) == FEW
    assert why(refusals, batch(LAST - 1, 4), expected=LAST - 1) is None
    assert why(refusals, batch(2), expected=2) is None


def test_a_client_that_never_comes_back_is_forgotten_and_one_that_does_is_not():
    refusals = refused(batch(10))
    assert why(refusals, batch(11), 10, now=MEMORY_S) == FEW
    refusals.note("t", 0, batch(11), FEW, MEMORY_S)
    refusals.note("t", 0, batch(10), STORAGE, MEMORY_S)
    assert why(refusals, batch(11), 10, now=2 * MEMORY_S) == STORAGE
    assert why(refusals, batch(11), 10, now=2 * MEMORY_S + 0.1) is None
    assert not refusals


def test_followers_that_come_again_and_again_do_not_keep_the_memory_alive():
    refusals = refused(batch(10))
    refusals.note("t", 0, batch(11), FEW, MEMORY_S)
    assert why(refusals, batch(12), 10, now=MEMORY_S + 0.1) is None


def test_the_oldest_is_forgotten_when_there_are_too_many():
    refusals = refused(*(batch(10, producer=producer) for producer in range(MOST + 1)))
    assert len(refusals) == MOST
    assert why(refusals, batch(11, producer=0), 10) is None
    assert why(refusals, batch(11, producer=1), 10) == FEW
