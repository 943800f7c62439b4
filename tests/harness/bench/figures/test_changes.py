"""Two results beside each other: noise is called noise, and only a change for the worse past the threshold is a regression."""

import random
from dataclasses import replace

from harness.bench.figures.changes import changes, unmatched
from harness.bench.suites.case import Case
from tests.harness.bench.made_up import load, result

ALONE = (Case(),)
ONCE = result(cases=ALONE)


def with_rates(*rates):
    loads = tuple(load(number=number, mb_s=rate) for number, rate in enumerate(rates, start=1))
    return replace(ONCE, loads=loads, latencies=())


def throughput(before, after):
    return next(change for change in changes(before, after) if change.what == "MB/s")


def test_a_clear_loss_is_a_regression():
    change = throughput(with_rates(100, 101, 99, 100, 102), with_rates(80, 81, 79, 80, 82))
    assert change.is_regression(0.1) and change.verdict(0.1) == "regression"
    assert 0.19 < change.worsened_by < 0.21


def test_a_loss_within_the_threshold_is_worse_but_no_regression():
    change = throughput(with_rates(100, 101, 99, 100, 102), with_rates(95, 96, 94, 95, 97))
    assert not change.is_regression(0.1) and change.verdict(0.1) == "worse"
    assert change.is_regression(0.01)


def test_a_loss_within_noise_is_noise():
    change = throughput(with_rates(100, 60, 140, 90, 120), with_rates(80, 120, 50, 90, 70))
    assert change.verdict(0.1) == "noise" and not change.is_regression(0.1)


def test_a_gain_is_better():
    assert throughput(with_rates(100, 101, 99), with_rates(150, 151, 149)).verdict(0.1) == "better"


def test_more_cpu_and_more_latency_are_worse():
    before = result(cases=ALONE)
    slower = tuple(replace(one, broker_cpu=replace(one.broker_cpu, user=9.0)) for one in before.loads)
    found = {change.what: change for change in changes(before, replace(before, loads=slower))}
    assert found["broker CPU s/GB"].is_regression(0.1)
    assert found["MB/s"].verdict(0.1) == "noise"
    later = result(cases=ALONE, latencies=tuple(one for one in result(("a", "b"), cases=ALONE).latencies if one.system == 1))
    moved = replace(later, latencies=tuple(replace(one, system=0) for one in later.latencies))
    assert {change.what for change in changes(before, moved) if change.is_regression(0.1)} >= {"p50 ms at 50% load", "p99 ms at 50% load"}


def test_two_looks_at_the_same_broker_rarely_accuse_it():
    chance = random.Random(5)
    accused = 0
    for _ in range(100):
        before, after = ([chance.lognormvariate(4.6, 0.1) for _ in range(5)] for _ in range(2))
        accused += throughput(with_rates(*before), with_rates(*after)).is_regression(0.1)
    assert accused <= 10


def test_what_only_one_has_is_told():
    one, two = result(cases=(Case(), Case(acks="1"))), result(("highwater", "kafka"), cases=ALONE)
    assert any("acks=1" in text for text in unmatched(one, two)) and "kafka" in unmatched(one, two)
    assert {change.system for change in changes(one, two)} == {"highwater"}
