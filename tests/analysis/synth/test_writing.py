import json
import pickle
from collections import Counter
from dataclasses import replace

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from analysis.synth import INJECTIONS, TRUTH_FILE, SynthesisError, synthesise
from analysis.synth.plan import plan_history
from analysis.synth.writing import WriteFile
from harness.history.beside import Final, read_rows
from harness.history.buckets import bucket_of
from harness.history.files import history_directory
from harness.history.plan import read_plan
from harness.history.readers import open_history
from tests.harness.history.rows import named_rows, rows_of

ONE_OF_EACH = dict.fromkeys(INJECTIONS, 1)


@pytest.mark.parametrize("rows", [4, 7, 1_003, 40_000])
def test_a_history_has_exactly_the_rows_asked_for(tmp_path, rows):
    inject = ONE_OF_EACH if rows == 40_000 else {}
    synthesise(tmp_path / "out", rows, inject, 5, partitions=2)
    history = open_history(tmp_path / "out")
    assert history.rows == rows == history.read_all(["op"]).num_rows


def test_every_micro_operation_appears_once_and_values_are_sent_once(tmp_path):
    synthesise(tmp_path / "out", 40_000, ONE_OF_EACH, 5, partitions=3)
    rows = rows_of(tmp_path / "out")
    assert max(Counter((row["op"], row["micro"]) for row in rows).values()) == 1
    sent = [row["value"] for row in rows if row["f"] == "send"]
    assert len(sent) == len(set(sent))


def test_one_send_in_twenty_is_info_and_some_of_those_landed(tmp_path):
    synthesise(tmp_path / "out", 30_000, {}, 5, partitions=2)
    rows = rows_of(tmp_path / "out")
    sends = [row for row in rows if row["f"] == "send"]
    unsure = {row["value"] for row in sends if row["outcome"] == "info"}
    assert len(unsure) / len(sends) == pytest.approx(1 / 20, rel=0.02)
    read = {row["value"] for row in rows if row["f"] == "poll"}
    assert 0.3 < len(unsure & read) / len(unsure) < 0.5


def test_a_row_is_in_the_bucket_of_its_partition(tmp_path):
    synthesise(tmp_path / "out", 8_000, {}, 5, partitions=9)
    history = open_history(tmp_path / "out")
    for bucket in history.filled_buckets():
        rows = history.read(bucket, ["topic", "part"]).to_pylist()
        names = [None if row["topic"] is None else history.names["topic"][row["topic"]] for row in rows]
        assert {bucket_of(name, row["part"]) for name, row in zip(names, rows, strict=True)} == {bucket}


def test_the_same_seed_gives_the_same_history_and_another_another(tmp_path):
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        synthesise(tmp_path / name, 20_000, {"lost": 2, "duplicate": 1}, seed, partitions=3)
    assert rows_of(tmp_path / "a") == rows_of(tmp_path / "b") != rows_of(tmp_path / "c")


def test_the_number_of_files_changes_nothing_but_the_files(tmp_path):
    plan = plan_history(40_000, ONE_OF_EACH, 5, partitions=3)
    for name, files in (("one", 1), ("many", 7)):
        history_directory(tmp_path / name).mkdir(parents=True)
        for file in range(files):
            WriteFile(replace(plan, files=files), tmp_path / name)(file)
    one, many = (open_history(tmp_path / name) for name in ("one", "many"))
    assert (len(one.files), len(many.files)) == (1, 7)
    assert named_rows(one) == named_rows(many)


def test_tasks_may_run_in_any_order_and_twice(tmp_path):
    def backwards_twice(task, numbers):
        for number in [*reversed(numbers), *numbers]:
            task(number)

    synthesise(tmp_path / "a", 20_000, {"phantom": 1}, 5, partitions=3, each=backwards_twice)
    synthesise(tmp_path / "b", 20_000, {"phantom": 1}, 5, partitions=3)
    assert rows_of(tmp_path / "a") == rows_of(tmp_path / "b")


def test_a_task_may_be_sent_to_another_process(tmp_path):
    plan = plan_history(20_000, {"lost": 1}, 5, partitions=3)
    history_directory(tmp_path / "run").mkdir(parents=True)
    pickle.loads(pickle.dumps(WriteFile(plan, tmp_path / "run")))(0)
    assert open_history(tmp_path / "run").rows == 20_000


def test_finals_say_that_every_partition_was_read_to_its_end(tmp_path):
    synthesise(tmp_path / "out", 5_000, {}, 5, partitions=7)
    rows = rows_of(tmp_path / "out")
    for final in read_rows(tmp_path / "out", Final):
        read = [row for row in rows if row["part"] == final.part and row["phase"] == 2 and row["f"] == "poll"]
        assert {row["process"] for row in read} == {final.process}
        assert max(row["offset"] for row in read) == final.last_read == final.end - 1
        assert final.completed is not None and max(row["completed"] for row in read) <= final.completed
        assert max(row["completed"] or 0 for row in rows if row["phase"] == 1) < final.invoked


def test_plan_and_truth_lie_beside_the_history(tmp_path):
    plan = synthesise(tmp_path / "out", 20_000, {"lost": 2}, 5, partitions=3)
    assert read_plan(tmp_path / "out").promises.acks == "all"
    truth = json.loads((tmp_path / "out" / TRUTH_FILE).read_text())
    assert truth["injected"] == {"lost": 2} and truth["anomalies"] == plan.truth() and len(truth["sites"]) == 2


def test_a_file_has_one_row_group_a_bucket(tmp_path):
    synthesise(tmp_path / "out", 20_000, {}, 5, partitions=40)
    for file in open_history(tmp_path / "out").files:
        assert pq.read_metadata(file.path).num_row_groups == len(set(file.row_groups))


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("")
    with pytest.raises(SynthesisError, match="not empty"):
        synthesise(tmp_path, 1_000, {}, 5, partitions=2)
