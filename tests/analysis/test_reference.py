"""The second checker against every hand-made history, by both sets of rules."""

import pytest

from analysis.anomalies import ANOMALIES
from analysis.reference import check
from tests.analysis.corpus import ALL, Case


@pytest.mark.parametrize("case", ALL, ids=str)
def test_it_finds_in_a_hand_made_history_what_is_in_it_and_nothing_else(case: Case, tmp_path):
    expected = case.write(tmp_path)
    for rules, wanted in expected.items():
        found = check(tmp_path, rules)
        assert (rules, dict(found)) == (rules, wanted.found)
        assert (rules, found.doubtful) == (rules, wanted.doubtful)


@pytest.mark.parametrize("name", ANOMALIES)
def test_every_anomaly_has_three_histories_and_three_twins(name: str):
    assert sum(case.anomaly == name and case.has for case in ALL) >= 3
    assert sum(case.anomaly == name and not case.has for case in ALL) >= 3
