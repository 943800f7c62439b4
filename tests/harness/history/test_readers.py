import json

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from harness.history.errors import HistoryError, MalformedFile
from harness.history.files import segment_path
from harness.history.readers import history_files, inspect, inspect_all, join_files, open_history
from harness.history.recorder import Polled, Recorder
from harness.history.schema import METADATA_KEY, ROWS
from tests.harness.history.rows import rows_of


@pytest.fixture
def run(tmp_path):
    """Two workers that met the same topics in another order."""
    for worker, topics in enumerate([["a", "b", "c"], ["c", "d", "a"]]):
        with Recorder(tmp_path, worker, buckets=2) as recorder:
            for number, topic in enumerate(topics):
                recorder.polled(worker, worker * 10 + number, [Polled(topic, 0, 7)], 0, 0)
    return tmp_path


def rewrite(path, *, footer=None, columns=None):
    """The same file with another footer or fewer columns."""
    table = pq.read_table(path)
    metadata = pq.read_metadata(path).metadata[METADATA_KEY] if footer is None else footer
    if columns is not None:
        table = columns(table)
    pq.write_table(table.replace_schema_metadata({METADATA_KEY: metadata}), path, store_schema=True)


def first_file(run):
    return history_files(run)[0]


def test_names_have_one_number_in_the_whole_history(run):
    history = open_history(run)
    assert history.names["topic"] == ["a", "b", "c", "d"]
    assert [(row["op"], row["topic"]) for row in rows_of(run)] == [(0, "a"), (1, "b"), (2, "c"), (10, "c"), (11, "d"), (12, "a")]


def test_a_bucket_has_the_rows_of_all_files_and_only_the_columns_asked_for(run):
    history = open_history(run)
    assert history.rows == 6 == sum(history.read(bucket).num_rows for bucket in history.filled_buckets())
    table = history.read(history.filled_buckets()[0], ["topic", "offset"])
    assert table.column_names == ["topic", "offset"]
    assert set(table["offset"].to_pylist()) == {7}


def test_a_bucket_without_rows_is_an_empty_table(run):
    table = open_history(run).read(-1)
    assert table.num_rows == 0
    assert table.schema.names == ROWS.names


def test_an_empty_history_is_a_history(tmp_path):
    (tmp_path / "history").mkdir()
    history = open_history(tmp_path)
    assert (history.rows, history.filled_buckets(), history.read_all().num_rows) == (0, [], 0)


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(HistoryError, match="is not the folder of a run"):
        open_history(tmp_path)


def test_a_history_with_segments_left_is_not_complete(run):
    segment_path(run, 9, 0).touch()
    with pytest.raises(HistoryError, match="workers 9 left segments"):
        open_history(run)


def test_another_version_is_refused_by_name(run):
    rewrite(first_file(run), footer=json.dumps({"version": 99}))
    with pytest.raises(MalformedFile, match=r"w00000-000000.parquet: has version 99 of the history format; this is version 1"):
        open_history(run)


@pytest.mark.parametrize(
    "footer, why",
    [
        ("[]", "nothing of its version"),
        ("{", "cannot be read"),
        ('{"version": 1}', "the number of buckets"),
        ('{"version": 1, "buckets": 2, "row_groups": [5]}', "the buckets of the row groups"),
        ('{"version": 1, "buckets": 2, "row_groups": [0], "dictionaries": {"topic": 3}}', "the names"),
    ],
)
def test_a_damaged_footer_is_refused(run, footer, why):
    rewrite(first_file(run), footer=footer)
    with pytest.raises(MalformedFile, match=why):
        inspect(first_file(run))


def test_a_missing_column_is_named(run):
    rewrite(first_file(run), columns=lambda table: table.drop_columns(["offset"]))
    with pytest.raises(MalformedFile, match="has no column offset"):
        inspect(first_file(run))


def test_a_column_of_another_type_is_named(run):
    rewrite(first_file(run), columns=lambda table: table.set_column(2, "op", table["op"].cast(pa.string())))
    with pytest.raises(MalformedFile, match="has a column op of type string instead of int64"):
        inspect(first_file(run))


def test_row_groups_the_footer_does_not_tell_of_are_refused(run):
    footer = json.loads(pq.read_metadata(first_file(run)).metadata[METADATA_KEY])
    rewrite(first_file(run), footer=json.dumps(footer | {"row_groups": []}))
    with pytest.raises(MalformedFile, match="has 1 row groups"):
        inspect(first_file(run))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"something else entirely" * 100])
def test_a_file_that_is_no_parquet_is_refused(run, content):
    first_file(run).write_bytes(content)
    with pytest.raises(MalformedFile, match="cannot be read as Parquet"):
        open_history(run)


def test_a_parquet_file_of_something_else_is_refused(run):
    pq.write_table(pa.table({"x": [1]}), first_file(run))
    with pytest.raises(MalformedFile, match="not of a history"):
        open_history(run)


def test_the_sound_files_can_be_read_without_the_others(run):
    first_file(run).write_bytes(b"cut off")
    sound, refused = inspect_all(history_files(run))
    assert [problem.path for problem in refused] == [first_file(run)]
    assert join_files(sound).rows == 3


def test_damage_inside_a_file_is_a_sentence(run):
    path = first_file(run)
    file = inspect(path)
    data = bytearray(path.read_bytes())
    data[4:200] = b"\xff" * 196
    path.write_bytes(data)
    with pytest.raises(MalformedFile, match=r"bucket . cannot be read"):
        join_files([file]).read_all()


def test_a_word_without_a_name_is_refused(run):
    footer = json.loads(pq.read_metadata(first_file(run)).metadata[METADATA_KEY])
    footer["dictionaries"]["topic"] = ["a"]
    with pq.ParquetFile(first_file(run)) as parquet:
        groups = [parquet.read_row_group(number) for number in range(parquet.num_row_groups)]
    with pq.ParquetWriter(first_file(run), groups[0].schema.with_metadata({METADATA_KEY: json.dumps(footer)})) as writer:
        for group in groups:
            writer.write_table(group)
    with pytest.raises(MalformedFile, match="column topic has a word whose name is not in the file"):
        open_history(run).read_all()


def test_files_with_other_numbers_of_buckets_are_no_one_history(run):
    with Recorder(run, 2, buckets=3) as recorder:
        recorder.crash(0, 0, 0, 0)
    with pytest.raises(HistoryError, match="2 and 3 buckets"):
        open_history(run)
