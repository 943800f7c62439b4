"""A verdict without Spark, from what the second checker found."""

import pytest

from analysis.by_reference import judge_by_reference
from tests.analysis.generated import injected, sound


def test_a_sound_history_is_not_accused(tmp_path):
    sound(7, 60, 2).write(tmp_path)
    verdict = judge_by_reference(tmp_path)
    assert verdict.valid is not False
    assert verdict.metrics["sends"] > 0
    assert verdict.checked_by == ("reference",)


@pytest.mark.parametrize("anomaly", ["phantom", "duplicate"])
def test_what_is_in_a_history_is_named_with_its_count(tmp_path, anomaly):
    injected(7, {anomaly: 2}, 60, 2).write(tmp_path)
    found = judge_by_reference(tmp_path).anomalies
    assert found[anomaly].count == 2
    assert found[anomaly].witnesses
