"""Producer states against a model that remembers everything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.storage.batch import BatchHeader, parse_header
from broker_impl.storage.records import Record, build_batch
from broker_impl.transactions.producers import EXPIRATION_MS, Duplicate, ProducerStates, SnapshotCorrupt, distance

LAST = 2**31 - 1


def header(producer: int = 1, epoch: int = 0, sequence: int = 0, count: int = 1, timestamp: int = 0) -> BatchHeader:
    contents = [Record(b"", timestamp=timestamp)] * count
    return parse_header(build_batch(contents, producer_id=producer, producer_epoch=epoch, base_sequence=sequence))


def refusal(states: ProducerStates, batch: BatchHeader) -> ErrorCode | None:
    try:
        states.check(batch)
    except BrokerError as refused:
        return refused.code
    return None


def filled(*batches: tuple[int, BatchHeader]) -> ProducerStates:
    states = ProducerStates()
    for offset, batch in batches:
        states.update(batch, offset)
    return states


def test_an_unknown_producer_may_start_anywhere() -> None:
    assert ProducerStates().check(header(sequence=77)) is None


def test_what_is_expected_of_a_producer_is_its_next_sequence_or_the_first_of_a_new_epoch() -> None:
    states = filled((0, header(count=3, epoch=2)))
    assert states.expected(header(sequence=9, epoch=2)) == 3
    assert states.expected(header(sequence=9, epoch=3)) == 0
    assert states.expected(header(sequence=9, epoch=1)) == 9, "an older epoch is refused for its age, not for a gap"
    assert states.expected(header(producer=2, sequence=9)) is None


def test_what_a_producer_wrote_last_tells_since_when_it_has_not_written() -> None:
    states = filled((10, header(count=3)), (20, header(sequence=3, count=2)))
    assert states.has_written_since(1, 20)
    assert not states.has_written_since(1, 21)
    assert not states.has_written_since(2, 0)


@pytest.mark.parametrize(("one", "other", "far"), [(5, 5, 0), (5, 8, 3), (8, 5, -3), (LAST, 0, 1), (0, LAST, -1), (LAST - 1, 2, 4)])
def test_sequences_are_compared_around_the_circle(one: int, other: int, far: int) -> None:
    assert distance(one, other) == far


def test_the_next_sequence_is_taken() -> None:
    assert filled((0, header(count=3))).check(header(sequence=3)) is None


def test_each_of_the_last_five_batches_is_answered_with_its_first_offsets() -> None:
    states = filled(*[(100 + 2 * n, header(sequence=2 * n, count=2, timestamp=n)) for n in range(7)])
    for n in range(2, 7):
        assert states.check(header(sequence=2 * n, count=2)) == Duplicate(100 + 2 * n, 101 + 2 * n, n)


def test_a_duplicate_older_than_five_batches_is_out_of_order() -> None:
    states = filled(*[(n, header(sequence=n)) for n in range(6)])
    assert refusal(states, header(sequence=0)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_batch_that_overlaps_a_known_one_is_no_duplicate() -> None:
    states = filled((0, header(sequence=0, count=3)))
    assert refusal(states, header(sequence=0, count=2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_gap_is_out_of_order() -> None:
    assert refusal(filled((0, header())), header(sequence=2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_an_older_epoch_is_fenced() -> None:
    assert refusal(filled((0, header(epoch=3))), header(epoch=2, sequence=1)) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_newer_epoch_starts_at_zero() -> None:
    states = filled((0, header(epoch=3, sequence=9)))
    assert refusal(states, header(epoch=4, sequence=10)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert states.check(header(epoch=4, sequence=0)) is None


def test_a_newer_epoch_forgets_the_batches_of_the_older() -> None:
    states = filled((0, header(epoch=0, sequence=0)), (1, header(epoch=1, sequence=0)))
    assert states.check(header(epoch=1, sequence=0)) == Duplicate(1, 1, 0)


def test_sequences_go_from_the_largest_number_to_zero() -> None:
    assert filled((0, header(sequence=LAST))).check(header(sequence=0)) is None


def test_a_batch_across_the_largest_number_is_remembered() -> None:
    states = filled((0, header(sequence=LAST - 1, count=4)))
    assert states.check(header(sequence=2)) is None
    assert states.check(header(sequence=LAST - 1, count=4)) == Duplicate(0, 3, 0)


def test_who_wrote_nothing_for_a_day_is_forgotten() -> None:
    states = filled((0, header(producer=1)))
    states.expire(0)
    states.update(header(producer=2), 1)
    assert states.expire(EXPIRATION_MS - 1) == 0
    assert states.expire(EXPIRATION_MS) == 1
    assert len(states) == 1


def test_who_goes_on_writing_is_remembered_whatever_its_timestamps_say() -> None:
    states = ProducerStates()
    for day in range(5):
        states.update(header(sequence=day, timestamp=0), day)
        assert states.expire(day * EXPIRATION_MS) == 0


def test_a_clock_that_jumps_back_makes_nobody_old() -> None:
    states = filled((0, header()))
    states.expire(10 * EXPIRATION_MS)
    states.expire(0)
    assert states.expire(EXPIRATION_MS - 1) == 0


def test_a_snapshot_keeps_the_whole_window() -> None:
    states = filled(*[(10 + n, header(sequence=n, timestamp=n)) for n in range(8)])
    states.update(header(producer=2, epoch=3, sequence=LAST, count=2), 50)
    again = ProducerStates.decode(states.encode())
    for n in range(3, 8):
        assert again.check(header(sequence=n)) == Duplicate(10 + n, 10 + n, n)
    assert again.check(header(producer=2, epoch=3, sequence=LAST, count=2)) == Duplicate(50, 51, 0)
    assert again.check(header(producer=2, epoch=3, sequence=1)) is None


def test_the_layout_of_a_snapshot_is_kafkas() -> None:
    data = filled((7, header(producer=5, epoch=2, sequence=3, count=2, timestamp=9))).encode()
    assert data[:2] == b"\0\1"
    assert data[6:10] == b"\0\0\0\1"
    body = [(5, 8), (2, 2), (4, 4), (8, 8), (1, 4), (9, 8), (-1, 4), (-1, 8)]
    assert data[10:] == b"".join(value.to_bytes(size, "big", signed=True) for value, size in body)


@given(position=st.integers(0, 200), bit=st.integers(0, 7))
def test_a_damaged_snapshot_is_found_out(position: int, bit: int) -> None:
    data = bytearray(filled(*[(n, header(producer=n)) for n in range(3)]).encode())
    position %= len(data)
    data[position] ^= 1 << bit
    with pytest.raises(SnapshotCorrupt):
        ProducerStates.decode(bytes(data))


@given(size=st.integers(0, 100))
def test_a_torn_snapshot_is_found_out(size: int) -> None:
    data = filled(*[(n, header(producer=n)) for n in range(3)]).encode()
    with pytest.raises(SnapshotCorrupt):
        ProducerStates.decode(data[: min(size, len(data) - 1)])


class Producers(RuleBasedStateMachine):
    """The model: every batch that was taken, as (epoch, first sequence, count, offset)."""

    def __init__(self) -> None:
        super().__init__()
        self.states = ProducerStates()
        self.taken: dict[int, list[tuple[int, int, int, int]]] = {}
        self.end = 0

    @rule(producer=st.integers(1, 2), epoch=st.integers(0, 2), sequence=st.integers(0, 12), count=st.integers(1, 3))
    def produce(self, producer: int, epoch: int, sequence: int, count: int) -> None:
        batch = header(producer, epoch, sequence, count)
        expected = self._expected(producer, epoch, sequence, count)
        if isinstance(expected, ErrorCode):
            assert refusal(self.states, batch) == expected
        elif expected is not None:
            assert self.states.check(batch) == Duplicate(expected, expected + count - 1, 0)
        else:
            assert self.states.check(batch) is None
            self._take(producer, epoch, sequence, count)

    @rule(producer=st.integers(1, 2), count=st.integers(1, 3))
    def produce_what_comes_next(self, producer: int, count: int) -> None:
        batches = self.taken.get(producer, [])
        epoch, sequence = (batches[-1][0], batches[-1][1] + batches[-1][2]) if batches else (0, 0)
        assert self.states.check(header(producer, epoch, sequence, count)) is None
        self._take(producer, epoch, sequence, count)

    @rule()
    def restore_from_a_snapshot(self) -> None:
        self.states = ProducerStates.decode(self.states.encode())

    def _take(self, producer: int, epoch: int, sequence: int, count: int) -> None:
        self.states.update(header(producer, epoch, sequence, count), self.end)
        self.taken.setdefault(producer, []).append((epoch, sequence, count, self.end))
        self.end += count

    def _expected(self, producer: int, epoch: int, sequence: int, count: int) -> ErrorCode | int | None:
        batches = self.taken.get(producer, [])
        if not batches:
            return None
        current, last, size, _offset = batches[-1]
        if epoch < current:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if epoch > current:
            return None if sequence == 0 else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        known = [one for one in batches if one[0] == current][-5:]
        offset = next((one[3] for one in known if one[1:3] == (sequence, count)), None)
        if offset is not None:
            return offset
        return None if sequence == last + size else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


TestProducers = Producers.TestCase
