"""Duplicates that the client made by itself, told from those that the broker made, by the producer that each copy carries.

A broker knows a retry by producer id, epoch and sequence. A client that has given up an epoch (a delivery time-out with requests under way)
opens the next and sends again what may be stored already: to the broker that is a new message. In the dump of a log the copies then lie in
batches of different producers or epochs. Two copies of the same one are the broker's doing, and so are two of no producer at all.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analysis.columns import Numbers

COLUMNS = ("base_offset", "last_offset", "producer_id", "producer_epoch")
"""What is needed of batches.parquet."""


def own_retries(values: Numbers, offsets: Numbers, batches: Mapping[str, Numbers]) -> Numbers:
    """Of the places (value, offset) of one partition's duplicates, the values that the client stored more than once by itself, sorted.

    `batches` has COLUMNS of that partition, from any of its replicas. A copy that no batch holds is not the client's.
    """
    if not len(values) or not len(batches["base_offset"]):
        return np.empty(0, np.int64)
    order = np.argsort(batches["base_offset"], kind="stable")
    base, last, producer, epoch = (batches[name][order] for name in COLUMNS)
    place = np.searchsorted(base, offsets, side="right") - 1
    held = (place >= 0) & (offsets <= last[place]) & (producer[place] >= 0)
    by_copy = np.lexsort((epoch[place], producer[place], values))
    value, producer, epoch = values[by_copy], producer[place][by_copy], epoch[place][by_copy]
    again = (value[1:] == value[:-1]) & (producer[1:] == producer[:-1]) & (epoch[1:] == epoch[:-1])
    broker_s = np.concatenate([values[~held], value[1:][again]])
    return np.setdiff1d(values, broker_s)
