"""How long a benchmark will take, told before it begins. Pure.

Each measurement costs its load and a round about it: a topic made and deleted, the machine brought to rest, the brokers asked. A cluster
that was stopped needs some seconds until it may be measured again. The figures are those of a machine of two cores.
"""

from __future__ import annotations

from harness.bench.suites.suite import Suite

_AROUND_S = 2.0
_RESUME_S = 4.0
_START_S, _START_JIT_S = 3.0, 25.0
_LEAST_WARM_UP_S = 6 * 3.0


def seconds_needed(suite: Suite, jit: list[bool], warm_up_s: float | None) -> float:
    """`jit`: for each system, whether it compiles itself. A warm-up counts in full where it does, for it will be needed."""
    method, systems = suite.method, len(jit)
    measured = {what: sum(what in case.measure for case in suite.cases) for what in ("throughput", "latency", "sustainable")}
    rates = len(method.latency_rates) + len(method.latency_shares)
    switch = _RESUME_S if systems > 1 else 0.0
    throughput = measured["throughput"] * method.rounds * (method.load_seconds * 1.5 + _AROUND_S + switch)
    latency = measured["latency"] * method.rounds * (rates * (method.latency_seconds + _AROUND_S) + switch)
    search = measured["sustainable"] * (method.search_steps * (method.search_seconds + _AROUND_S) + switch)
    return systems * (throughput + latency + search) + sum(_to_be_ready(suite, one, warm_up_s) for one in jit)


def in_words(seconds: float) -> str:
    return f"about {seconds / 60:.0f} minutes" if seconds >= 90 else f"about {seconds:.0f} seconds"


def _to_be_ready(suite: Suite, jit: bool, warm_up_s: float | None) -> float:
    method = suite.method
    limit = warm_up_s if warm_up_s is not None else method.warm_up_jit if jit else method.warm_up
    return (method.starts + 1) * (_START_JIT_S if jit else _START_S) + (limit if jit else min(limit, _LEAST_WARM_UP_S))
