"""A fetch that had to wait is answered with the bytes of another partition of the same broker.

Stands for buffers and keys mixed up in delayed operations. The batch is
sound, its checksum is right, and it belongs elsewhere.

Exposed without any fault, by messages that say where they belong.
"""

from typing import Any

from broker_impl.plugins import replace
from broker_impl.protocol.errors import BrokerError

ARM = "cluster"
PLAN = "calm"
ANOMALIES = ("misplaced",)


def install() -> None:
    def on_complete(self: Any) -> None:
        if self._exchange.closed:
            return
        fetch = self._fetch
        topics, size, _urgent = fetch.read()
        if not fetch.is_replica:
            for topic in topics:
                for fetched in topic.partitions:
                    if fetched.records is not None:
                        size += mix_up(fetch, topic, fetched)
        self._api.answer(self._header, self._exchange, topics, size)

    def mix_up(fetch: Any, topic: Any, fetched: Any) -> int:
        """The same offset of another partition, where there is one."""
        name = fetch._name(topic.name, topic.topic_id)
        wanted = next(
            part for one in fetch._request.topics if (one.name, one.topic_id) == (topic.name, topic.topic_id)
            for part in one.partitions if part.index == fetched.index
        )  # fmt: skip
        for other in fetch._replicas:
            if (other.topic, other.index) != (name, fetched.index) and other.state.high_watermark > wanted.fetch_offset:
                try:
                    found = other.read_for_consumer(wanted.fetch_offset, fetched.records.size, True)
                except BrokerError:
                    continue
                if found.size:
                    grown: int = found.size - fetched.records.size
                    fetched.records = found
                    return grown
        return 0

    replace("broker_impl.api.fetch:_DelayedFetch.on_complete", on_complete)
