"""Which unfinished operations took effect: an `info` one of which an ok operation read a value.

Where it sent to one partition only, that partition's rows show it. Where to several, any of them may: so those that a partition shows are
extracted first, and every partition is told.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.log import Log
from analysis.partition import Column

COLUMNS = ("f", "outcome", "value", "offset")


def extract(log: Log) -> Column:
    """Operations this partition shows to be committed, sorted."""
    return log.committed_operations


def join(found: Sequence[Column]) -> Column:
    """For `RunContext.committed`."""
    return np.unique(np.concatenate([np.empty(0, np.int64), *found]))
