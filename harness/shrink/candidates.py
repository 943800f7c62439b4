"""Which smaller plans are worth a try, the boldest first, as a pure function of a plan.

A plan is data: faults with times and a scenario with numbers. Each candidate takes away one thing: half of the faults, one fault, the time
in which nothing is planned, half of the clients. What another fault refers to is never taken away from under it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from harness.run import Prepared
from nemesis.schedule import PlannedFault
from nemesis.targets import SAME

LEAD_S = 3.0
"""From the beginning of the load to the first fault."""
TAIL_S = 3.0
"""From the end of the last fault to the end of the load."""
_WORTH_S = 2.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """`what` was taken away."""

    what: str
    plan: Prepared


def candidates(plan: Prepared) -> Iterator[Candidate]:
    yield from _fewer_faults(plan)
    yield from _shorter(plan)
    yield from _fewer_clients(plan)


def _fewer_faults(plan: Prepared) -> Iterator[Candidate]:
    faults = plan.faults
    half = len(faults) // 2
    if half > 1:
        for number, kept in enumerate((faults[:half], faults[half:]), start=1):
            yield from _with_faults(plan, kept, f"all faults but the {'first' if number == 1 else 'second'} half")
    for fault in faults:
        kept = tuple(other for other in faults if other is not fault)
        yield from _with_faults(plan, kept, f"fault {fault.id} ({fault.kind}{':' + fault.variant if fault.variant else ''})")


def _with_faults(plan: Prepared, kept: Sequence[PlannedFault], what: str) -> Iterator[Candidate]:
    names = {fault.name for fault in kept}
    if all(fault.selector.role != SAME or fault.selector.names[0] in names for fault in kept):
        yield Candidate(what, Prepared(plan.scenario, tuple(kept)))


def _shorter(plan: Prepared) -> Iterator[Candidate]:
    limit = plan.scenario.durations.time_limit
    early = min((fault.start for fault in plan.faults), default=0.0) - LEAD_S
    moved = plan.faults
    if plan.faults and early > _WORTH_S:
        moved = tuple(replace(fault, start=fault.start - early, end=fault.end - early) for fault in plan.faults)
    needed = max((fault.end for fault in moved), default=limit / 2) + TAIL_S
    if moved is not plan.faults or limit - needed > _WORTH_S:
        yield Candidate(f"{limit - needed:.0f} s", _changed(Prepared(plan.scenario, moved), "durations", time_limit=min(needed, limit)))


def _fewer_clients(plan: Prepared) -> Iterator[Candidate]:
    workload = plan.scenario.workload
    for name, least in (("workers", 1), ("senders", 1), ("pollers", 1)):
        number: int = getattr(workload, name)
        if number > least:
            yield Candidate(f"half of the {name}", _changed(plan, "workload", **{name: max(least, number // 2)}))


def _changed(plan: Prepared, part: str, **changes: object) -> Prepared:
    section = getattr(plan.scenario, part).model_copy(update=changes)
    return replace(plan, scenario=plan.scenario.model_copy(update={part: section}))
