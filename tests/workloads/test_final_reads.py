from collections import deque
from typing import Any

import pytest
from confluent_kafka import KafkaError

from tests.workloads.fakes import FakeConsumer, broken, message, session_in
from workloads.final_reads import FinalReader, PartitionEnd, load_ends, save_ends
from workloads.reading import Reader

NO_PATIENCE = 0.05


@pytest.fixture
def session(tmp_path):
    found = session_in(tmp_path)
    yield found
    found.recorder.close()


def final_of(session, answers, ends, patience=60.0):
    calls: list = []
    make: Any = lambda _name: FakeConsumer(deque(answers), calls)  # noqa: E731
    finals = FinalReader(session, Reader(session, make, tell_ends=True), ends).read(patience)
    return {final.part: final for final in finals}, calls


def test_every_partition_is_read_from_its_start_to_the_end_that_was_given(session):
    answers = [[message(session, 4, 74), message(session, 0, 80, part=1)], [message(session, 5, 75)]]
    finals, calls = final_of(session, answers, [PartitionEnd("t", 0, 4, 6), PartitionEnd("t", 1, 0, 1)])
    assert calls == [("assign", [("t", 0, 4), ("t", 1, 0)])]
    assert [(finals[part].last_read, finals[part].completed is not None) for part in (0, 1)] == [(5, True), (0, True)]


def test_an_empty_partition_is_complete_without_a_read(session):
    finals, calls = final_of(session, [], [PartitionEnd("t", 0, 3, 3)])
    assert (calls, finals[0].last_read, finals[0].completed is not None) == ([], None, True)


def test_an_end_behind_which_no_message_lies_is_reached_where_the_client_says_so(session):
    answers = [[message(session, 0, 70), broken(KafkaError._PARTITION_EOF, offset=2)]]
    finals, _ = final_of(session, answers, [PartitionEnd("t", 0, 0, 2)])
    assert (finals[0].last_read, finals[0].completed is not None) == (0, True)


def test_an_end_that_is_not_reached_leaves_the_partition_open(session):
    answers = [[message(session, 0, 70), broken(KafkaError._PARTITION_EOF, offset=1)]]
    finals, _ = final_of(session, answers, [PartitionEnd("t", 0, 0, 9)], NO_PATIENCE)
    assert (finals[0].last_read, finals[0].completed) == (0, None)


def test_an_offset_that_is_not_there_is_tried_again(session):
    answers = [[broken(KafkaError._AUTO_OFFSET_RESET)], [message(session, 0, 70)]]
    finals, calls = final_of(session, answers, [PartitionEnd("t", 0, 0, 1)])
    assert calls == [("assign", [("t", 0, 0)]), ("assign", []), ("assign", [("t", 0, 0)])]
    assert finals[0].completed is not None


def test_ends_are_the_same_after_they_were_a_file(tmp_path):
    ends = [PartitionEnd("t", 0, 3, 9), PartitionEnd("u", 1, 0, 0)]
    save_ends(tmp_path / "ends.json", ends)
    assert load_ends(tmp_path / "ends.json") == ends
