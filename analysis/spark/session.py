"""A Spark that runs a function over a list of tasks; that is all the analysis wants of it.

Results come back through the driver: a task returns counts and a few witnesses, never anything that grows with the history.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from analysis.spark.cluster import cluster_driver
from analysis.spark.driver import Driver, cause_of
from analysis.spark.errors import SparkTrouble
from analysis.spark.local import local_driver
from analysis.spark.options import SparkOptions

Task = TypeVar("Task")
Result = TypeVar("Result")


class Spark:
    """One started Spark. Made by `open_spark`."""

    def __init__(self, driver: Driver, options: SparkOptions) -> None:
        self.context = driver.context
        self.jvm_pid = driver.jvm_pid
        self.options = options

    def run(self, tasks: Sequence[Task], function: Callable[[Task], Result]) -> list[Result]:
        """The results in the order of the tasks. A task whose machine dies is tried again; one that keeps failing is trouble."""
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]

        if not tasks:
            return []
        try:
            return self.context.parallelize(tasks, len(tasks)).mapPartitions(_each(function)).collect()
        except Py4JError as problem:
            told = str(problem)  # it asks Java for its text, so it has to be now
            raise SparkTrouble(f"Spark could not finish: {cause_of(told)}") from RuntimeError(told)


@contextmanager
def open_spark(options: SparkOptions) -> Iterator[Spark]:
    """Up while the block runs. Whatever Spark wrote meanwhile is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="highwater-spark-"))
    interrupt = signal.getsignal(signal.SIGINT)
    try:
        with (local_driver if options.is_local else cluster_driver)(options, folder) as driver:
            yield Spark(driver, options)
    finally:
        if signal.getsignal(signal.SIGINT) is not interrupt:
            signal.signal(signal.SIGINT, interrupt)  # pyspark took it
        shutil.rmtree(folder, ignore_errors=True)


def _each(function: Callable[[Task], Result]) -> Callable[[Iterable[Task]], Iterable[Result]]:
    return lambda tasks: map(function, tasks)
