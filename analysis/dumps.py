"""The replicas' logs as they were dumped when the run was over: which offsets, values and batches each of them has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from analysis.partition import MISSING, Column

RECORD_COLUMNS = ("offset", "value")
BATCH_COLUMNS = ("base_offset", "last_offset", "leader_epoch", "crc", "high_watermark", "producer_id", "producer_epoch")


def _none(names: tuple[str, ...]) -> dict[str, Column]:
    return {name: np.empty(0, np.int64) for name in ("node", *names)}


@dataclass(frozen=True, slots=True)
class Dumps:
    """Of one partition. `node` in both is a number in `nodes`; what is null is MISSING."""

    nodes: tuple[str, ...]
    records: Mapping[str, Column] = field(default_factory=lambda: _none(RECORD_COLUMNS))
    batches: Mapping[str, Column] = field(default_factory=lambda: _none(BATCH_COLUMNS))


def dumps_of(records: pa.Table | None, batches: pa.Table | None) -> dict[tuple[str, int], Dumps]:
    """By partition, from the rows of records.parquet and batches.parquet, all of them or those a task asked for."""
    found_records = {} if records is None else dict(_cut(records, RECORD_COLUMNS))
    found_batches = {} if batches is None else dict(_cut(batches, BATCH_COLUMNS))
    dumps = {}
    for place in sorted(found_records.keys() | found_batches.keys()):
        of_records, of_batches = found_records.get(place), found_batches.get(place)
        names = tuple(sorted({name for found in (of_records, of_batches) if found for name in found[0]}))
        dumps[place] = Dumps(
            names,
            _renumbered(of_records, names) if of_records else _none(RECORD_COLUMNS),
            _renumbered(of_batches, names) if of_batches else _none(BATCH_COLUMNS),
        )
    return dumps


_Cut = tuple[tuple[str, ...], dict[str, Column]]


def _cut(table: pa.Table, columns: tuple[str, ...]) -> Iterator[tuple[tuple[str, int], _Cut]]:
    words = {name: pc.dictionary_encode(table[name]).combine_chunks() for name in ("topic", "node")}
    topic, node = (words[name].indices.cast(pa.int64()).to_numpy(zero_copy_only=False) for name in ("topic", "node"))
    topics, nodes = words["topic"].dictionary.to_pylist(), words["node"].dictionary.to_pylist()
    part = table["part"].combine_chunks().cast(pa.int64()).to_numpy(zero_copy_only=False)
    taken = {name: table[name].combine_chunks().cast(pa.int64()).fill_null(int(MISSING)).to_numpy(zero_copy_only=False) for name in columns}
    order = np.lexsort((taken[columns[0]], node, part, topic))
    topic, part, node = topic[order], part[order], node[order]
    if len(topic) == 0:
        return
    edges = np.flatnonzero((np.diff(topic) != 0) | (np.diff(part) != 0)) + 1
    for start, end in zip((0, *edges), (*edges, len(topic)), strict=True):
        rows = order[start:end]
        cut = {"node": node[start:end]} | {name: column[rows] for name, column in taken.items()}
        used = tuple(nodes[number] for number in np.unique(cut["node"]))
        numbers = np.searchsorted(np.unique(cut["node"]), cut["node"])
        yield (topics[topic[start]], int(part[start])), (used, cut | {"node": numbers})


def _renumbered(found: _Cut, names: tuple[str, ...]) -> dict[str, Column]:
    own, columns = found
    return columns | {"node": np.array([names.index(name) for name in own], np.int64)[columns["node"]]}
