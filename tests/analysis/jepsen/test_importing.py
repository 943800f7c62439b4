import gzip
import pickle
from pathlib import Path
from typing import Any

import pytest

from analysis.jepsen import import_history
from analysis.jepsen.foreign import number_of
from harness.history.beside import Operation, read_rows
from harness.history.errors import MalformedFile
from harness.history.plan import read_plan
from harness.history.readers import open_history
from harness.history.schema import Outcome
from tests.analysis.jepsen.notation import edn_lines, edn_vector, json_lines
from tests.harness.history.rows import rows_of

NOTATIONS = {"edn": edn_lines, "vector.edn": edn_vector, "jsonl": json_lines}


def line(process: Any, type_: str, f: str, value: Any = None, **more: Any) -> dict[str, Any]:
    return {"process": process, "type": type_, "f": f, "value": value, **more}


def pair(process: int, f: str, sent: Any, outcome: str, value: Any = None, **more: Any) -> list[dict[str, Any]]:
    return [line(process, "invoke", f, sent), line(process, outcome, f, value, **more)]


def laid_out(tmp_path: Path, text: str, name: str = "history.jsonl"):
    source = tmp_path / name
    source.write_text(text)
    imported = import_history(source, tmp_path / "run")
    return imported, rows_of(tmp_path / "run")


def rows(tmp_path: Path, ops: list[dict[str, Any]], *columns: str) -> list[tuple]:
    imported, found = laid_out(tmp_path, json_lines(ops))
    assert imported.problems == ()
    return [tuple(row[column] for column in columns) for row in found]


SOME = [
    *pair(0, "assign", ["x", 5], "ok", ["x", 5]),
    *pair(0, "txn", [["send", "x", 1], ["poll"]], "ok", [["send", "x", [10, 1]], ["poll", {"x": [[10, 1], [12, 2]], "5": []}]]),
    line("nemesis", "info", "kill", {"n1": "killed"}),
    *pair(1, "send", [["send", 5, 7]], "info", error=["timeout", 3]),
    line(2, "invoke", "poll", [["poll"]]),
]


@pytest.mark.parametrize("notation", NOTATIONS)
def test_micro_operations_become_rows_in_every_notation(tmp_path, notation):
    imported, found = laid_out(tmp_path, NOTATIONS[notation](SOME), notation)
    assert (imported.rows, imported.operations, imported.found) == (8, 4, 0)
    shown = ("op", "micro", "process", "kind", "f", "outcome", "topic", "part", "value", "offset", "invoked", "completed", "error")
    assert [tuple(row[column] for column in shown) for row in found] == [
        (0, 0, 0, "assign", "keep", "ok", "jepsen/x", 0, None, None, 0, 1, None),
        (0, 1, 0, "assign", "keep", "ok", "jepsen", 5, None, None, 0, 1, None),
        (2, 0, 0, "txn", "send", "ok", "jepsen/x", 0, 1, 10, 2, 3, None),
        (2, 1, 0, "txn", "poll", "ok", "jepsen/x", 0, 1, 10, 2, 3, None),
        (2, 2, 0, "txn", "poll", "ok", "jepsen/x", 0, 2, 12, 2, 3, None),
        (2, 3, 0, "txn", "poll", "ok", "jepsen", 5, None, None, 2, 3, None),
        (5, 0, 1, "send", "send", "info", "jepsen", 5, 7, None, 5, 6, "[timeout 3]"),
        (7, 0, 2, "poll", "poll", "info", None, None, None, None, 7, None, None),
    ]
    assert {row["phase"] for row in found} == {1}


def test_gzipped_files_are_unpacked(tmp_path):
    (tmp_path / "history.edn.gz").write_bytes(gzip.compress(edn_lines(SOME).encode()))
    assert import_history(tmp_path / "history.edn.gz", tmp_path / "run").rows == 8


