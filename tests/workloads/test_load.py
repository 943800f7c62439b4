import threading
from itertools import pairwise
from typing import Any

from confluent_kafka import KafkaError

from tests.workloads.fakes import PLACE, FakeProducer, making, session_in
from tests.workloads.running import of, rows_of
from workloads.clients import ClientSettings
from workloads.load import Load
from workloads.sending import SendingClient

FATAL = KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, fatal=True)


class Limited:
    """Targets that say after so many sends that it is over."""

    def __init__(self, sends):
        self.left, self.over = sends, threading.Event()

    def next(self, _instance):
        self.left -= 1
        if self.left == 0:
            self.over.set()
        return PLACE, None

    def readable(self):
        return (PLACE,)


class Acknowledged(threading.Event):
    """It is over when something was acknowledged."""

    def __init__(self, load):
        super().__init__()
        self._load = load

    def is_set(self):
        return self._load.counts()["ok"] > 0


def run_load(folder, answers_of_clients, sends, **plan):
    session = session_in(folder, senders=1, **plan)
    answers = iter(answers_of_clients)
    targets = Limited(sends)
    load = Load(session, targets, lambda: SendingClient(session, making(next(answers))))
    load.run(targets.over)
    session.recorder.close()
    return load, of(rows_of(session.plan), f="send")


def test_a_client_that_met_a_fatal_error_is_replaced_under_a_new_number_and_its_sends_still_count(tmp_path):
    session = session_in(tmp_path, senders=1, rate=2000.0)
    answers: Any = iter([[(FATAL, -1001), (KafkaError(KafkaError._PURGE_QUEUE), -1001)], [(None, 7)]])
    load = Load(session, Limited(0), lambda: SendingClient(session, making(next(answers))))
    load.run(Acknowledged(load))
    session.recorder.close()
    counts, rows = load.counts(), of(rows_of(session.plan), f="send")
    assert {row["producer"] for row in rows} == {3 << 20, (3 << 20) + 1}
    assert (counts["sent"], counts["open"]) == (len(rows), 0)
    assert counts["info"] == len(of(rows, outcome="info")) > 0
    assert counts["ok"] == len(of(rows, outcome="ok")) > 0


def test_an_open_loop_tells_when_each_send_was_due(tmp_path):
    _, rows = run_load(tmp_path, [[(None, offset) for offset in range(100)]], 100, rate=1000.0)
    due = sorted(row["intended"] for row in rows)
    assert {later - earlier for earlier, later in pairwise(due)} == {1_000_000}


def test_a_closed_loop_keeps_no_more_under_way_than_its_window(tmp_path):
    clients = ClientSettings(in_flight=1, batch_bytes=1)
    held = []

    class Slow(FakeProducer):
        def poll(self, timeout):
            held.append(len(self.reports))
            return super().poll(timeout)

    slow: Any = lambda _name, _on_error: Slow([(None, offset) for offset in range(900)])  # noqa: E731
    session = session_in(tmp_path, senders=1, rate=0.0, clients=clients)
    targets = Limited(900)
    load = Load(session, targets, lambda: SendingClient(session, slow))
    load.run(targets.over)
    session.recorder.close()
    assert max(held) <= clients.window == 100
    assert load.counts()["ok"] == 900
