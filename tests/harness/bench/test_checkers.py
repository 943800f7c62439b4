"""The checkers that ours is held against find what they should; how fast they are is not asked here."""

import pytest

from analysis.families import CORE
from analysis.synth import INJECTIONS, synthesise
from harness.bench.checkers import duckdb_sql, python_loop, read_floor

CHECKERS = {"DuckDB": duckdb_sql.check, "a loop in Python": python_loop.check}


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("count", [0, 1, 2])
def test_each_finds_what_was_injected(tmp_path, checker, count):
    plan = synthesise(tmp_path / "run", 40_000, dict.fromkeys(INJECTIONS, count), 5, partitions=3, hot=0.6)
    truth = plan.truth()
    assert dict(CHECKERS[checker](tmp_path / "run")) == {name: truth[name] for name in CORE}


def test_duckdb_takes_a_limit_on_its_memory(tmp_path):
    plan = synthesise(tmp_path / "run", 24_000, {"lost": 1}, 5, partitions=3)
    assert duckdb_sql.check(tmp_path / "run", memory_mb=1024)["lost"] == plan.truth()["lost"]


def test_reading_counts_nothing(tmp_path):
    synthesise(tmp_path / "run", 1_000, {}, 5, partitions=2)
    assert read_floor.read(tmp_path / "run") == {}
