"""The kernels find in every hand-made history what is there, and nothing else."""

import pytest

from analysis.anomalies import ANOMALIES
from analysis.findings import SHOWN
from tests.analysis.corpus import ALL
from tests.analysis.single_process import check


@pytest.mark.parametrize("case", ALL, ids=str)
def test_exactly_what_is_there_is_found_by_either_rules(case, tmp_path):
    for rules, expected in case.write(tmp_path / "run").items():
        found = check(tmp_path / "run", rules)
        assert {name: finding.count for name, finding in found.items()} == {name: len(each) for name, each in expected.found.items()}, rules
        for name, finding in found.items():
            shown = _instances(finding.witnesses, name)
            assert len(shown) == min(finding.count, SHOWN) and shown <= expected.found[name], rules
        doubtful = {name: _instances([one for one in finding.witnesses if one.doubtful], name) for name, finding in found.items()}
        assert {name: instances for name, instances in doubtful.items() if instances} == expected.doubtful, rules


def _instances(witnesses, name):
    where = [(None, None) if ANOMALIES[name].across else (one.topic, one.part) for one in witnesses]
    return {place + one.identity for place, one in zip(where, witnesses, strict=True)}
