import sys

import pytest

from analysis.synth import synthesise
from harness.bench.checkers.passes import Pass
from harness.bench.timed_checkers import Timed, time_checker, time_program
from harness.errors import EnvironmentFault


def program(text: str) -> list[str]:
    return [sys.executable, "-c", f"from harness.bench.checkers.passes import *\n{text}"]


def test_what_a_program_tells_is_kept_in_its_order():
    text = "tell(Pass('core', 5.0, {'lost': 1}))\ntell(Pass('core', 2.0, {'lost': 1}))\ntell(Pass('all', 3.0, {'unseen': 2}))"
    timed = time_program("it", program(text), 10)
    assert timed.passes == (Pass("core", 5.0, {"lost": 1}), Pass("core", 2.0, {"lost": 1}), Pass("all", 3.0, {"unseen": 2}))
    assert timed.cold_s > 0 and timed.peak_bytes >= 0


def test_a_program_that_fails_is_named_with_its_last_words():
    with pytest.raises(EnvironmentFault, match="the checker it did not finish on 10 rows: ValueError: no good"):
        time_program("it", program("raise ValueError('no good')"), 10)


def test_a_program_that_says_nothing_has_failed():
    with pytest.raises(EnvironmentFault, match="did not finish"):
        time_program("it", program(""), 10)


def test_the_first_pass_is_not_warm():
    core = [Pass("core", seconds, {}) for seconds in (9.0, 1.0, 2.0, 7.0)]
    timed = Timed("it", 10, 12.0, (*core, Pass("all", 4.0, {})), 0)
    assert (timed.warm_s("core"), timed.warm_s("all")) == (2.0, 4.0)


def test_a_count_that_is_not_the_truth_is_a_sentence():
    timed = Timed("it", 1000, 1.0, (Pass("core", 1.0, {"lost": 3, "phantom": 0}),), 0)
    assert timed.wrong({"lost": 2, "phantom": 0}) == ["it, 1,000 rows, core: 3 lost instead of 2"]


def test_a_checker_runs_as_a_program_of_its_own(tmp_path):
    plan = synthesise(tmp_path / "run", 20_000, {"lost": 2}, 5, partitions=3)
    timed = time_checker("duckdb_sql", tmp_path / "run", 20_000, 2)
    assert [one.name for one in timed.passes] == ["core", "core"]
    assert timed.wrong(plan.truth()) == [] and timed.passes[0].counts["lost"] == 2
