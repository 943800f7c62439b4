"""The kernels find in every hand-made and every generated history what is there, and nothing else."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.anomalies import ANOMALIES
from analysis.findings import SHOWN
from tests.analysis.corpus import ALL
from tests.analysis.generated import INJECTIONS, injected, sound
from tests.analysis.single_process import check

SEEDS = st.integers(0, 2**32)
FEWER = settings(max_examples=settings().max_examples // 2)


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


@FEWER
@given(SEEDS, st.integers(1, 120), st.integers(1, 3), st.sampled_from(("highwater", "jepsen")))
def test_nothing_is_found_in_what_a_sound_cluster_and_its_clients_do(seed, steps, parts, rules):
    with TemporaryDirectory() as folder:
        sound(seed, steps, parts).write(Path(folder))
        assert check(Path(folder), rules) == {}


@FEWER
@given(
    SEEDS,
    st.dictionaries(st.sampled_from(sorted(INJECTIONS)), st.integers(1, 3), min_size=1),
    st.integers(0, 60),
    st.integers(1, 3),
)
def test_exactly_what_was_put_into_a_sound_history_is_found(seed, kinds, steps, parts):
    story = injected(seed, kinds, steps, parts)
    wanted = story.expected["highwater"].found
    with TemporaryDirectory() as folder:
        story.write(Path(folder))
        found = check(Path(folder))
    assert {name: finding.count for name, finding in found.items()} == {name: len(each) for name, each in wanted.items()}
    assert all(_instances(finding.witnesses, name) <= wanted[name] for name, finding in found.items())


def _instances(witnesses, name):
    where = [(None, None) if ANOMALIES[name].across else (one.topic, one.part) for one in witnesses]
    return {place + one.identity for place, one in zip(where, witnesses, strict=True)}
