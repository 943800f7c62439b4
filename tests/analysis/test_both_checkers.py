"""Histories in which anything may have happened. What they show is hard to say, but two checkers that share no code must say the same."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from analysis import reference
from tests.analysis.corpus.story import FAIL, INFO, OK, Story
from tests.analysis.single_process import check

VALUES = st.integers(100, 108)
OFFSETS = st.integers(0, 8)
OUTCOMES = st.sampled_from((OK, OK, OK, INFO, FAIL))
SENDS = st.lists(st.tuples(st.integers(1, 3), OUTCOMES, st.one_of(st.none(), OFFSETS), st.integers(0, 1)), max_size=9)
POLLS = st.lists(st.tuples(st.integers(4, 5), OUTCOMES, st.lists(st.tuples(OFFSETS, VALUES), min_size=1, max_size=4)), max_size=5)
FINAL = st.one_of(st.none(), st.lists(st.tuples(OFFSETS, VALUES), max_size=8))


@given(
    st.permutations(range(100, 109)),
    SENDS,
    POLLS,
    FINAL,
    st.sampled_from((0, 7, 2**33, 2**62)),
    st.sampled_from((1, 2**40)),
    st.sampled_from(("highwater", "jepsen")),
)
def test_two_checkers_agree_on_whatever_happened(values, sends, polls, final, base, stride, rules):
    story = Story()
    at = [base + offset * stride for offset in range(9)]
    for value, (process, outcome, offset, key) in zip(values, sends, strict=False):
        story.send(process, value, None if offset is None else at[offset], outcome, key=key)
    for process, outcome, messages in polls:
        story.poll(process, *((at[offset], value) for offset, value in messages), outcome=outcome)
    if final is not None:
        story.final_read(*((at[offset], value) for offset, value in final))
    with TemporaryDirectory() as folder:
        story.write(Path(folder))
        ours, theirs = check(Path(folder), rules), reference.check(Path(folder), rules)
    assert {name: one.count for name, one in ours.items()} == {name: len(each) for name, each in theirs.items() if each}
    assert {name: one.doubtful for name, one in ours.items() if one.doubtful} == {name: len(each) for name, each in theirs.doubtful.items()}
