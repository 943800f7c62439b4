"""A retry is stored once: the last five batches of a producer are remembered, through restarts and changes of leader.

The libraries show that it works, the wire client that it works for the right reason: it repeats, skips and goes back on purpose.
"""

from __future__ import annotations

import pytest

from broker_impl.protocol.errors import ErrorCode
from broker_impl.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.clients.conftest import THREE_NODES
from tests.clients.interface import Client, Message
from tests.clients.running import Running, wait_until
from tests.clients.wire import WireClient, batch_of, produce_body, values_of

FIVE = range(5)
PRODUCE = 0


def test_an_idempotent_producer_of_every_library_stores_each_message_once(client: Client, running: Running) -> None:
    """Batches of a few messages each, as many in flight as the library dares: five where it pipelines."""
    topic = running.new_topic()
    values = [b"%d " % index * 2000 for index in range(200)]
    assert client.produce(topic, [Message(value) for value in values], idempotent=True) == list(range(200))
    assert [each.value for each in client.consume(topic, 200)] == values
    assert client.ends(topic) == (0, 200)


def test_every_producer_gets_an_id_of_its_own(running: Running) -> None:
    ids = []
    for node in running.nodes * 3:
        with running.wire(node) as wire:
            ids += [wire.new_producer()[0] for _ in range(3)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("version", range(5))
def test_a_producer_id_is_given_in_every_version(running: Running, version: int) -> None:
    with running.wire() as wire:
        answer = wire.ask(InitProducerIdRequest(None, 60_000), InitProducerIdResponse, version)
    assert (answer.error_code, answer.producer_epoch) == (ErrorCode.NONE, 0)
    assert answer.producer_id >= 0


def test_five_in_flight_are_stored_in_order(running: Running) -> None:
    topic = running.new_topic()
    with running.wire_to_leader(topic) as wire:
        producer = wire.new_producer()
        for index in FIVE:
            wire.send(PRODUCE, 10, produce_body({topic: [(0, batch_of(b"%d" % index, producer=producer, sequence=index))]}))
        for _ in FIVE:
            wire.receive_frame()
        assert values_of(wire.fetch(topic, 0)) == [b"%d" % index for index in FIVE]


def test_each_of_the_last_five_batches_is_known_when_it_comes_again(running: Running) -> None:
    topic = running.new_topic()
    with running.wire_to_leader(topic) as wire:
        producer = wire.new_producer()
        original = _produce_five(wire, topic, producer)
        assert original == [0, 2, 4, 6, 8]
        assert _produce_five(wire, topic, producer) == original
        assert [_again(wire, topic, producer, index) for index in reversed(FIVE)] == list(reversed(original))
        assert len(values_of(wire.fetch(topic, 0))) == 10, "nothing was stored twice"


def test_a_duplicate_older_than_five_batches_is_out_of_order(running: Running) -> None:
    topic = running.new_topic()
    with running.wire_to_leader(topic) as wire:
        producer = wire.new_producer()
        for index in range(6):
            assert wire.produce(topic, batch_of(b"x", producer=producer, sequence=index)).base_offset == index
        answer = wire.produce(topic, batch_of(b"x", producer=producer, sequence=0))
        assert (answer.error_code, answer.base_offset) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
        assert wire.produce(topic, batch_of(b"x", producer=producer, sequence=1)).base_offset == 1


def test_a_gap_is_out_of_order_and_stores_nothing(running: Running) -> None:
    topic = running.new_topic()
    with running.wire_to_leader(topic) as wire:
        producer = wire.new_producer()
        wire.produce(topic, batch_of(b"0", producer=producer, sequence=0))
        assert wire.produce(topic, batch_of(b"2", producer=producer, sequence=2)).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert wire.produce(topic, batch_of(b"1", producer=producer, sequence=1)).base_offset == 1
        assert values_of(wire.fetch(topic, 0)) == [b"0", b"1"]


def test_an_older_epoch_is_fenced(running: Running) -> None:
    topic = running.new_topic()
    with running.wire_to_leader(topic) as wire:
        producer, _epoch = wire.new_producer()
        assert wire.produce(topic, batch_of(b"new", producer=(producer, 3), sequence=0)).error_code == ErrorCode.NONE
        assert wire.produce(topic, batch_of(b"old", producer=(producer, 2), sequence=1)).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
        assert values_of(wire.fetch(topic, 0)) == [b"new"]


def test_a_newer_epoch_begins_at_zero(running: Running) -> None:
    topic = running.new_topic()
    with running.wire_to_leader(topic) as wire:
        producer, _epoch = wire.new_producer()
        wire.produce(topic, batch_of(b"a", producer=(producer, 0), sequence=0))
        refused = wire.produce(topic, batch_of(b"b", producer=(producer, 1), sequence=1))
        assert refused.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert wire.produce(topic, batch_of(b"b", producer=(producer, 1), sequence=0)).base_offset == 1


def test_sequence_numbers_begin_again_at_zero_after_the_largest(running: Running) -> None:
    topic = running.new_topic()
    with running.wire_to_leader(topic) as wire:
        producer = wire.new_producer()
        assert wire.produce(topic, batch_of(b"a", b"b", producer=producer, sequence=2**31 - 2)).error_code == ErrorCode.NONE
        assert wire.produce(topic, batch_of(b"c", producer=producer, sequence=0)).base_offset == 2
        assert wire.produce(topic, batch_of(b"a", b"b", producer=producer, sequence=2**31 - 2)).base_offset == 0


def test_all_five_are_known_after_a_clean_stop_and_restart(running: Running) -> None:
    """With another producer's batches and a roll between, so that neither a snapshot nor the newest segment alone would do."""
    topic = running.new_topic(segment_bytes=1024)
    with running.wire_to_leader(topic) as wire:
        producer, other = wire.new_producer(), wire.new_producer()
        original = [_again(wire, topic, producer, index) for index in FIVE[:3]]
        for index in range(20):
            wire.produce(topic, batch_of(b"other" * 20, producer=other, sequence=index))
        original += [_again(wire, topic, producer, index) for index in FIVE[3:]]
    leader = running.leader(topic)
    running.stop(leader)
    running.start(leader)
    running.wait_in_sync(topic)
    running.wait_for_leader(topic)
    end = _end(running, topic)
    with running.wire_to_leader(topic) as wire:
        assert _produce_five(wire, topic, producer) == original
    assert _end(running, topic) == end


@THREE_NODES
def test_all_five_are_known_to_the_next_leader(running: Running) -> None:
    topic = running.new_topic()
    with running.wire_to_leader(topic) as wire:
        producer = wire.new_producer()
        original = _produce_five(wire, topic, producer)
    first = _stop_leader(running, topic)
    with running.wire_to_leader(topic) as wire:
        assert _produce_five(wire, topic, producer) == original
        assert wire.produce(topic, batch_of(b"next", producer=producer, sequence=10)).base_offset == 10
        assert len(values_of(wire.fetch(topic, 0))) == 11
    running.start(first)
    running.wait_in_sync(topic)


@THREE_NODES
def test_a_batch_that_overtook_another_on_its_way_to_the_next_leader_is_asked_to_come_again(running: Running) -> None:
    """The old leader refused the first and the client has not brought it here yet. The same gap later is lost agreement."""
    topic = running.new_topic(replicas=running.nodes)
    with running.wire_to_leader(topic) as wire:
        producer = wire.new_producer()
        assert wire.produce(topic, batch_of(b"0", producer=producer, sequence=0)).base_offset == 0
    first = _stop_leader(running, topic)
    with running.wire_to_leader(topic) as wire:
        assert wire.produce(topic, batch_of(b"2", producer=producer, sequence=2)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert wire.produce(topic, batch_of(b"1", producer=producer, sequence=1)).base_offset == 1
        assert wire.produce(topic, batch_of(b"3", producer=producer, sequence=3)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert wire.produce(topic, batch_of(b"2", producer=producer, sequence=2)).base_offset == 2
        assert wire.produce(topic, batch_of(b"3", producer=producer, sequence=3)).base_offset == 3
        assert wire.produce(topic, batch_of(b"9", producer=producer, sequence=9)).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert values_of(wire.fetch(topic, 0)) == [b"0", b"1", b"2", b"3"]
    running.start(first)
    running.wait_in_sync(topic)


@THREE_NODES
def test_a_gap_that_nobody_closes_under_a_new_leader_is_out_of_order_in_the_end(running: Running) -> None:
    topic = running.new_topic(replicas=running.nodes)
    with running.wire_to_leader(topic) as wire:
        producer = wire.new_producer()
        wire.produce(topic, batch_of(b"0", producer=producer, sequence=0))
    first = _stop_leader(running, topic)
    with running.wire_to_leader(topic) as wire:
        overtaking = batch_of(b"2", producer=producer, sequence=2)
        wait_until(
            lambda: wire.produce(topic, overtaking).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "the leader to give up on it"
        )
        assert values_of(wire.fetch(topic, 0)) == [b"0"]
    running.start(first)
    running.wait_in_sync(topic)


def _stop_leader(running: Running, topic: str) -> int:
    """Returns who it was, when another leads."""
    first = running.leader(topic)
    running.stop(first)
    wait_until(lambda: running.leader(topic) not in (-1, first), "another leader")
    running.wait_for_leader(topic)
    return first


def _produce_five(wire: WireClient, topic: str, producer: tuple[int, int]) -> list[int]:
    return [_again(wire, topic, producer, index) for index in FIVE]


def _again(wire: WireClient, topic: str, producer: tuple[int, int], index: int) -> int:
    """Batch `index` of two messages; the offset it has."""
    answer = wire.produce(topic, batch_of(b"%d a" % index, b"%d b" % index, producer=producer, sequence=2 * index))
    assert answer.error_code == ErrorCode.NONE, answer
    return answer.base_offset


def _end(running: Running, topic: str) -> int:
    with running.wire_to_leader(topic) as wire:
        return wire.fetch(topic, 0).high_watermark
