from collections import deque

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from harness.history.schema import Outcome
from tests.workloads.fakes import PLACE, FakeConsumer, broken, message, session_in
from tests.workloads.running import of, rows_of
from workloads.reading import Reader

TIMED_OUT = KafkaError(KafkaError._TIMED_OUT)


class Reading:
    def __init__(self, folder):
        self.session = session_in(folder)
        self.answers: deque = deque()
        self.calls: list = []
        self.clients: list[FakeConsumer] = []
        self.reader = Reader(self.session, self._make)
        self.reader.assign({PLACE: 0, ("t", 1): 0})

    def poll(self, *answer):
        self.answers.append(answer[0] if answer and isinstance(answer[0], Exception) else list(answer))
        return self.reader.poll(10, 0.0)

    def rows(self, **wanted):
        self.session.recorder.close()
        return sorted(of(rows_of(self.session.plan), **wanted), key=lambda row: (row["op"], row["micro"]))

    def _make(self, _name):
        self.clients.append(FakeConsumer(self.answers, self.calls))
        return self.clients[-1]


@pytest.fixture
def reading(tmp_path):
    return Reading(tmp_path)


def test_a_poll_has_a_row_a_message_and_moves_the_position(reading):
    reading.poll(message(reading.session, 0, 70), message(reading.session, 1, 71))
    assert reading.reader.position == {PLACE: 2, ("t", 1): 0}
    found = [(row["micro"], row["offset"], row["value"], row["key"], row["outcome"]) for row in reading.rows(f="poll")]
    assert found == [(0, 0, 70, 5, "ok"), (1, 1, 71, 5, "ok")]


def test_a_poll_that_met_an_error_fails_and_goes_back_to_the_first_offset_it_read(reading):
    reading.poll(message(reading.session, 0, 70))
    reading.poll(message(reading.session, 1, 71), message(reading.session, 2, 72), broken(KafkaError.KAFKA_STORAGE_ERROR, part=1))
    assert reading.calls[-1] == ("seek", "t", 0, 1)
    assert reading.reader.position[PLACE] == 1
    assert [row["value"] for row in reading.rows(f="poll", outcome="fail", error="KAFKA_STORAGE_ERROR")] == [71, 72]


def test_a_reader_that_cannot_go_back_begins_anew_as_another_process(reading):
    before = reading.reader.process
    reading.clients[0].seek_error = TIMED_OUT
    reading.poll(message(reading.session, 0, 70), broken(KafkaError.KAFKA_STORAGE_ERROR, part=1))
    assert reading.reader.process != before
    assert reading.reader.position == {}
    assert [row["process"] for row in reading.rows(f="seek", outcome="info")] == [before]


@pytest.mark.parametrize("problem", [KafkaException(TIMED_OUT), RuntimeError("closed")])
def test_a_poll_that_raises_ends_as_info_and_its_process_is_not_seen_again(reading, problem):
    before = reading.reader.process
    reading.poll(problem)
    reading.reader.assign({PLACE: 0})
    reading.poll(message(reading.session, 0, 70))
    rows = reading.rows()
    last = max(row["op"] for row in of(rows, process=before))
    assert {row["outcome"] for row in of(rows, op=last)} == {"info"}
    assert of(rows, f="poll", outcome="ok")[0]["process"] == reading.reader.process != before


def test_a_damaged_message_is_a_finding_at_its_offset_and_reading_goes_on(reading):
    reading.poll(broken(KafkaError._BAD_MSG, offset=4), message(reading.session, 5, 75))
    assert reading.reader.position[PLACE] == 6
    found = [(row["offset"], row["value"], row["error"], row["outcome"]) for row in reading.rows(f="poll")]
    assert found == [(4, None, "corrupt", "ok"), (5, 75, None, "ok")]


def test_a_message_of_another_partition_is_misplaced(reading):
    stray = message(reading.session, 3, 73, part=1)
    stray = type(stray)(topic="t", partition=0, offset=3, key=stray.key(), value=stray.value(), timestamp=(1, 5))
    reading.poll(stray)
    assert [(row["offset"], row["error"]) for row in reading.rows(f="poll")] == [(3, "misplaced")]


def test_an_offset_that_is_not_there_is_told(reading):
    assert reading.poll(broken(KafkaError._AUTO_OFFSET_RESET)).nowhere == {PLACE}


def test_an_assign_keeps_positions_and_tells_what_it_drops(reading):
    reading.poll(message(reading.session, 0, 70))
    reading.reader.assign({PLACE: 9})
    assert reading.calls[-1] == ("assign", [("t", 0, 1)])
    last = reading.rows(kind="assign")[-2:]
    assert [(row["f"], row["part"]) for row in last] == [("keep", 0), ("forget", 1)]


def test_an_assign_that_fails_is_info_and_another_process_goes_on(reading):
    before = reading.reader.process
    reading.clients[0].assign_error = TIMED_OUT
    reading.reader.assign({PLACE: 0})
    assert reading.reader.process != before
    assert reading.reader.position == {}
    assert {row["process"] for row in reading.rows(kind="assign", outcome="info")} == {before}


def test_a_seek_that_the_client_refuses_changes_nothing(reading):
    reading.clients[0].seek_error = KafkaError(KafkaError._STATE)
    assert not reading.reader.seek(PLACE, 7)
    assert reading.reader.position[PLACE] == 0
    assert [row["offset"] for row in reading.rows(f="seek", outcome="fail")] == [7]


@pytest.mark.parametrize(
    "found, outcome, offset",
    [
        (TopicPartition("t", 0, 12), Outcome.OK, 12),
        (TopicPartition("t", 0, -1), Outcome.OK, None),
        (KafkaException(TIMED_OUT), Outcome.FAIL, None),
    ],
)
def test_a_look_up_records_what_was_asked_and_answered(reading, found, outcome, offset):
    reading.clients[0].found = found
    reading.reader.lookup(PLACE, 1234)
    (row,) = reading.rows(f="lookup")
    assert (row["outcome"], row["timestamp"], row["offset"]) == (outcome.name.lower(), 1234, offset)
