from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from tests.workloads.fakes import PLACE, FakeProducer, making, session_in
from tests.workloads.running import of, rows_of
from workloads.clients import ClientSettings
from workloads.sending import SendingClient

FATAL = KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, fatal=True)


def send_all(folder: Path, answers, **settings):
    """The client and the rows of its sends, in order."""
    session = session_in(folder, clients=ClientSettings(**settings))
    client = SendingClient(session, making(answers))
    for number in range(len(answers)):
        client.send(1, PLACE, number, None)
    client.stop()
    client.join()
    session.recorder.close()
    return client, sorted(of(rows_of(session.plan), f="send"), key=lambda row: row["op"])


def test_an_acknowledged_send_has_offset_and_time(tmp_path):
    _, (row,) = send_all(tmp_path, [(None, 41)])
    assert (row["outcome"], row["offset"], row["timestamp"], row["key"], row["part"]) == ("ok", 41, 77, 0, 0)


@pytest.mark.parametrize(
    "problem, error",
    [
        (BufferError(), "_QUEUE_FULL"),
        (KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)), "MSG_SIZE_TOO_LARGE"),
        (KafkaException(KafkaError(KafkaError._UNKNOWN_TOPIC)), "_UNKNOWN_TOPIC"),
    ],
)
def test_what_the_client_does_not_take_has_failed(tmp_path, problem, error):
    client, (row,) = send_all(tmp_path, [problem])
    assert (row["outcome"], row["error"], client.outstanding) == ("fail", error, 0)


@pytest.mark.parametrize("retries, outcome", [(5, "info"), (0, "fail")])
def test_retries_decide_what_an_error_means(tmp_path, retries, outcome):
    error = KafkaError(KafkaError.NOT_ENOUGH_REPLICAS)
    _, (row,) = send_all(tmp_path, [(error, -1001)], idempotence=False, retries=retries)
    assert (row["outcome"], row["error"], row["offset"]) == (outcome, "NOT_ENOUGH_REPLICAS", None)


def test_without_acknowledgements_there_is_no_offset_whatever_the_report_says(tmp_path):
    _, rows = send_all(tmp_path, [(None, -1001), (None, 3)], acks="0", idempotence=False, retries=0)
    assert [(row["outcome"], row["offset"]) for row in rows] == [("ok", None)] * 2


def test_a_duplicate_batch_has_no_offsets(tmp_path):
    _, rows = send_all(tmp_path, [(None, -1), (None, 0), (None, 1)])
    assert [(row["outcome"], row["offset"]) for row in rows] == [("ok", None)] * 3


@pytest.mark.parametrize("answer", [(FATAL, -1001), KafkaException(FATAL)])
def test_a_fatal_error_ends_the_client(tmp_path, answer):
    client, _ = send_all(tmp_path, [answer])
    assert (client.usable, client.ended, client.outstanding) == (False, True, 0)


def with_producer(session, error: KafkaError) -> tuple[SendingClient, FakeProducer]:
    """It serves reports when it is told to, and raises this first."""
    producer = FakeProducer([(None, 1)])
    producer.serving.clear()
    producer.raising.append(error)
    make: Any = lambda _name, _on_error: producer  # noqa: E731
    return SendingClient(session, make), producer


def test_a_fatal_error_raised_while_reports_are_served_ends_the_client_and_nothing_else(tmp_path):
    session = session_in(tmp_path)
    client, producer = with_producer(session, FATAL)
    producer.serving.set()
    assert client.fatal.wait(60)
    client.join()
    session.recorder.close()


def test_a_fatal_error_raised_at_the_end_leaves_no_send_without_an_end(tmp_path):
    session = session_in(tmp_path)
    client, producer = with_producer(session, FATAL)
    client.send(1, PLACE, 0, None)
    client.stop()
    producer.serving.set()
    client.join()
    session.recorder.close()
    assert (client.outstanding, client.usable) == (0, False)


def test_another_error_that_the_client_raises_is_told(tmp_path):
    session = session_in(tmp_path)
    client, producer = with_producer(session, KafkaError(KafkaError._STATE))
    producer.serving.set()
    with pytest.raises(KafkaException):
        client.join()
    session.recorder.close()


def test_a_second_client_has_another_number(tmp_path):
    session = session_in(tmp_path)
    clients = [SendingClient(session, making([])) for _ in range(2)]
    for client in clients:
        client.stop()
        client.join()
    session.recorder.close()
    assert clients[0].number != clients[1].number
