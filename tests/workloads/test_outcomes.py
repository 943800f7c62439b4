"""The table of outcomes, cell by cell."""

import pytest
from confluent_kafka import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from harness.history.schema import Outcome
from workloads.outcomes import REFUSED, KnownOffsets, outcome_of_report

FAIL, INFO = Outcome.FAIL, Outcome.INFO
ERROR_CODES = sorted({code for name in dir(KafkaError) if name.strip("_").isupper() and isinstance(code := getattr(KafkaError, name), int)})

# error, with retries on, with retries off
TABLE = [
    ("_PURGE_QUEUE", INFO, FAIL),
    ("_UNKNOWN_TOPIC", INFO, FAIL),
    ("_UNKNOWN_PARTITION", INFO, FAIL),
    ("TOPIC_AUTHORIZATION_FAILED", INFO, FAIL),
    ("CLUSTER_AUTHORIZATION_FAILED", INFO, FAIL),
    ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", INFO, FAIL),
    ("TOPIC_EXCEPTION", INFO, FAIL),
    ("UNKNOWN_TOPIC_OR_PART", INFO, FAIL),
    ("NOT_ENOUGH_REPLICAS", INFO, FAIL),
    ("PRODUCER_FENCED", INFO, FAIL),
    ("INVALID_PRODUCER_EPOCH", INFO, FAIL),
    ("_PURGE_INFLIGHT", INFO, INFO),
    ("_MSG_TIMED_OUT", INFO, INFO),
    ("_TIMED_OUT", INFO, INFO),
    ("_TIMED_OUT_QUEUE", INFO, INFO),
    ("REQUEST_TIMED_OUT", INFO, INFO),
    ("_TRANSPORT", INFO, INFO),
    ("_ALL_BROKERS_DOWN", INFO, INFO),
    ("NETWORK_EXCEPTION", INFO, INFO),
    ("NOT_LEADER_FOR_PARTITION", INFO, INFO),
    ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", INFO, INFO),
    ("OUT_OF_ORDER_SEQUENCE_NUMBER", INFO, INFO),
    ("UNKNOWN_PRODUCER_ID", INFO, INFO),
    ("UNKNOWN", INFO, INFO),
    ("_FATAL", INFO, INFO),
    ("_GAPLESS_GUARANTEE", INFO, INFO),
    ("_DESTROY", INFO, INFO),
    ("MSG_SIZE_TOO_LARGE", INFO, INFO),
    ("KAFKA_STORAGE_ERROR", INFO, INFO),
]


@pytest.mark.parametrize("name, with_retries, without", TABLE)
def test_each_reported_error_has_its_outcome(name, with_retries, without):
    code = getattr(KafkaError, name)
    assert (outcome_of_report(code, retries=True), outcome_of_report(code, retries=False)) == (with_retries, without)


def test_success_is_ok():
    assert {outcome_of_report(KafkaError.NO_ERROR, retries=retries) for retries in (True, False)} == {Outcome.OK}


def test_what_produce_refused_was_never_transmitted():
    assert REFUSED is FAIL


def test_with_retries_no_reported_error_is_a_certain_failure():
    assert {outcome_of_report(code, retries=True) for code in ERROR_CODES if code} == {INFO}


def test_without_retries_exactly_the_errors_of_the_table_are_certain_failures():
    found = {code for code in ERROR_CODES if outcome_of_report(code, retries=False) is FAIL}
    assert found == {getattr(KafkaError, name) for name, _, without in TABLE if without is FAIL}


def test_the_whole_batch_of_a_duplicate_has_no_offset():
    offsets = KnownOffsets()
    assert [offsets.of("p", offset) for offset in (7, None, 0, 1, 2, 8, 9)] == [7, None, None, None, None, 8, 9]


def test_another_partition_between_the_reports_of_a_duplicate_changes_nothing():
    offsets = KnownOffsets()
    assert [offsets.of(*one) for one in [("p", None), ("q", 0), ("p", 0), ("q", 1), ("p", 1)]] == [None, 0, None, 1, None]


@given(st.lists(st.tuples(st.sampled_from("pq"), st.integers(0, 2**40))))
def test_offsets_are_taken_as_they_are_where_none_is_missing(reports):
    offsets = KnownOffsets()
    assert [offsets.of(place, offset) for place, offset in reports] == [offset for _, offset in reports]
