"""What a family of checks is made of.

A check looks at one partition and is done. What crosses partitions is `Joined`: a small extract a partition, extracts that add up
in any order, and a judgement over all of them. A family is a module with a list of either; nothing else knows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.findings import Finding
from analysis.log import Log


@dataclass(frozen=True, slots=True)
class Check:
    """`names` are the anomalies it looks for, `columns` those of the history it always reads; it may ask for more when it has found one."""

    names: tuple[str, ...]
    columns: tuple[str, ...]
    find: Callable[[Log], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Joined:
    """`extract` gives None where a partition has nothing to say. `join` takes at least one extract and gives one. All can be pickled."""

    names: tuple[str, ...]
    columns: tuple[str, ...]
    extract: Callable[[Log], Any | None]
    join: Callable[[Sequence[Any]], Any]
    judge: Callable[[Any], Iterator[Finding]]
