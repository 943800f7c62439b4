"""A client that has several requests under way, of which the first is refused for a reason that is over when the next is looked at.

What follows a refused batch has a gap before it that the broker made itself. If the broker calls that out of order, librdkafka takes it
for lost agreement: it begins a new producer epoch in all its partitions, and what was stored there without being acknowledged is stored
again (or, if the producer was new to the partition, it gives up for good). The brokers here refuse on purpose, by a plugin.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer

from harness.systems.local_cluster import BROKER, LocalCluster
from tests.cluster.load import CLIENT, NEW_EPOCH, file_logger, read_all
from tests.cluster.topics import create_topic

TOPIC = "pipelined"
PIPELINED, UNANSWERED = 0, 1
DEADLINE = 60.0
REFUSING = """
from broker_impl.plugins import replace
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.storage.batch import parse_header

asked = set()


def install():
    parse = replace("broker_impl.api.produce:parse_produce", lambda *given: watching(parse(*given)))
    append = replace("broker_impl.replication.replica:Replica.append", lambda *given: refusing(append, *given))


def watching(request):
    for _topic, partitions in request.topics:
        asked.update((index, parse_header(records).base_sequence) for index, records in partitions)
    return request


def refusing(append, replica, batches, *given):
    overtaken = ({pipelined}, {refused} + 1) in asked
    if not overtaken and (replica.index, parse_header(batches).base_sequence) == ({pipelined}, {refused}):
        raise BrokerError(ErrorCode.NOT_ENOUGH_REPLICAS, "not now")
    appended = append(replica, batches, *given)
    if not overtaken and replica.index == {unanswered}:
        raise BrokerError(ErrorCode.REQUEST_TIMED_OUT, "stored, but nobody is told")
    return appended
"""


@pytest.mark.parametrize("refused", [0, 1], ids=["the-first-batch-of-all", "a-later-batch"])
def test_a_gap_that_the_broker_made_by_refusing_costs_no_producer_epoch(tmp_path: Path, refused: int) -> None:
    plugin = tmp_path / "refusing.py"
    plugin.write_text(REFUSING.format(refused=refused, pipelined=PIPELINED, unanswered=UNANSWERED))
    with LocalCluster.create(tmp_path / "cluster", 1, command=(*BROKER, "--plugin", str(plugin))) as cluster:
        create_topic(cluster, TOPIC, 2, replicas=1)
        fates = _Fates(cluster.bootstrap, tmp_path / "producer.log")
        fates.send(PIPELINED, range(refused))
        fates.await_all()
        fates.send(UNANSWERED, [0])
        fates.send(PIPELINED, range(refused, 5))
        fates.await_all()
        stored = sorted((partition, value) for partition, _offset, value in read_all(cluster.bootstrap, TOPIC, 2))
    assert fates.failed == []
    assert stored == [*((PIPELINED, f"{number}") for number in range(5)), (UNANSWERED, "0")]
    assert NEW_EPOCH not in (tmp_path / "producer.log").read_text()


class _Fates:
    """A librdkafka producer that sends each message as a batch of its own, and what became of them."""

    def __init__(self, bootstrap: str, journal: Path) -> None:
        settings = {"enable.idempotence": True, "batch.num.messages": 1, "linger.ms": 0, "debug": "eos", "log_level": 7}
        told = CLIENT | settings | {"bootstrap.servers": bootstrap, "error_cb": self._erred}
        self._producer = Producer(told, logger=file_logger(journal, 0))
        self.failed: list[str] = []

    def send(self, partition: int, numbers: Any) -> None:
        for number in numbers:
            self._producer.produce(TOPIC, f"{number}", partition=partition, on_delivery=self._settled)

    def await_all(self) -> None:
        until = time.monotonic() + DEADLINE
        while self._producer.flush(0.1):
            assert time.monotonic() < until, "messages without a fate"

    def _settled(self, error: KafkaError | None, message: Any) -> None:
        if error is not None:
            self.failed.append(f"{message.value()}: {error.str()}")

    def _erred(self, error: KafkaError) -> None:
        if error.fatal():
            self.failed.append(error.str())
