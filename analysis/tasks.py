"""Which buckets make a task, and how many rows a task may hold.

What is small shares a task: starting one costs more than checking a bucket. What is too large for its share of the memory is checked by
a task that runs while no other does and has all of it; what is too large even then is looked at bit by bit (see `bucket`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heapreplace

from analysis.bucket_tasks import Buckets
from analysis.spark import SparkOptions

ROWS_A_TASK = 250_000
"""More are not put into one task, unless they are in one bucket or the cores are busy anyway."""
TASKS_A_CORE = 4
"""A task costs some hundredths of a second, so there are only as many as let the cores end at about the same time."""
FEW_ROWS = 20_000
"""Fewer are not worth a task of their own."""

_BYTES_A_ROW = 500
"""What a task needs for a row, with all columns and everything that is worked out from them: 300 to 450 were measured."""
_WORKER_MB = 130
"""What it needs before it has read one."""
_LEAST_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Room:
    """Rows that a task may hold: one among others, and one that runs alone."""

    shared: int
    alone: int


def room_in(options: SparkOptions) -> Room:
    shared, alone = (_rows_in(mb) for mb in (options.task_memory_mb, options.memory - options.heap_mb))
    return Room(shared, max(shared, alone))


def tasks_for(rows: int, *, cores: int, local: bool) -> int:
    """One for few rows, at least one a core for more. Here no more than keep all cores busy; elsewhere nobody knows how many there are."""
    if rows < FEW_ROWS:
        return 1
    return max(cores, min(rows // ROWS_A_TASK, cores * TASKS_A_CORE) if local else rows // ROWS_A_TASK)


def divide(buckets: Mapping[int, int], tasks: int) -> list[Buckets]:
    """Into no more portions, each with about as many rows: the largest bucket first, and each to the portion that has least."""
    portions: list[list[int]] = [[] for _ in range(min(tasks, len(buckets)))]
    filled = [(0, number) for number in range(len(portions))]
    for bucket, rows in sorted(buckets.items(), key=lambda each: (-each[1], each[0])):
        sum_of_rows, number = filled[0]
        portions[number].append(bucket)
        heapreplace(filled, (sum_of_rows + rows, number))
    return [tuple(sorted(portion)) for portion in portions]


def _rows_in(megabytes: int) -> int:
    return max(_LEAST_ROWS, (megabytes - _WORKER_MB) * 2**20 // _BYTES_A_ROW)
