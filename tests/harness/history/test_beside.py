import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from harness.history import beside
from harness.history.beside import PROVEN, Batch, Event, Fault, Final, Operation, Record, RowsWriter, read_rows, read_table, write_rows
from harness.history.errors import MalformedFile
from harness.history.schema import Outcome

ROWS = [
    Operation(1, 2, Outcome.INFO, 3, None, 2),
    Final("t", 0, 0, 10, None, 5, 6, 7),
    Batch("n1", "t", 0, 5, 9, 3, 2**32 - 1, -1, -1, -1, 300, 10, None),
    Record("n1", "grüße", 0, 2**62, None),
    Event(None, "n1", "isr-shrunk", "t", 0, 4, '{"isr": [1]}'),
    Event(5, "n1", "controller-changed"),
    Fault(1, "partition", "leaders", ["n1", "n2"], 100, 101, None, '{"lost": 3}', None, PROVEN),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: type(row).__name__)
def test_a_row_comes_back_as_it_was(tmp_path, row):
    write_rows(tmp_path, type(row), [row, row])
    assert read_rows(tmp_path, type(row)) == [row, row]
    assert [path.name for path in tmp_path.iterdir()] == [type(row).FILE]


@pytest.mark.parametrize("kind", [Operation, Final, Batch, Record, Event, Fault])
def test_no_rows_are_a_file_too_and_no_file_is_none(tmp_path, kind):
    assert read_table(tmp_path, kind) is None
    write_rows(tmp_path, kind, [])
    assert read_rows(tmp_path, kind) == []


def test_many_rows_are_written_in_pieces_and_as_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(beside, "PIECE", 10)
    with RowsWriter(tmp_path, Record) as writer:
        for offset in range(25):
            writer.add(Record("n", "t", 0, offset, offset))
        writer.add_columns(
            {"node": ["n"] * 3, "topic": ["t"] * 3, "part": [0] * 3, "offset": [25, 26, 27], "value": pa.array([1, None, 2])}
        )
    assert [record.offset for record in read_rows(tmp_path, Record)] == list(range(28))


def test_what_fails_leaves_no_file(tmp_path):
    with pytest.raises(RuntimeError), RowsWriter(tmp_path, Record) as writer:
        writer.add(Record("n", "t", 0, 1, 1))
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content, why",
    [
        (pa.table({"x": [1]}), "has version None"),
        (beside.schema_of(Event).empty_table(), "has the columns t, node"),
        (None, "cannot be read"),
    ],
)
def test_another_file_under_the_name_is_refused(tmp_path, content, why):
    path = tmp_path / Record.FILE
    if content is None:
        path.write_bytes(b"nothing")
    else:
        pq.write_table(content, path)
    with pytest.raises(MalformedFile, match=rf"records.parquet: {why}"):
        read_table(tmp_path, Record)
