"""A schedule is well formed whatever was asked for, and the same for the same seed."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nemesis.catalogue import CATALOGUE, FaultSpec, possible_variants
from nemesis.schedule import (
    TICK,
    PlannedFault,
    Timing,
    as_data,
    calm_periods,
    from_data,
    make_schedule,
    pinned,
    room_needed,
    strike_randomness,
)
from nemesis.targets import Selector

ROOT = Path(__file__).parents[2]
DEFAULT = [FaultSpec(kind) for kind in ("partition", "kill", "pause", "clock")]

TIMINGS = st.builds(
    Timing,
    mean_interval=st.floats(0.5, 60),
    first_after=st.floats(0, 30),
    calm_share=st.floats(0, 0.9),
    overlap=st.booleans(),
)
SPECS = st.builds(
    FaultSpec,
    kind=st.sampled_from(sorted(CATALOGUE)),
    lasts=st.none() | st.floats(10, 60),
    rests=st.none() | st.floats(0.5, 60),
) | st.builds(FaultSpec, kind=st.sampled_from(sorted(CATALOGUE)), at=st.floats(0, 60), lasts=st.floats(10, 20), every=st.floats(21, 60))


@given(st.lists(SPECS, max_size=5), st.integers(0, 2**63), st.floats(1, 400), TIMINGS, st.integers(1, 9))
def test_every_schedule_is_well_formed(faults, seed, time_limit, timing, nodes):
    assume(time_limit >= room_needed(faults, timing, nodes))
    plan = make_schedule(faults, seed, time_limit, timing, nodes)
    assert plan == make_schedule(faults, seed, time_limit, timing, nodes)
    assert [fault.id for fault in plan] == list(range(1, len(plan) + 1))
    assert [fault.start for fault in plan] == sorted(fault.start for fault in plan)
    for fault in plan:
        variant = next(each for each in CATALOGUE[fault.kind].variants if each.name == fault.variant)
        assert 0 <= fault.start < fault.end <= time_limit
        assert fault.end - fault.start >= variant.least_seconds - 3 * TICK
        assert nodes >= variant.least_nodes and variant.takes(fault.selector)
        assert [parameter.name for parameter in variant.parameters] == list(fault.parameters)
        assert all(parameter.admits(fault.parameters[parameter.name]) for parameter in variant.parameters)


@given(st.integers(0, 2**63), st.floats(20, 400), TIMINGS)
def test_no_drawn_fault_comes_before_its_time_or_in_a_calm_period(seed, time_limit, timing):
    assume(time_limit >= room_needed(DEFAULT, timing, 3))
    plan = make_schedule(DEFAULT, seed, time_limit, timing)
    calm = calm_periods(DEFAULT, seed, time_limit, timing)
    assert all(fault.start >= timing.first_after for fault in plan)
    assert not [(fault, period) for fault in plan for period in calm if fault.start < period[1] and fault.end > period[0]]


@given(st.integers(0, 2**63), st.floats(20, 400), TIMINGS, st.sampled_from(sorted(CATALOGUE)))
def test_a_fault_never_overlaps_itself(seed, time_limit, timing, kind):
    faults = [FaultSpec(kind)]
    assume(time_limit >= room_needed(faults, timing, 3))
    plan = make_schedule(faults, seed, time_limit, timing)
    assert all(before.end < after.start for before, after in itertools.pairwise(plan))


@given(st.integers(0, 2**63), st.floats(15, 100), TIMINGS)
def test_every_fault_asked_for_strikes_at_least_once(seed, time_limit, timing):
    faults = [FaultSpec(kind) for kind in CATALOGUE]
    timing = Timing(timing.mean_interval, timing.first_after, timing.calm_share)
    assume(time_limit >= room_needed(faults, timing, 3))
    assert {fault.kind for fault in make_schedule(faults, seed, time_limit, timing)} == set(CATALOGUE)


@given(st.integers(0, 2**63), st.floats(20, 400))
def test_without_overlap_there_is_one_fault_at_a_time(seed, time_limit):
    plan = make_schedule(DEFAULT, seed, time_limit, Timing(overlap=False))
    assert all(before.end <= after.start for before, after in itertools.pairwise(plan))


def test_without_overlap_each_has_its_turn_before_one_comes_again():
    kinds = [fault.kind for fault in make_schedule(DEFAULT, 3, 600, Timing(overlap=False))]
    assert len(kinds) >= 8
    assert set(kinds[:4]) == set(kinds[4:8]) == {"partition", "kill", "pause", "clock"}


def test_no_rounding_makes_a_fault_outlast_the_run():
    limit = 13.999999999999943
    assert make_schedule([FaultSpec("clock")], 0, limit, Timing(2.0, 1.0, 0.0))[-1].end <= limit


def test_faults_overlap_by_default():
    plan = make_schedule(DEFAULT, 7, 60)
    assert any(a.start < b.start < a.end and a.kind != b.kind for a in plan for b in plan)


def test_a_quarter_of_the_periods_is_calm():
    shares = [sum(end - start for start, end in calm_periods(DEFAULT, seed, 2000)) / 1995 for seed in range(20)]
    assert 0.2 < sum(shares) / len(shares) < 0.3


def test_waits_have_the_mean_that_was_asked_for():
    plan = make_schedule([FaultSpec("kill")], 1, 200_000, Timing(calm_share=0.0))
    waits = [after.start - before.end for before, after in itertools.pairwise(plan)]
    lengths = [fault.end - fault.start for fault in plan]
    assert 9 < sum(waits) / len(waits) < 11
    assert 9 < sum(lengths) / len(lengths) < 11


def test_a_fault_may_rest_longer_than_the_others():
    plan = make_schedule([FaultSpec("kill", rests=100.0), FaultSpec("pause")], 1, 5000)
    kinds = [fault.kind for fault in plan]
    assert kinds.count("pause") > 2 * kinds.count("kill") > 20


def test_a_fault_with_a_time_of_its_own_keeps_to_it():
    plan = make_schedule([FaultSpec("kill", at=3.0, lasts=4.5, every=20.0)], 9, 60)
    assert [(fault.start, fault.end) for fault in plan] == [(3.0, 7.5), (23.0, 27.5), (43.0, 47.5)]


def test_what_was_said_is_not_drawn():
    spec = FaultSpec("clock", "bump", "n1+n2", name="jump", lasts=3.0, parameters={"offset": -2.5})
    for fault in make_schedule([spec], 4, 120):
        assert (fault.variant, str(fault.selector), fault.name, fault.parameters) == ("bump", "n1+n2", "jump", {"offset": -2.5})
        assert fault.end - fault.start == pytest.approx(3.0, abs=3 * TICK)


def test_the_order_of_parameters_does_not_matter():
    one = FaultSpec("clock", "strobe", parameters={"offset": 1.0, "period": 3.0})
    other = FaultSpec("clock", "strobe", parameters={"period": 3.0, "offset": 1.0})
    assert [as_data(fault) for fault in make_schedule([one], 5, 60)] == [as_data(fault) for fault in make_schedule([other], 5, 60)]


def test_another_seed_is_another_plan():
    plans = [json.dumps([as_data(fault) for fault in make_schedule(DEFAULT, seed, 60)]) for seed in range(20)]
    assert len(set(plans)) == 20


@pytest.mark.parametrize("hash_seed", ["0", "4242"])
def test_a_plan_does_not_depend_on_how_python_hashes(hash_seed):
    program = (
        "import json; from nemesis.catalogue import FaultSpec; from nemesis.schedule import *;"
        "specs = [FaultSpec(kind) for kind in ('partition', 'kill', 'pause', 'clock')];"
        "print(json.dumps([as_data(fault) for fault in make_schedule(specs, 7, 60)]))"
    )
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [as_data(fault) for fault in make_schedule(DEFAULT, 7, 60)]


def test_too_short_a_run_is_refused():
    with pytest.raises(ValueError, match="needed"):
        make_schedule(DEFAULT, 1, 8)


def test_no_faults_are_no_plan():
    assert make_schedule([], 1, 1) == []


@given(st.lists(SPECS, max_size=3), st.integers(0, 100))
def test_a_planned_fault_survives_its_record(faults, seed):
    plan = make_schedule(faults, seed, 200)
    assert [from_data(json.loads(json.dumps(as_data(fault)))) for fault in plan] == plan


@pytest.mark.parametrize("change", [{"kind": "flood"}, {"start": "now"}, {"selector": "n1+"}, {"id": None}])
def test_a_record_that_is_no_planned_fault_is_refused(change):
    data = as_data(PlannedFault(1, "kill", "", Selector("one"), {}, 1.0, 2.0)) | change
    with pytest.raises(ValueError):
        from_data(data)


def test_recorded_nodes_can_be_pinned():
    plan = make_schedule(DEFAULT, 7, 60)
    again = pinned(plan, {1: ["n3", "n1"]})
    assert str(again[0].selector) == "n3+n1"
    assert again[1:] == plan[1:]


def test_each_strike_has_its_own_randomness():
    first, second = make_schedule(DEFAULT, 7, 60)[:2]
    assert strike_randomness(7, first).random() == strike_randomness(7, first).random()
    assert strike_randomness(7, first).random() != strike_randomness(7, second).random()


def test_a_drawn_variant_is_one_that_fits_the_nodes():
    few = {fault.variant for fault in make_schedule([FaultSpec("partition")], 1, 3000, nodes=3)}
    assert few == {variant.name for variant in possible_variants(FaultSpec("partition"), 3)}
