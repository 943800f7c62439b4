"""The tasks of a synthetic history on Spark. A single file is written before Spark would have started, so it is written here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analysis.spark import SparkOptions, open_spark


def on_spark(task: Callable[[int], None], numbers: Sequence[int]) -> None:
    if len(numbers) == 1:
        task(numbers[0])
        return
    with open_spark(SparkOptions()) as spark:
        spark.run(numbers, task)
