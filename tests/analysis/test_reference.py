"""The second checker against every hand-made history, by both sets of rules."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.anomalies import ANOMALIES
from analysis.reference import Found, check
from tests.analysis.corpus import ALL, Case
from tests.analysis.corpus.story import Rules, Story
from tests.analysis.generated import INJECTIONS, injected, sound


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


SEEDS = st.integers(0, 2**32)
FEWER = settings(max_examples=settings().max_examples // 2)


def checked(story: Story, rules: Rules = "highwater") -> Found:
    with TemporaryDirectory() as folder:
        story.write(Path(folder))
        return check(Path(folder), rules)


@FEWER
@given(SEEDS, st.integers(1, 120), st.integers(1, 3), st.sampled_from(("highwater", "jepsen")))
def test_it_finds_nothing_in_what_a_sound_cluster_and_its_clients_do(seed, steps, parts, rules):
    assert checked(sound(seed, steps, parts), rules) == {}


@FEWER
@given(
    SEEDS,
    st.dictionaries(st.sampled_from(sorted(INJECTIONS)), st.integers(1, 3), min_size=1),
    st.integers(0, 60),
    st.integers(1, 3),
)
def test_it_finds_exactly_what_was_put_into_a_sound_history(seed, kinds, steps, parts):
    story = injected(seed, kinds, steps, parts)
    wanted = story.expected["highwater"]
    found = checked(story)
    assert dict(found) == wanted.found
    assert found.doubtful == wanted.doubtful
    assert all(len(found[name]) >= count for name, count in kinds.items())
