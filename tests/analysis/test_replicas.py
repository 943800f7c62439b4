import pyarrow as pa  # type: ignore[import-untyped]

from analysis.anomalies import METADATA_TOPIC
from analysis.context import Context, FinalRead
from analysis.dumps import dumps_of
from analysis.families import find
from analysis.findings import merge
from analysis.partition import empty_partition
from harness.history.beside import Batch, Record, schema_of
from tests.analysis.hand_made import identities, sentence


def batches(*rows: tuple[str, str, int, int, int, int, int, int | None]) -> pa.Table:
    """Node, topic, partition, base, last, epoch, crc, high watermark."""
    columns = ("node", "topic", "part", "base_offset", "last_offset", "leader_epoch", "crc", "high_watermark")
    rest = dict.fromkeys(("producer_id", "producer_epoch", "sequence", "bytes", "log_end"), 0)
    return pa.Table.from_pylist([{**dict(zip(columns, row, strict=True)), **rest} for row in rows], schema_of(Batch))


def diverged(table: pa.Table, topic: str = "t", part: int = 0, final: FinalRead | None = None):
    context = Context(final=final, dumps=dumps_of(None, table)[topic, part])
    return merge(find(empty_partition(topic, part), context))


def test_replicas_that_differ_below_their_high_watermarks_are_told_one_by_one():
    found = diverged(
        batches(
            ("n2", "t", 0, 5, 9, 1, 333, 10),
            ("n1", "t", 0, 0, 4, 1, 111, 10),
            ("n1", "t", 0, 5, 9, 1, 222, 10),
            ("n2", "t", 0, 0, 4, 1, 111, 10),
            ("n3", "t", 0, 0, 4, 1, 111, 12),
        )
    )
    assert sentence(found, "replica-divergence") == (
        "The logs of t-0 differ at offset 5: n1 has a batch up to offset 9 of epoch 1 with checksum 222, "
        "n2 has a batch up to offset 9 of epoch 1 with checksum 333 and n3 has no batch that begins there."
    )


def test_what_lies_above_the_smallest_high_watermark_or_before_the_log_start_is_not_compared():
    table = batches(("n1", "t", 0, 0, 4, 1, 1, 5), ("n2", "t", 0, 5, 9, 1, 2, 10))
    assert identities(diverged(table), "replica-divergence") == [(0,)]
    assert diverged(table, final=FinalRead(True, 3, 10, 9, 0)) == {}


def test_the_end_of_the_final_read_stands_for_high_watermarks_that_nobody_told():
    table = batches(("n1", "t", 0, 0, 4, 1, 1, None), ("n2", "t", 0, 0, 4, 1, 2, None))
    assert diverged(table) == {}
    assert identities(diverged(table, final=FinalRead(True, 0, 1, 0, 0)), "replica-divergence") == [(0,)]


def test_the_controllers_logs_are_compared_from_the_youngest_snapshot_on():
    table = batches(
        ("c1", METADATA_TOPIC, 0, 1, 1, 1, 1, 9), ("c1", METADATA_TOPIC, 0, 2, 2, 1, 1, 9), ("c2", METADATA_TOPIC, 0, 2, 2, 1, 7, 9)
    )
    assert identities(diverged(table, METADATA_TOPIC), "metadata-divergence") == [(2,)]


def test_dumps_are_cut_by_partition_with_one_numbering_of_the_nodes():
    records = pa.Table.from_pylist(
        [
            {"node": node, "topic": topic, "part": part, "offset": 7, "value": value}
            for node, topic, part, value in (("b", "t", 1, 71), ("a", "t", 1, 72), ("b", "s", 0, 73))
        ],
        schema_of(Record),
    )
    found = dumps_of(records, batches(("c", "t", 1, 0, 0, 1, 1, 1)))
    assert list(found) == [("s", 0), ("t", 1)]
    dumped = found["t", 1]
    assert dumped.nodes == ("a", "b", "c")
    by_node = dict(zip(dumped.records["node"].tolist(), dumped.records["value"].tolist(), strict=True))
    assert by_node == {0: 72, 1: 71} and dumped.batches["node"].tolist() == [2]
