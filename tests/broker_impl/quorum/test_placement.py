from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.quorum.image import BrokerImage, Image, PartitionImage
from broker_impl.quorum.placement import Load, place


def brokers(count: int, racks: tuple[str, ...] = ()) -> list[BrokerImage]:
    return [
        BrokerImage(number, number, "run", "host", 9092, racks[number % len(racks)] if racks else None, fenced=False)
        for number in range(1, count + 1)
    ]


def spread(counts: Counter[int], count: int) -> int:
    numbers = [counts[broker] for broker in range(1, count + 1)]
    return max(numbers) - min(numbers)


@given(st.integers(1, 7), st.data(), st.integers(1, 40), st.integers(0, 1000))
def test_leaders_and_replicas_of_a_topic_are_even(size: int, data: st.DataObject, count: int, seed: int) -> None:
    factor = data.draw(st.integers(1, size))
    assignment = place(count, factor, brokers(size), Load(Image.empty()), Random(seed))
    assert len(assignment) == count
    assert all(len(set(replicas)) == len(replicas) == factor for replicas in assignment)
    assert spread(Counter(replicas[0] for replicas in assignment), size) <= 1
    assert spread(Counter(broker for replicas in assignment for broker in replicas), size) <= factor


def test_leaders_of_many_small_topics_are_even() -> None:
    load, random = Load(Image.empty()), Random(1)
    leaders: Counter[int] = Counter()
    for _ in range(100):
        assignment = place(1, 2, brokers(5), load, random)
        load.add(assignment)
        leaders[assignment[0][0]] += 1
    assert spread(leaders, 5) == 0


def test_what_one_broker_leads_is_followed_by_all_others() -> None:
    assignment = place(20, 2, brokers(5), Load(Image.empty()), Random(1))
    assert {followers for leader, *followers_ in assignment if leader == 1 for followers in followers_} == {2, 3, 4, 5}


def test_a_topic_that_grows_fills_up_the_brokers_it_leads_on_least() -> None:
    existing = [PartitionImage(index, (1, 2), (1, 2), 1, 0, 0) for index in range(2)]
    assignment = place(2, 2, brokers(3), Load(Image.empty()), Random(1), existing)
    assert {replicas[0] for replicas in assignment} == {2, 3}


def test_replicas_go_to_different_racks_while_there_are_any() -> None:
    fleet = brokers(6, ("a", "b", "c"))
    racks = {broker.id: broker.rack for broker in fleet}
    for replicas in place(30, 3, fleet, Load(Image.empty()), Random(3)):
        assert {racks[broker] for broker in replicas} == {"a", "b", "c"}


def test_another_seed_begins_elsewhere() -> None:
    starts = {place(1, 1, brokers(5), Load(Image.empty()), Random(seed))[0] for seed in range(40)}
    assert len(starts) == 5


@pytest.mark.parametrize(("factor", "size"), [(0, 3), (-2, 3), (4, 3), (1, 0)])
def test_a_replication_factor_that_cannot_be_met_is_refused(factor: int, size: int) -> None:
    with pytest.raises(BrokerError) as refusal:
        place(1, factor, brokers(size), Load(Image.empty()), Random(1))
    assert refusal.value.code == ErrorCode.INVALID_REPLICATION_FACTOR
