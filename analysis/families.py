"""The families of checks, and how a task runs those that were asked for.

A new family is a module with `CHECKS` or `JOINED` and a line here. The cycles alone stand beside: they need a pass more (see `context`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from analysis import availability, cycles, delivery, offsets, order, replicas, transactions
from analysis.anomalies import ANOMALIES
from analysis.check import Check, Joined
from analysis.context import Context
from analysis.findings import Finding
from analysis.log import Log
from analysis.partition import Partition

CHECKS: tuple[Check, ...] = (
    *delivery.CHECKS,
    *offsets.CHECKS,
    *order.CHECKS,
    *transactions.CHECKS,
    *replicas.CHECKS,
    *availability.CHECKS,
)
JOINED: tuple[Joined, ...] = transactions.JOINED

CORE = ("lost", "duplicate", "G1a", "phantom", "inconsistent-offsets", "reordered")
ALL = tuple(ANOMALIES)

ALWAYS = ("topic", "part", "op", "micro")
"""Columns without which a bucket cannot be cut."""


def find(partition: Partition, context: Context, names: Collection[str] = ALL) -> Iterator[Finding]:
    """What one partition alone shows. The names asked for and no others; what is not there is not told."""
    yield from find_in(Log(partition, context), names)


def find_in(log: Log, names: Collection[str] = ALL) -> Iterator[Finding]:
    """The same where the log is needed for more: what has been worked out is not worked out again."""
    for check in CHECKS:
        if not set(check.names).isdisjoint(names):
            yield from (finding for finding in check.find(log) if finding.name in names and finding.count)


def joined(names: Collection[str] = ALL) -> tuple[Joined, ...]:
    """What has to be joined over partitions for these anomalies."""
    return tuple(one for one in JOINED if not set(one.names).isdisjoint(names))


def columns_for(names: Collection[str] = ALL) -> list[str]:
    """The columns of the history to be read for these anomalies; those of witnesses come with `rest` (see `numbers_in`)."""
    asked = [one.columns for one in CHECKS if not set(one.names).isdisjoint(names)]
    asked += [one.columns for one in joined(names)]
    asked += [cycles.COLUMNS] if has_cycles(names) else []
    return list(dict.fromkeys((*ALWAYS, *(column for columns in asked for column in columns))))


def has_cycles(names: Collection[str] = ALL) -> bool:
    """Whether `cycles.spans` and the pass behind it are needed."""
    return not set(cycles.NAMES).isdisjoint(names)
