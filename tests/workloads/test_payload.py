import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.history.schema import CORRUPT, MISPLACED
from workloads.payload import Content, Payloads, key_bytes

INT64 = st.integers(-(2**63), 2**63 - 1)
KEYS = st.none() | INT64
PAYLOADS = Payloads("run-7", 128)


@given(st.text(min_size=1, max_size=60), st.integers(0, 2**31 - 1), KEYS, INT64)
def test_what_was_sent_is_what_is_read(topic, part, key, value):
    payload = PAYLOADS.make(topic, part, key, value)
    assert PAYLOADS.verify(payload, key_bytes(key), topic, part) == Content(key, value, None)


@pytest.mark.parametrize("size", [64, 128, 1000, 1_000_000])
def test_a_payload_is_padded_to_the_record_size(size):
    assert len(Payloads("run-7", size).make("topic", 3, None, 2**40)) == size


def test_a_payload_that_does_not_fit_is_longer():
    payloads = Payloads("run-7", 64)
    payload = payloads.make("t" * 249, 0, 5, 9)
    assert len(payload) > 64
    assert payloads.verify(payload, key_bytes(5), "t" * 249, 0).value == 9


@given(KEYS, INT64, st.integers(0, 127), st.integers(1, 255))
def test_any_changed_byte_is_corrupt(key, value, at, difference):
    payload = bytearray(PAYLOADS.make("topic", 3, key, value))
    payload[at] ^= difference
    assert PAYLOADS.verify(bytes(payload), key_bytes(key), "topic", 3).error == CORRUPT


@given(st.binary(max_size=200))
def test_foreign_bytes_are_corrupt(payload):
    assert PAYLOADS.verify(payload, None, "topic", 3).error == CORRUPT


@pytest.mark.parametrize("length", range(0, 128, 7))
def test_a_payload_cut_short_is_corrupt(length):
    assert PAYLOADS.verify(PAYLOADS.make("topic", 3, None, 1)[:length], None, "topic", 3).error == CORRUPT


def test_no_payload_is_corrupt():
    assert PAYLOADS.verify(None, None, "topic", 3).error == CORRUPT


@pytest.mark.parametrize("topic, part", [("topic", 4), ("topi", 3), ("topic2", 3)])
def test_a_payload_of_another_partition_is_misplaced(topic, part):
    assert PAYLOADS.verify(PAYLOADS.make("topic", 3, None, 1), None, topic, part) == Content(None, None, MISPLACED)


def test_a_payload_of_another_run_is_misplaced():
    assert PAYLOADS.verify(Payloads("run-8", 128).make("topic", 3, None, 1), None, "topic", 3).error == MISPLACED


@pytest.mark.parametrize("sent, beside", [(1, 2), (None, 0), (0, None)])
def test_a_record_key_that_is_not_the_payloads_is_corrupt(sent, beside):
    assert PAYLOADS.verify(PAYLOADS.make("topic", 3, sent, 1), key_bytes(beside), "topic", 3).error == CORRUPT


def test_the_value_is_found_wherever_a_payload_of_the_run_lies_and_in_no_other_bytes():
    ours, others = Payloads("run-1", 128), Payloads("run-2", 128)
    payload = ours.make("t", 3, None, 77)
    assert ours.value_of(payload) == 77
    assert [ours.value_of(each) for each in (others.make("t", 3, None, 77), payload[:-1], b"", b"x" * 128)] == [None] * 4
    changed = bytearray(payload)
    changed[60] ^= 1
    assert ours.value_of(bytes(changed)) is None
