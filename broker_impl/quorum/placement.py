"""Which brokers hold a new partition.

Brokers stand in a ring; partition after partition the leader moves one place on, and the followers are those
behind it, one place further apart each time the ring has been gone round. So leaders and replicas are even, and
what one broker leads is followed by all the others: when it dies, its load spreads.

The trap is a thousand topics of one partition: each would begin its own ring. Therefore the ring begins with the
broker that is first choice for the fewest partitions so far, ties broken at random. Racks come before the ring: a
follower goes to a rack that has no replica yet, as long as there is one.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from random import Random

from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.quorum.image import BrokerImage, Image, PartitionImage

Assignment = list[tuple[int, ...]]


class Load:
    """How many partitions each broker is first choice for, and how many it holds; counted once, kept up as partitions are added."""

    def __init__(self, image: Image) -> None:
        self._first: Counter[int] = Counter()
        self._held: Counter[int] = Counter()
        self.add([partition.replicas for _, partition in image.all_partitions()])

    def add(self, assignment: Assignment) -> None:
        self._first.update(replicas[0] for replicas in assignment)
        self._held.update(chain.from_iterable(assignment))

    def of(self, broker: int) -> tuple[int, int]:
        return self._first[broker], self._held[broker]


def place(
    count: int,
    replication_factor: int,
    brokers: Sequence[BrokerImage],
    load: Load,
    random: Random,
    existing: Iterable[PartitionImage] = (),
) -> Assignment:
    """Replicas for `count` more partitions of a topic that has the `existing` ones; `brokers` are those that may be used."""
    if replication_factor < 1:
        raise BrokerError(ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0.")
    if replication_factor > len(brokers):
        raise BrokerError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): only {len(brokers)} broker(s) are live.",
        )
    led_here = Counter(partition.replicas[0] for partition in existing)
    ring = sorted(brokers, key=lambda broker: (led_here[broker.id], *load.of(broker.id), random.random()))
    first_shift = random.randrange(len(ring))
    return [_replicas(ring, number, first_shift + number // len(ring), replication_factor) for number in range(count)]


def _replicas(ring: Sequence[BrokerImage], number: int, shift: int, replication_factor: int) -> tuple[int, ...]:
    start = number % len(ring)
    leader, others = ring[start], [*ring[start + 1 :], *ring[:start]]
    turn = shift % len(others) if others else 0
    followers = _racks_first(leader, [*others[turn:], *others[:turn]])
    return (leader.id, *(broker.id for broker in followers[: replication_factor - 1]))


def _racks_first(leader: BrokerImage, candidates: Sequence[BrokerImage]) -> list[BrokerImage]:
    """The candidates in their order, but those that bring a new rack before those that do not. No rack is a rack of its own."""
    racks = {leader.rack} - {None}
    new, rest = [], []
    for broker in candidates:
        if broker.rack is None or broker.rack not in racks:
            new.append(broker)
            racks.add(broker.rack)
        else:
            rest.append(broker)
    return [*new, *rest]
