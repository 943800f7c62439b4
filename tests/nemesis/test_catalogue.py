"""The catalogue grants what it lists and tells what it cannot grant."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nemesis.catalogue import CATALOGUE, Choice, FaultSpec, Number, mistakes_in, possible_variants
from nemesis.targets import ROLES

EVERY_PARAMETER = [(k, v, p) for k in CATALOGUE.values() for v in k.variants for p in v.parameters]


def told(spec, nodes=5):
    return [(".".join(mistake.field), mistake.text) for mistake in mistakes_in(spec, nodes)]


def test_every_fault_of_this_stage_is_listed():
    assert list(CATALOGUE) == ["partition", "kill", "stop", "rolling-restart", "pause", "clock", "torn-tail", "deleted-index"]
    assert [variant.name for variant in CATALOGUE["clock"].variants] == ["bump", "strobe", "drift", "reset"]
    assert {variant.name for variant in CATALOGUE["partition"].variants} == {
        "halves", "one", "majorities-ring", "bridge", "one-way", "leader-from-isr", "clients-from-leader",
    }  # fmt: skip


@pytest.mark.parametrize("kind", CATALOGUE.values(), ids=lambda kind: kind.name)
def test_every_fault_says_what_it_does_needs_and_is_proven_by(kind):
    assert kind.about and kind.needs and kind.proof and kind.healing and kind.variants
    assert all(set(variant.targets) <= set(ROLES) and variant.targets for variant in kind.variants)


@pytest.mark.parametrize("kind", CATALOGUE.values(), ids=lambda kind: kind.name)
def test_every_variant_can_be_asked_for_with_every_target_it_lists(kind):
    for variant in kind.variants:
        for target in variant.targets:
            assert told(FaultSpec(kind.name, variant.name or None, target)) == []


@given(st.sampled_from(EVERY_PARAMETER), st.integers())
def test_what_is_drawn_for_a_parameter_is_allowed(place, seed):
    parameter = place[2]
    assert parameter.admits(parameter.draw(random.Random(seed)))


def test_bumps_are_log_uniform_and_go_both_ways():
    offset: Any = CATALOGUE["clock"].variants[0].parameter("offset")
    drawn = [offset.draw(random.Random(seed)) for seed in range(1000)]
    assert min(map(abs, drawn)) >= 0.011 and max(map(abs, drawn)) <= 288
    assert 400 < sum(value > 0 for value in drawn) < 600
    assert 400 < sum(abs(value) < (0.011 * 288) ** 0.5 for value in drawn) < 600


def test_a_strobe_is_no_faster_than_two_seconds():
    assert told(FaultSpec("clock", "strobe", parameters={"period": 1.9})) == [
        ("parameters.period", "1.9 is not allowed; allowed: a number from 2 to 60 (s)")
    ]


@pytest.mark.parametrize(
    "spec, field, text",
    [
        (FaultSpec("kil"), "kind", "did you mean `kill`?"),
        (FaultSpec("partition", "half"), "variant", "did you mean `halves`? allowed: halves, one,"),
        (FaultSpec("kill", "hard"), "variant", "it has none"),
        (FaultSpec("partition", "majorities-ring"), "variant", "needs 4 nodes or more, there are 3"),
        (FaultSpec("kill", target="n1+"), "target", "is no target; allowed: one, minority,"),
        (FaultSpec("partition", "majorities-ring", "leader"), "target", "allowed: all"),
        (FaultSpec("torn-tail", target="all"), "target", "is no target of this fault"),
        (FaultSpec("kill", lasts=1.0), "lasts", "allowed: 2 s or more"),
        (FaultSpec("kill", every=5.0), "every", "needs `at`"),
        (FaultSpec("kill", at=1.0, lasts=5.0, every=5.0), "every", "more than 5 s"),
        (FaultSpec("kill", at=1.0, rests=5.0), "rests", "at random times"),
        (FaultSpec("clock", "bump", parameters={"offest": 1.0}), "parameters.offest", "did you mean `offset`?"),
        (FaultSpec("clock", "bump", parameters={"offset": 300.0}), "parameters.offset", "±0.011 to ±288"),
        (FaultSpec("clock", "bump", parameters={"offset": "far"}), "parameters.offset", "'far' is not allowed"),
        (FaultSpec("kill", parameters={"x": 1}), "parameters.x", "it has none"),
        (FaultSpec("torn-tail", parameters={"how": "eat"}), "parameters.how", "allowed: cut, garble"),
        (FaultSpec("torn-tail", parameters={"bytes": 1.5}), "parameters.bytes", "a whole number from 1 to 65536"),
    ],
)
def test_a_wish_that_cannot_be_granted_is_told_with_what_can(spec, field, text):
    found = dict(told(spec, nodes=3))
    assert text in found[field]


def test_several_mistakes_are_told_at_once():
    spec = FaultSpec("clock", "bump", "n1+", lasts=0.5, parameters={"offset": 0.0, "x": 1})
    assert [field for field, _ in told(spec)] == ["target", "lasts", "parameters.offset", "parameters.x"]


def test_variants_are_drawn_from_those_that_fit():
    names = lambda spec, nodes: [variant.name for variant in possible_variants(spec, nodes)]  # noqa: E731
    assert "majorities-ring" not in names(FaultSpec("partition"), 3)
    assert names(FaultSpec("partition", target="followers"), 5) == ["halves", "one-way"]
    assert names(FaultSpec("clock"), 3) == ["bump", "strobe", "drift"]
    assert names(FaultSpec("clock", lasts=3.0), 3) == ["bump"]
    assert names(FaultSpec("clock", parameters={"rate": 0.1}), 3) == ["drift"]


def test_a_truth_value_is_no_number_and_no_choice():
    assert not Number("x", "", "s", 0, 5).admits(True)
    assert not Choice("x", "", ("a",)).admits(True)
