"""Of the duplicates of a partition, those that its client made are reported and never an error: the dump of the log tells them apart.

It is no part of counting them, on which both checkers agree; it only says whose they are (`own_retries`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from analysis.findings import Finding
from analysis.log import Log
from analysis.own_retries import own_retries


def without_own_retries(log: Log, found: Finding) -> Finding:
    """The same finding with the client's own duplicates in doubt."""
    assert found.name == "duplicate" and log.context.dumps is not None
    number, offset = log.pairs.number, log.pairs.offset
    twice = np.bincount(number, minlength=len(log.values))[number] > 1
    own = own_retries(log.values[number[twice]], offset[twice], log.context.dumps.batches)
    of_client = set(own.tolist())
    witnesses = (replace(witness, doubtful=witness.doubtful or witness.identity[0] in of_client) for witness in found.witnesses)
    return replace(found, doubtful=found.doubtful + len(own), witnesses=tuple(sorted(witnesses, key=lambda witness: witness.order)))
