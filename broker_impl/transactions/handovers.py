"""Batches on their way from one leader to the next, of which a later one may come first.

A client whose leader changes has batches under way. The old leader turns them away, and the client brings them to the new one; but
librdkafka's threads may send the next batch there a moment before they know that the one before it came back (its issue 4953). To
call that out of order would cost a producer epoch, and duplicates, as in `refusals`. So the first gap that a producer makes under
a new leader is not taken for lost agreement at once: the client is asked to try again, and by then what was missing is there.
"""

from broker_impl.storage.batch import BatchHeader

MOST = 10_000
"""Producers that are waited for; beyond that the one that was waited for first is forgotten."""
PATIENCE_S = 5.0
"""A client brings back at once what it was refused: one that has not by now never will."""
MEMORY_S = 60.0

_Handover = tuple[str, int, int, int, int]
"""Topic, partition, leader epoch, producer id and epoch."""


class Handovers:
    def __init__(self) -> None:
        self._since: dict[_Handover, float] = {}

    def __len__(self) -> int:
        return len(self._since)

    def may_be_on_its_way(self, topic: str, index: int, leader_epoch: int, header: BatchHeader, now: float) -> bool:
        """What is missing before this batch of a producer that has written nothing under this leader."""
        self._forget(now)
        since = self._since.setdefault((topic, index, leader_epoch, header.producer_id, header.producer_epoch), now)
        return now - since <= PATIENCE_S

    def _forget(self, now: float) -> None:
        while self._since:
            oldest = next(iter(self._since))
            if len(self._since) < MOST and now - self._since[oldest] <= MEMORY_S:
                return
            del self._since[oldest]
