"""The kernels find in every hand-made history what is there, and nothing else."""

import pytest

from analysis.anomalies import ANOMALIES
from analysis.context import Rules
from analysis.findings import SHOWN
from tests.analysis.corpus import ALL
from tests.analysis.corpus.story import BOTH
from tests.analysis.single_process import check


@pytest.mark.parametrize("rules", BOTH)
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_exactly_what_is_there_is_found(case, rules: Rules, tmp_path):
    story = case.tell()
    story.write(tmp_path / "run")
    found = check(tmp_path / "run", rules)
    expected = story.expected[rules]
    assert {name: finding.count for name, finding in found.items()} == {name: len(each) for name, each in expected.found.items()}
    for name, finding in found.items():
        shown = _instances(finding.witnesses, name)
        assert len(shown) == min(finding.count, SHOWN) and shown <= expected.found[name]
    doubtful = {name: _instances([one for one in finding.witnesses if one.doubtful], name) for name, finding in found.items()}
    assert {name: instances for name, instances in doubtful.items() if instances} == expected.doubtful


def _instances(witnesses, name):
    where = [(None, None) if ANOMALIES[name].across else (one.topic, one.part) for one in witnesses]
    return {place + one.identity for place, one in zip(where, witnesses, strict=True)}
