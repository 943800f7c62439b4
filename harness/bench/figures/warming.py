"""When a system is warm: its rate no longer climbs. Pure.

Virtual machines compile themselves while they work: Kafka climbs for many minutes, by little in each. So the windows that are compared
grow with time: the last third of all loads beside the third before it. Cases take turns in warming up, and their rates are made comparable
by each case's own median. A few loads that happen to level off prove nothing of such a system: it has to do many.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

LEAST_LOADS, LEAST_LOADS_JIT = 6, 40
STILL_CLIMBING = 1.03


def is_warm(loads: Sequence[tuple[int, float]], *, compiles_itself: bool = False) -> bool:
    """`loads`: case and rate of each, in order."""
    cases = {case for case, _rate in loads}
    if len(loads) < max(LEAST_LOADS_JIT if compiles_itself else LEAST_LOADS, 3 * len(cases)):
        return False
    usual = {case: statistics.median(rate for which, rate in loads if which == case) for case in cases}
    relative = [rate / usual[case] for case, rate in loads if usual[case]]
    third = len(relative) // 3
    earlier, later = relative[-2 * third : -third], relative[-third:]
    return statistics.median(later) <= STILL_CLIMBING * statistics.median(earlier)