def test_a_gzipped_file_that_is_cut_off_is_used_as_far_as_it_goes(tmp_path):
    packed = gzip.compress(json_lines(pair(0, "send", [["send", 1, 1]], "ok") * 5000).encode(), 0)
    (tmp_path / "history").write_bytes(packed[: len(packed) // 2])
    imported = import_history(tmp_path / "history", tmp_path / "run")
    assert imported.rows > 1000 and imported.serious >= 1
    assert "cut off" in str(imported.problems[-1])


def test_times_are_kept_and_where_they_are_missing_order_is_time(tmp_path):
    ops = [line(0, "invoke", "poll", [["poll"]], time=500), line(0, "ok", "poll", [["poll", {}]], time=900), *pair(0, "poll", [], "ok", [])]
    assert rows(tmp_path, ops, "op", "invoked", "completed") == [(0, 500, 900), (2, 901, 902)]


def test_an_assignment_drops_what_was_assigned_read_or_sent_to_before(tmp_path):
    ops = [
        *pair(0, "assign", [1, 2], "ok", [1, 2]),
        *pair(0, "poll", [["poll"]], "ok", [["poll", {"3": [[0, 1]]}]]),
        *pair(0, "send", [["send", 4, 9]], "ok", [["send", 4, [0, 9]]]),
        *pair(0, "subscribe", [2], "ok", [2]),
        *pair(0, "assign", [1], "fail", [1]),
        *pair(0, "assign", [], "info", []),
        *pair(1, "assign", [1], "ok", [1]),
    ]
    found = rows(tmp_path, ops, "op", "kind", "f", "outcome", "part")
    assert [row for row in found if row[2] in ("keep", "forget")] == [
        (0, "assign", "keep", "ok", 1), (0, "assign", "keep", "ok", 2),
        (6, "subscribe", "keep", "ok", 2), (6, "subscribe", "forget", "ok", 1), (6, "subscribe", "forget", "ok", 3),
        (6, "subscribe", "forget", "ok", 4),
        (8, "assign", "keep", "fail", 1), (8, "assign", "forget", "fail", 2),
        (10, "assign", "forget", "info", 1), (10, "assign", "forget", "info", 2),
        (12, "assign", "keep", "ok", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(("fs", "assignment"), [(["assign"], "assign"), (["assign", "subscribe"], "subscribe"), ([], None)])
def test_the_plan_says_how_partitions_were_assigned_and_nothing_else(tmp_path, fs, assignment):
    laid_out(tmp_path, json_lines([op for f in fs for op in pair(0, f, [1], "ok", [1])] or SOME[2:4]))
    promises = read_plan(tmp_path / "run").promises
    assert promises.assignment == assignment and promises.acks is None


def test_rebalanced_keys_are_rows_of_the_operation(tmp_path):
    log = [{"keys": [1, "a"]}, {"keys": [1]}]
    ops = [line(0, "invoke", "poll", [["poll"]]), line(0, "ok", "poll", [["poll", {"1": [[0, 5]]}]], **{"rebalance-log": log})]
    assert rows(tmp_path, ops, "micro", "f", "topic", "part") == [
        (0, "poll", "jepsen", 1), (1, "rebalance", "jepsen", 1), (2, "rebalance", "jepsen/a", 0),
    ]  # fmt: skip


@pytest.mark.parametrize("value", [[], [["poll"]], [["poll", {}]], [["poll", None]]])
def test_a_poll_that_returned_nothing_is_a_row_without_a_partition(tmp_path, value):
    assert rows(tmp_path, pair(0, "poll", [["poll"]], "ok", value), "f", "outcome", "topic", "part") == [("poll", "ok", None, None)]
    assert open_history(tmp_path / "run").filled_buckets() == [-1]


def test_a_crash_is_a_row_and_a_look_at_the_partitions_is_none(tmp_path):
    ops = [*pair(0, "debug-topic-partitions", [1], "ok", {"1": "x"}), *pair(0, "crash", None, "info")]
    assert rows(tmp_path, ops, "op", "kind", "f", "outcome") == [(2, "crash", "crash", "info")]


def test_operations_over_several_partitions_are_listed(tmp_path):
    ops = [
        *pair(0, "txn", [["send", 1, 1], ["send", 2, 2]], "info"),
        *pair(1, "txn", [["send", 1, 3], ["send", 1, 4]], "ok"),
        *pair(1, "poll", [["poll"]], "ok", [["poll", {"1": [[0, 3]], "2": [[0, 2]], "3": []}]]),
    ]
    laid_out(tmp_path, json_lines(ops))
    assert read_rows(tmp_path / "run", Operation) == [Operation(0, 0, Outcome.INFO, 0, 1, 2), Operation(4, 1, Outcome.OK, 4, 5, 3)]


def test_values_that_are_no_numbers_become_some_and_the_same_ones_the_same(tmp_path):
    values: list[Any] = ["a", None, 1.5, True, {"x": [1]}, 2**70, -(2**63), 2**63 - 1, -5]
    ops = [op for value in values for op in pair(0, "send", [["send", 1, value]], "ok", [["send", 1, [3, value]]])]
    ops += pair(0, "poll", [["poll"]], "ok", [["poll", {"1": [[3, value] for value in values]}]])
    found = rows(tmp_path, ops, "f", "value")
    sent, polled = ([value for f, value in found if f == name] for name in ("send", "poll"))
    assert sent == polled and len(set(sent)) == len(values)
    assert sent[-2:] == [2**63 - 1, -5]
    assert all(value < -(2**62) for value in sent[:-2])


def test_where_the_peer_fails_rows_are_written(tmp_path):
    """A value nobody sent, huge offsets, a key polled only as empty."""
    ops = pair(0, "poll", [["poll"]], "ok", [["poll", {"1": [[2**62, 99], [2**63 - 1, 98]], "2": []}]])
    assert rows(tmp_path, ops, "part", "offset", "value") == [(1, 2**62, 99), (1, 2**63 - 1, 98), (2, None, None)]


def test_a_long_history_has_several_files(tmp_path):
    ops = [op for number in range(300) for op in pair(number % 3, "send", [["send", number % 7, number]], "ok", None)]
    (tmp_path / "history").write_text(json_lines(ops))
    imported = import_history(tmp_path / "history", tmp_path / "run", rows_a_piece=100)
    history = open_history(tmp_path / "run")
    assert (imported.rows, history.rows, len(history.files)) == (300, 300, 3)
    assert sorted(row["value"] for row in rows_of(tmp_path / "run")) == list(range(300))


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ('{"process": 9, "type": "ok"', "is not JSON: Expecting ',' delimiter"),
        ("[1]", "is not an operation: no map"),
        ('{"type": "ok"}', "is not an operation: it has no process"),
        ('{"process": 9, "f": "poll"}', "is not an operation: it has no type"),
        ('{"process": 9, "type": "okay", "f": "poll"}', "has the type `okay`; there is: invoke, ok, fail, info"),
        ('{"process": 9, "type": "ok", "f": "poll", "value": [], "time": "now"}', "has a time that is no whole number of nanosec"),
        ('{"process": 4294967296, "type": "ok", "f": "poll"}', "has the process 4294967296"),
        ('{"process": 9, "type": "ok", "f": "poll", "value": []}', "process 9 completes `poll` that nothing invoked"),
        ('{"process": 0, "type": "invoke", "f": "poll"}', "process 0 begins before its operation of line 1 has ended"),
        ('{"process": 0, "type": "ok", "f": "txn", "value": []}', "process 0 completes `txn`, but it had invoked `poll` in line 1"),
        ('{"process": 0, "type": "ok", "f": "poll", "time": -5}', "process 0 completes 5 ns before it began in line 1"),
        ('{"process": 0, "type": "ok", "f": "poll", "value": 3}', "has `3` where a list belongs"),
        ('{"process": 0, "type": "ok", "f": "poll", "value": [["send", 1, 2]]}', "has the micro-operation `[send 1 2]`"),
        ('{"process": 0, "type": "ok", "f": "poll", "value": [["poll", [1]]]}', "has `[1]` where a map belongs"),
        ('{"process": 0, "type": "ok", "f": "poll", "value": [["poll", {"1": [[1]]}]]}', "has the polled message `[1]`"),
        ('{"process": 0, "type": "ok", "f": "poll", "value": [["poll", {"1": [[-1, 2]]}]]}', "has the offset `-1`"),
        ('{"process": 0, "type": "ok", "f": "poll", "value": [], "rebalance-log": 3}', "has `3` where a list belongs"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_file_and_line_and_the_rest_is_used(tmp_path, bad, why):
    first = '{"process": 0, "type": "invoke", "f": "poll", "value": [["poll"]], "time": 0}\n'
    last = json_lines(pair(7, "send", [["send", 1, 77]], "ok"))
    imported, found = laid_out(tmp_path, f"{first}{bad}\n\n{last}")
    (problem,) = imported.problems
    assert str(problem).startswith(f"{tmp_path / 'history.jsonl'}, line 2: {why}")
    assert imported.serious == 1
    assert [row["value"] for row in found if row["process"] == 7] == [77]


@pytest.mark.parametrize(("value", "serious"), [(None, 0), ({"a": 1}, 0), ([["send", 1, 2]], 1)])
def test_what_is_not_known_is_left_out_and_harmless_unless_messages_are_in_it(tmp_path, value, serious):
    imported, found = laid_out(tmp_path, json_lines(pair(0, "dance", value, "ok")))
    assert found == [] and imported.serious == serious
    assert [str(problem).endswith("line 2: `dance` is unknown and left out") for problem in imported.problems] == [True]


def test_an_edn_history_cut_off_in_the_middle_keeps_what_came_before(tmp_path):
    text = edn_vector(SOME)
    imported, found = laid_out(tmp_path, text[: text.index("timeout")], "history.edn")
    assert imported.serious == 2
    assert "cut off" in str(imported.problems[0])
    assert len(found) == 7 and found[-1]["outcome"] == "info"


def test_problems_are_counted_beyond_those_kept(tmp_path):
    imported, _ = laid_out(tmp_path, '{"process": 0}\n' * 250)
    assert (imported.found, imported.serious, len(imported.problems)) == (250, 250, 100)


@pytest.mark.parametrize("shares", [2, 3])
def test_several_tasks_lay_out_what_one_would(tmp_path, shares):
    ops = [op for n in range(40) for op in pair(n % 5, "txn", [["send", n % 7, n]], "ok", [["send", n % 7, [n, n]], ["send", 9, [n, n]]])]
    ops = [line("nemesis", "info", "kill"), *ops[:7], line(4, "ok", "dance"), *ops[7:], *SOME]
    (tmp_path / "history").write_text(json_lines(ops).replace("kill", "k\\u0069ll") + "broken\n")
    one = import_history(tmp_path / "history", tmp_path / "one")
    several = import_history(tmp_path / "history", tmp_path / "several", shares=shares)
    assert one == several and (one.found, one.serious) == (3, 2)
    assert rows_of(tmp_path / "one") == rows_of(tmp_path / "several")
    assert len(open_history(tmp_path / "several").files) == shares
    listed = [sorted(read_rows(tmp_path / name, Operation), key=lambda row: row.op) for name in ("one", "several")]
    assert listed[0] == listed[1] and len(listed[0]) == 41
    assert [path.name for path in sorted((tmp_path / "several").iterdir())] == ["history", "ops.parquet", "plan.json"]


def test_a_task_may_be_tried_again_and_sent_to_another_process(tmp_path):
    def twice(shares, task):
        copies = [pickle.loads(pickle.dumps(task)) for _ in range(2)]
        return [[copy(share) for copy in copies][-1] for share in shares]

    (tmp_path / "history").write_text(json_lines(SOME))
    assert import_history(tmp_path / "history", tmp_path / "run", shares=2, run=twice).rows == 8
    assert open_history(tmp_path / "run").rows == 8


def test_a_file_whose_checksum_is_wrong_is_refused_by_name_whoever_reads_it(tmp_path):
    packed = bytearray(gzip.compress(json_lines(SOME * 500).encode()))
    packed[-8] ^= 0xFF
    (tmp_path / "history").write_bytes(packed)
    with pytest.raises(MalformedFile, match="history: cannot be unpacked"):
        import_history(tmp_path / "history", tmp_path / "run", shares=2)


def test_edn_is_laid_out_by_one_task(tmp_path):
    (tmp_path / "history").write_text(edn_lines(SOME))
    import_history(tmp_path / "history", tmp_path / "run", shares=3)
    assert len(open_history(tmp_path / "run").files) == 1


@pytest.mark.parametrize("text", ["", "\n", "[]", "; nothing\n"])
def test_an_empty_history_has_no_rows(tmp_path, text):
    imported, found = laid_out(tmp_path, text)
    assert (imported.rows, imported.found, found) == (0, 0, [])


@pytest.mark.parametrize("content", [b"hello", b"PAR1....", b"\x1f\x8bnot gzip", gzip.compress(b"{", mtime=0)[:10] + b"spoilt", b"<html>"])
def test_what_is_no_history_is_refused_and_nothing_is_written(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(MalformedFile) as refused:
        import_history(tmp_path / "file", tmp_path / "run")
    assert str(refused.value).startswith(f"{tmp_path / 'file'}: ")
    assert not (tmp_path / "run").exists()


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(MalformedFile, match="No such file"):
        import_history(tmp_path / "none", tmp_path / "run")


def test_numbers_for_texts_are_the_same_for_ever():
    assert number_of("a") == -9153392273446780368
