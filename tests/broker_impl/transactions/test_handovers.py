"""A gap under a new leader is waited for, a while and only there."""

from broker_impl.storage.batch import BatchHeader, parse_header
from broker_impl.storage.records import Record, build_batch
from broker_impl.transactions.handovers import MEMORY_S, MOST, PATIENCE_S, Handovers


def batch(producer: int = 7, epoch: int = 0, sequence: int = 5) -> BatchHeader:
    return parse_header(build_batch([Record(b"")], producer_id=producer, producer_epoch=epoch, base_sequence=sequence))


def awaited(handovers: Handovers, now: float, header: BatchHeader | None = None, leader_epoch: int = 3, index: int = 0) -> bool:
    return handovers.may_be_on_its_way("t", index, leader_epoch, header or batch(), now)


def test_a_gap_is_waited_for_until_patience_ends() -> None:
    handovers = Handovers()
    assert awaited(handovers, 10.0)
    assert awaited(handovers, 10.0 + PATIENCE_S, batch(sequence=6))
    assert not awaited(handovers, 10.1 + PATIENCE_S)


def test_who_else_waits_has_patience_of_its_own() -> None:
    handovers = Handovers()
    awaited(handovers, 0.0)
    late = PATIENCE_S + 0.1
    assert not awaited(handovers, late)
    assert awaited(handovers, late, batch(producer=8))
    assert awaited(handovers, late, batch(epoch=1))
    assert awaited(handovers, late, leader_epoch=4)
    assert awaited(handovers, late, index=1)


def test_what_was_waited_for_long_ago_is_forgotten() -> None:
    handovers = Handovers()
    awaited(handovers, 0.0)
    awaited(handovers, MEMORY_S + 0.1, batch(producer=8))
    assert len(handovers) == 1


def test_the_oldest_is_forgotten_when_there_are_too_many() -> None:
    handovers = Handovers()
    for producer in range(MOST + 1):
        awaited(handovers, 0.0, batch(producer=producer))
    assert len(handovers) == MOST
    assert not awaited(handovers, PATIENCE_S + 0.1, batch(producer=MOST))
