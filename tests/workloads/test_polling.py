import random
from collections import deque

from confluent_kafka import KafkaError, TopicPartition

from tests.workloads.fakes import PLACE, FakeConsumer, broken, message, session_in
from tests.workloads.running import rows_of
from workloads.polling import Poller
from workloads.reading import Reader

OTHER = ("t", 1)


def poller_of(session, answers, calls, readable=(PLACE, OTHER), seed=1):
    def make(_name):
        consumer = FakeConsumer(deque(answers), calls)
        consumer.found = TopicPartition("t", 0, 0)
        return consumer

    return Poller(session, Reader(session, make), lambda: readable, random.Random(seed))


def test_it_assigns_first_and_then_polls_seeks_and_looks_up_what_it_knows(tmp_path):
    session = session_in(tmp_path)
    calls: list = []
    poller = poller_of(session, [[message(session, offset, 70 + offset)] for offset in range(50)], calls)
    for _ in range(400):
        poller.step()
    session.recorder.close()
    rows = rows_of(session.plan)
    assert calls[0][0] == "assign"
    assert {row["f"] for row in rows} == {"keep", "poll", "seek", "lookup"}
    assert all(0 <= row["offset"] < 50 for row in rows if row["f"] == "seek")
    assert all(1000 <= row["timestamp"] < 1050 for row in rows if row["f"] == "lookup")


def test_a_partition_without_our_offset_is_dropped_and_begun_anew(tmp_path):
    session = session_in(tmp_path)
    calls: list = []
    poller = poller_of(session, [[broken(KafkaError._AUTO_OFFSET_RESET)]], calls, readable=(PLACE,))
    for _ in range(3):
        poller.step()
    session.recorder.close()
    assert calls == [("assign", [("t", 0, 0)]), ("assign", []), ("assign", [("t", 0, 0)])]
