import json

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from harness.history.buckets import bucket_of
from harness.history.layout import BucketFileWriter
from harness.history.readers import inspect
from harness.history.recorder import Polled, Recorder
from harness.history.schema import METADATA_KEY, ROWS

NAMES = {"topic": ["t"], "error": [], "group": []}


def one_row():
    row = {field.name: None if field.nullable else 0 for field in ROWS}
    return pa.Table.from_pylist([row], schema=ROWS)


def test_a_recorded_file_has_its_rows_in_buckets_one_row_group_each(tmp_path):
    partitions = [(f"topic-{number}", part) for number in range(4) for part in range(5)]
    with Recorder(tmp_path, 0, buckets=8) as recorder:
        for op in range(50):
            recorder.polled(0, op, [Polled(topic, part, op) for topic, part in partitions], 0, 0)
            recorder.polled(0, 1000 + op, [], 0, 0)
    file = inspect(tmp_path / "history" / "w00000-000000.parquet")
    expected = sorted({bucket_of(topic, part, 8) for topic, part in partitions})
    assert list(file.row_groups) == [-1, *expected]
    with pq.ParquetFile(file.path) as parquet:
        for group, bucket in enumerate(file.row_groups):
            rows = parquet.read_row_group(group).to_pylist()
            found = {(row["topic"], row["part"]) for row in rows}
            assert {bucket_of(None if topic is None else file.names["topic"][topic], part, 8) for topic, part in found} == {bucket}
            assert [row["op"] for row in rows] == sorted(row["op"] for row in rows)


def test_version_buckets_and_words_are_in_the_footer_for_any_reader(tmp_path):
    with Recorder(tmp_path, 0) as recorder:
        recorder.invoke_send(0, 0, 0, 0, "日本", 0, None, 0, None, 0)
    footer = json.loads(pq.read_metadata(tmp_path / "history" / "w00000-000000.parquet").metadata[METADATA_KEY])
    assert (footer["version"], footer["buckets"]) == (1, 32)
    assert footer["row_groups"] == [bucket_of("日本", 0)]
    assert footer["dictionaries"]["topic"] == ["日本"]
    assert footer["dictionaries"]["outcome"] == ["ok", "fail", "info"]


def test_a_file_appears_when_it_is_whole(tmp_path):
    with BucketFileWriter(tmp_path / "f.parquet", 4, NAMES) as writer:
        writer.write(2, one_row())
        assert not (tmp_path / "f.parquet").exists()
    assert inspect(tmp_path / "f.parquet").row_groups == (2,)


def test_a_file_that_failed_is_not_there(tmp_path):
    with pytest.raises(RuntimeError), BucketFileWriter(tmp_path / "f.parquet", 4, NAMES) as writer:
        writer.write(2, one_row())
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_buckets_come_once_and_rising(tmp_path):
    with pytest.raises(AssertionError, match="rise"), BucketFileWriter(tmp_path / "f.parquet", 4, NAMES) as writer:
        writer.write(2, one_row())
        writer.write(2, one_row())
