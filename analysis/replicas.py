"""What the replicas have in their logs, held against each other: below the high watermark they must not differ by a byte.

Batches are compared, by first and last offset, leader epoch and checksum. The controllers' metadata logs are dumped under a topic's
name of their own, and are compared the same way from where the youngest snapshot begins.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analysis.anomalies import METADATA_TOPIC
from analysis.check import Check
from analysis.dumps import Dumps
from analysis.findings import Finding, Witness
from analysis.log import Log
from analysis.partition import MISSING
from analysis.sorting import changes, order_by
from analysis.telling import finding, listed, witness

_SAME = ("last_offset", "leader_epoch", "crc")


def divergence(log: Log) -> Iterator[Finding]:
    dumps = log.context.dumps
    if dumps is None or len(dumps.batches["base_offset"]) == 0:
        return
    bound = _bound(log, dumps)
    if bound is None:
        return
    is_metadata = log.rows.topic == METADATA_TOPIC
    base, node = dumps.batches["base_offset"], dumps.batches["node"]
    order = order_by(base, node)
    base = base[order]
    first = np.concatenate(([0], np.flatnonzero(changes(base)) + 1))
    complete = np.diff(np.append(first, len(base))) == len(np.unique(node))
    for name in _SAME:
        column = dumps.batches[name][order]
        complete &= np.minimum.reduceat(column, first) == np.maximum.reduceat(column, first)
    start = _first_in_all(dumps) if is_metadata else log.context.log_start
    offsets = base[first]
    offsets = offsets[~complete & (offsets >= start) & (offsets < bound)]
    name = "metadata-divergence" if is_metadata else "replica-divergence"
    yield finding(name, (offsets,), lambda at: _tell(log, dumps, int(offsets[at])))


def _bound(log: Log, dumps: Dumps) -> int | None:
    """Up to here everything was promised to stay."""
    told = dumps.batches["high_watermark"]
    told = told[told != MISSING]
    if len(told):
        return int(told.min())
    return log.context.final.end if log.context.final else None


def _first_in_all(dumps: Dumps) -> int:
    node, base = dumps.batches["node"], dumps.batches["base_offset"]
    return max(int(base[node == one].min()) for one in np.unique(node))


def _tell(log: Log, dumps: Dumps, offset: int) -> Witness:
    batches = dumps.batches
    texts = []
    for node in np.unique(batches["node"]):
        found = np.flatnonzero((batches["node"] == node) & (batches["base_offset"] == offset))
        if len(found) == 0:
            texts.append(f"{dumps.nodes[node]} has no batch that begins there")
        else:
            last, epoch, crc = (int(batches[name][found[0]]) for name in _SAME)
            texts.append(f"{dumps.nodes[node]} has a batch up to offset {last} of epoch {epoch} with checksum {crc}")
    sentence = f"The logs of {log.rows.topic}-{log.rows.part} differ at offset {offset}: {listed(texts, most=5)}."
    return witness(log, sentence, (offset,), (), offset=offset)


CHECKS = (Check(("replica-divergence", "metadata-divergence"), (), divergence),)
