"""What truth.json says is what both checkers find: for every kind alone, for all together, and for none."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from analysis import reference
from analysis.anomalies import ANOMALIES
from analysis.synth import INJECTIONS, TRUTH_FILE, synthesise
from tests.analysis import single_process


def found(run: Path) -> dict[str, int]:
    """By the second checker, with which ours agrees."""
    instances, findings = reference.check(run), single_process.check(run)
    ours = {name: findings[name].count if name in findings else 0 for name in ANOMALIES}
    assert ours == {name: len(instances.get(name, ())) for name in ANOMALIES}
    return ours


def truth(run: Path, rows: int, inject: Mapping[str, int], seed: int = 3, **more) -> dict[str, int]:
    synthesise(run, rows, inject, seed, **more)
    told: dict[str, int] = json.loads((run / TRUTH_FILE).read_text())["anomalies"]
    return told


@pytest.mark.parametrize("kind", INJECTIONS)
def test_each_kind_alone_is_what_is_found(tmp_path, kind):
    expected = truth(tmp_path / "run", 4_000, {kind: 2}, partitions=1)
    assert expected[kind] >= 2
    assert found(tmp_path / "run") == expected


def test_a_clean_history_has_nothing(tmp_path):
    expected = truth(tmp_path / "run", 6_000, {}, partitions=3)
    assert set(expected.values()) == {0}
    assert found(tmp_path / "run") == expected


def test_all_kinds_together_in_a_skewed_history(tmp_path):
    expected = truth(tmp_path / "run", 20_000, dict.fromkeys(INJECTIONS, 1), partitions=3, hot=0.8)
    assert found(tmp_path / "run") == expected


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_many_of_all_kinds_side_by_side(tmp_path, seed):
    expected = truth(tmp_path / "run", 80_000, dict.fromkeys(INJECTIONS, 5), seed, partitions=2)
    assert found(tmp_path / "run") == expected
