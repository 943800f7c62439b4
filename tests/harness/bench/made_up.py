"""A result of a benchmark that never took place, with figures chosen by the test."""

from dataclasses import replace

import numpy as np

from harness.bench.figures.latencies import Latencies
from harness.bench.figures.results import (
    Disturbance,
    LatencyRound,
    Lifetime,
    LoadRound,
    Machine,
    Reading,
    Result,
    Start,
    Sustained,
    SystemUsed,
    WarmUp,
)
from harness.bench.suites.case import Case
from harness.bench.usage import Cpu

CALM = Disturbance(0.01, 0.02)
CASES = (Case(acks="0"), Case(acks="1"), Case(acks="all"), Case(acks="all", batch_messages=1, linger_ms=0))


def load(system=0, case=0, number=1, mb_s=100.0, **other):
    """Of ten seconds."""
    messages = int(mb_s * 10e6 / 1000)
    found = LoadRound(
        system, case, number, messages, messages * 1000, 10.0, 10.0, 0, 5.0, 0.5, 0.4, Cpu(1.0, 3.0), 3 * messages * 1000, 9,
        (40_000_000, 41_000_000, 42_000_000), 10.0, Reading(messages, messages * 1000, 2.0, 1.0, 0.5), CALM, 0,
    )  # fmt: skip
    return replace(found, **other)


def latency(system=0, case=0, number=1, rate=1000.0, share=0.5, scale_us=5_000, samples=30_000):
    chance = np.random.default_rng(number + 10 * case + 100 * system)
    times = (chance.exponential(scale_us, samples) // 200).astype(np.int64) * 200 + 100
    encoded = Latencies.of(times).encoded()
    later = Latencies.of(times + 1000).encoded()
    return LatencyRound(system, case, number, rate, share, samples, 10.0, 0, 0, encoded, later, CALM, 0)


def result(systems=("highwater",), cases=CASES, rounds=5, rates=None, **other):
    """`rates`: MB/s of each system, 100 for the first and less for the next where it is not given."""
    rates = rates or [100.0 / (number + 1) for number in range(len(systems))]
    places = [(system, case) for system in range(len(systems)) for case in range(len(cases))]
    numbers = range(1, rounds + 1)
    found = Result(
        suite="made-up",
        description="Nothing of this was measured.",
        began="2026-01-02T03:04:05+00:00",
        seconds=600.0,
        nodes=3,
        client="librdkafka, C driver",
        c_client=True,
        machine=Machine(2, 24 << 30, "A Processor <9000>", "6.1", "3.11.7", "2.16.0", "21" if "kafka" in systems else ""),
        seed=1,
        steal_limit=0.1,
        least_segments=3,
        systems=tuple(SystemUsed(name, "1.0") for name in systems),
        cases=tuple(cases),
        starts=tuple(Start(system, 1.0 + system, 0.5, (30_000_000,) * 3) for system in range(len(systems))),
        warm_ups=tuple(WarmUp(system, 20.0, True, tuple((0, 1000.0 + n) for n in range(6))) for system in range(len(systems))),
        loads=tuple(load(system, case, number, rates[system] * (1 + number / 200)) for number in numbers for system, case in places),
        sustained=tuple(Sustained(system, case, 90_000.0, ((90_000.0, True),)) for system, case in places),
        latencies=tuple(
            latency(system, case, number, 1000.0 * part, part / 4, 5_000 * (system + 1))
            for number in numbers
            for part in (1, 2)
            for system, case in places
        ),
        lifetimes=tuple(Lifetime(system, Cpu(10.0, 30.0), 10_000, 10_000_000, 10_000, 30_000_000, 50) for system in range(len(systems))),
    )
    return replace(found, **other)
