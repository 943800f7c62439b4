import pytest

from analysis.dump_files import DumpFile, index_dumps
from harness.history.beside import Record, RowsWriter
from harness.history.errors import MalformedFile


@pytest.fixture
def run(tmp_path):
    """Two row groups of one partition each, and one of two."""
    with RowsWriter(tmp_path, Record) as writer:
        for rows in ([("n1", "a", 0, 5, 50)], [("n1", "b", 1, 6, 60)], [("n2", "a", 0, 5, 51), ("n2", "b", 1, 7, None)]):
            writer.add_columns(dict(zip(("node", "topic", "part", "offset", "value"), zip(*rows, strict=True), strict=True)))
    return tmp_path


def test_a_partition_s_row_groups_are_found(run):
    assert dict(index_dumps(run, Record).groups) == {("a", 0): (0, 2), ("b", 1): (1, 2)}


def test_only_the_rows_of_the_partitions_asked_for_are_read(run):
    table = index_dumps(run, Record).only([("a", 0)]).read()
    assert table is not None and table.to_pydict()["value"] == [50, 51]
    assert index_dumps(run, Record).only([("c", 0)]).read() is None


def test_without_the_file_there_is_nothing(tmp_path):
    assert index_dumps(tmp_path, Record) == DumpFile()
    assert DumpFile().read() is None


def test_a_file_cut_off_is_named(run):
    path = run / Record.FILE
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(MalformedFile, match=r"records\.parquet: cannot be read"):
        index_dumps(run, Record)
