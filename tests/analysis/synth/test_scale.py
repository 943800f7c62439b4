"""Written by Spark's tasks and checked by them: what was injected is found, and nothing else, however many rows there are."""

import pytest

from analysis.anomalies import ANOMALIES
from analysis.checking import check_history
from analysis.judging import Question, context_for
from analysis.material import read_material
from analysis.spark import SparkOptions, open_spark
from analysis.synth import INJECTIONS, synthesise

SEVENTEEN = {
    "lost": 3, "duplicate": 2, "G1a": 2, "phantom": 2, "read-conflict": 2, "ack-conflict": 1, "reordered": 2, "poll-skip": 1, "corrupt": 2,
}  # fmt: skip


def expected_and_found(run, rows, inject, memory_mb=None, **more):
    with open_spark(SparkOptions(memory_mb=memory_mb)) as spark:

        def each(task, numbers):
            spark.run(numbers, task)

        plan = synthesise(run, rows, inject, 17, each=each, **more)
        material = read_material(run)
        assert material.history.rows == rows
        checked = check_history(spark, material, context_for(material, Question()))
    assert checked.problems == ()
    counts = {name: checked.findings[name].count if name in checked.findings else 0 for name in ANOMALIES}
    return plan.truth(), counts, checked.unjudged


def test_a_history_of_several_files_has_what_was_injected(tmp_path):
    more = {"partitions": 8, "rows_a_file": 50_000}
    expected, found, unjudged = expected_and_found(tmp_path / "run", 120_000, dict.fromkeys(INJECTIONS, 1), **more)
    assert found == expected and unjudged == ()


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("memory_mb", [8 * 1024, 2 * 1024])
def test_a_hundred_million_rows_have_the_seventeen_anomalies_injected_and_no_other(tmp_path, memory_mb):
    assert (sum(SEVENTEEN.values()), len(SEVENTEEN)) == (17, 9)
    expected, found, unjudged = expected_and_found(tmp_path / "run", 100_000_000, SEVENTEEN, memory_mb)
    assert found == expected and unjudged == ()


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_ninety_of_a_hundred_million_rows_in_one_partition_are_checked_in_pieces_and_nothing_is_left_out(tmp_path):
    expected, found, unjudged = expected_and_found(tmp_path / "run", 100_000_000, SEVENTEEN, 4 * 1024, hot=0.9)
    assert found == expected and unjudged == ()
