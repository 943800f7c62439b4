"""The highest rate that can be kept up: found by trying, judged by the backlog. Pure.

A load as fast as possible shows what goes through when everything is always full, which nobody can run. A rate is sustainable if what waits
does not grow: of messages sent at a steady rate, no more are unanswered at the end than in the middle, but for a little, and the replicas
are not far behind. Between a rate that was kept up and one that was not, the next trial is half-way, as a factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

ALLOWED_S = 0.1
"""By how many seconds of load the backlog may grow, and replicas be behind."""
_STEP = 1.25
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Trial:
    rate: float
    kept_up: bool


def keeps_up(due_us: Numbers, acked_us: Numbers, unanswered: int, behind: int, rate: float) -> bool:
    """`due_us` rises; `unanswered`: messages that were never acknowledged."""
    if unanswered or not len(due_us):
        return False
    middle, end = due_us[len(due_us) // 2], due_us[-1]
    grown = _waiting(due_us, acked_us, int(end)) - _waiting(due_us, acked_us, int(middle))
    return grown <= ALLOWED_S * rate and behind <= ALLOWED_S * rate


def next_rate(trials: Sequence[Trial], first: float) -> float:
    """What to try after these; the first trial is `first`."""
    if not trials:
        return first
    best, least = highest_kept(trials), lowest_failed(trials)
    if best is None:
        return trials[-1].rate / _STEP
    return best * _STEP if least is None else math.sqrt(best * least)


def highest_kept(trials: Sequence[Trial]) -> float | None:
    """Below the lowest that was not: noise may let a higher one pass."""
    limit = lowest_failed(trials) or math.inf
    return max((trial.rate for trial in trials if trial.kept_up and trial.rate < limit), default=None)


def lowest_failed(trials: Sequence[Trial]) -> float | None:
    return min((trial.rate for trial in trials if not trial.kept_up), default=None)


def _waiting(due_us: Numbers, acked_us: Numbers, moment: int) -> int:
    return int(np.count_nonzero(due_us <= moment) - np.count_nonzero(acked_us <= moment))
