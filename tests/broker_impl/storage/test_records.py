"""Single records, built and read back."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_impl.storage.batch import HEADER_SIZE, parse_header
from broker_impl.storage.records import MalformedRecord, Record, build_batch, records

BYTES = st.none() | st.binary(max_size=50)
RECORDS = st.builds(
    Record,
    value=BYTES,
    key=BYTES,
    timestamp=st.integers(-(2**40), 2**40),
    headers=st.lists(st.tuples(st.text(max_size=5), BYTES), max_size=3).map(tuple),
)


@given(contents=st.lists(RECORDS, min_size=1, max_size=10), base_offset=st.integers(0, 2**50))
def test_records_come_back_as_they_were_with_their_offsets(contents: list[Record], base_offset: int) -> None:
    found = records(build_batch(contents, base_offset=base_offset))
    assert [(r.value, r.key, r.timestamp, r.headers) for r in found] == [(r.value, r.key, r.timestamp, r.headers) for r in contents]
    assert [record.offset for record in found] == list(range(base_offset, base_offset + len(contents)))


@given(tail=st.binary(max_size=60))
def test_bytes_that_are_no_records_are_an_error_and_nothing_else(tail: bytes) -> None:
    batch = build_batch([Record(b"x" * 40)])
    batch[HEADER_SIZE : HEADER_SIZE + len(tail)] = tail
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    with suppress(MalformedRecord):
        assert len(records(batch)) == parse_header(batch).record_count


def test_a_compressed_batch_is_not_looked_into() -> None:
    with pytest.raises(MalformedRecord, match="compressed"):
        records(build_batch([Record(b"x")], attributes=4))
