import pytest

from harness.history.schema import FIXED_WORDS, ROWS, first_number

CONTRACT = """
process:int32 producer:int32? op:int64 micro:int32 kind:int8 f:int8 outcome:int8 error:int16? phase:int8
intended:int64? invoked:int64 completed:int64?
topic:int32? part:int32? key:int64? value:int64? offset:int64? timestamp:int64? leader_epoch:int32? group:int16? generation:int32?
"""


def test_the_columns_are_those_of_the_contract():
    assert [f"{field.name}:{field.type}{'?' if field.nullable else ''}" for field in ROWS] == CONTRACT.split()


def test_every_word_of_the_contract_has_a_number():
    assert {"send", "poll", "txn", "assign", "subscribe", "seek", "lookup", "crash"} <= set(FIXED_WORDS["kind"])
    assert {"send", "poll", "keep", "forget", "rebalance", "end"} <= set(FIXED_WORDS["f"])
    assert FIXED_WORDS["outcome"] == ["ok", "fail", "info"]


def test_two_workers_never_count_into_each_other():
    assert first_number(4) - first_number(3) >= 10**12
    assert first_number(2**22 - 1) + 2**40 < 2**63


def test_a_worker_beyond_the_numbers_is_refused():
    with pytest.raises(ValueError):
        first_number(2**22)
