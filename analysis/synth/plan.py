"""Dividing a synthetic history: rows to partitions, partitions to files, anomalies to blocks. All of it small, and the same for a seed.

The number of rows is met exactly. What sends and their readers leave over in a partition, two rows at most, are polls of nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.anomalies import ANOMALIES
from analysis.synth.injections import INJECTIONS
from analysis.synth.numbering import MAX_PARTITIONS, MAX_SITES, Numbering
from analysis.synth.pattern import BLOCK, STORED, STRIDE
from analysis.synth.piece import FINAL_AFTER_NS, STEP_NS, Blocks, stored_flags
from analysis.synth.place import Site

ROWS_A_FILE = 1_000_000
_ROWS_A_BLOCK = BLOCK + 2 * STORED
_ASSIGNS = 2
"""Rows of a partition before all others: each of its two readers is assigned it."""


class SynthesisError(Exception):
    """A synthetic history that cannot be made as asked."""


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """`end` is the log end. `idle` polls return nothing."""

    part: int
    sends: int
    end: int
    idle: int
    sites: tuple[Site, ...]

    @property
    def blocks(self) -> int:
        return -(-self.sends // BLOCK)


@dataclass(frozen=True, slots=True)
class SynthPlan:
    seed: int
    rows: int
    files: int
    partitions: tuple[PartitionPlan, ...]

    @property
    def numbering(self) -> Numbering:
        return Numbering(len(self.partitions))

    @property
    def final_start(self) -> int:
        """When the final reads begin."""
        return max(one.sends for one in self.partitions) * STEP_NS + FINAL_AFTER_NS

    def blocks(self, one: PartitionPlan, file: int) -> Blocks:
        """What of a partition goes into a file."""
        first, last = (one.blocks * edge // self.files for edge in (file, file + 1))
        return Blocks(self.seed, self.numbering, one.part, one.sends, first, last)

    def truth(self) -> dict[str, int]:
        """Every anomaly there is a name for, with how many of it a sound checker finds."""
        found = dict.fromkeys(ANOMALIES, 0)
        for one in self.partitions:
            for site in one.sites:
                for name, count in INJECTIONS[site.kind].finds.items():
                    found[name] += count
        return found


def plan_history(
    rows: int, inject: Mapping[str, int], seed: int, *, partitions: int, hot: float | None = None, rows_a_file: int = ROWS_A_FILE
) -> SynthPlan:
    _refuse_nonsense(rows, inject, partitions, hot)
    shares = _shares(rows, partitions, hot)
    sites = _choose_sites(shares, inject, seed)
    numbering = Numbering(partitions)
    planned = tuple(_partition(seed, numbering, part, share, sites.get(part, ())) for part, share in enumerate(shares))
    return SynthPlan(seed, rows, max(1, -(-rows // rows_a_file)), planned)


def _shares(rows: int, partitions: int, hot: float | None) -> list[int]:
    """Rows of each partition; the first has `hot` of all."""
    if hot is None or partitions == 1:
        return [rows * (part + 1) // partitions - rows * part // partitions for part in range(partitions)]
    first = round(rows * hot)
    return [first, *_shares(rows - first, partitions - 1, None)]


def _choose_sites(shares: list[int], inject: Mapping[str, int], seed: int) -> dict[int, tuple[Site, ...]]:
    """Every second block is fit for one, but for the first and those at the end, where rows that come or go move the edge."""
    fit = [_fit_blocks(share) for share in shares]
    edges = np.cumsum([0, *fit])
    wanted = [kind for kind, count in inject.items() for _ in range(count)]
    if len(wanted) > edges[-1]:
        raise SynthesisError(f"{len(wanted)} anomalies do not fit into so few rows: {sum(shares):,} have room for {edges[-1]}")
    chosen = np.random.default_rng(seed % 2**64).choice(int(edges[-1]), len(wanted), replace=False)
    sites: dict[int, tuple[Site, ...]] = {}
    for number, (kind, at) in enumerate(zip(wanted, chosen.tolist(), strict=True)):
        part = int(np.searchsorted(edges, at, "right")) - 1
        sites[part] = (*sites.get(part, ()), Site(number, kind, part, 1 + 2 * (at - int(edges[part]))))
    return {part: tuple(sorted(found, key=lambda site: site.block)) for part, found in sites.items()}


def _fit_blocks(share: int) -> int:
    full = (share - _ASSIGNS) // _ROWS_A_BLOCK
    return max(0, (full - 2 - full // 50) // 2)


def _partition(seed: int, numbering: Numbering, part: int, share: int, sites: tuple[Site, ...]) -> PartitionPlan:
    left = share - _ASSIGNS - sum(INJECTIONS[site.kind].rows for site in sites)
    full, left = divmod(left, _ROWS_A_BLOCK)
    _, _, stored = stored_flags(Blocks(seed, numbering, part, (full + 1) * BLOCK, full, full + 1))
    rows = np.cumsum(1 + 2 * stored)
    more = int(np.searchsorted(rows, left, "right"))
    there = int(stored[:more].sum())
    end = full * STRIDE + there if there else max(0, full * STRIDE - 1)
    return PartitionPlan(part, full * BLOCK + more, end, left - (int(rows[more - 1]) if more else 0), sites)


def _refuse_nonsense(rows: int, inject: Mapping[str, int], partitions: int, hot: float | None) -> None:
    if not 1 <= partitions <= MAX_PARTITIONS:
        raise SynthesisError(f"{partitions} partitions: there may be 1 to {MAX_PARTITIONS:,}")
    if hot is not None and not 0 < hot < 1:
        raise SynthesisError(f"hot is {hot}: the part of all rows in one partition is between 0 and 1")
    smallest = min(_shares(rows, partitions, hot))
    if smallest < _ASSIGNS:
        raise SynthesisError(f"{rows:,} rows are too few for {partitions} partitions; each has {_ASSIGNS} at least")
    for kind in inject:
        if kind not in INJECTIONS:
            raise SynthesisError(f"`{kind}` cannot be injected; there is: {', '.join(INJECTIONS)}")
    if sum(inject.values()) > MAX_SITES:
        raise SynthesisError(f"more than {MAX_SITES:,} anomalies cannot be injected")
