"""Spark elsewhere: the ordinary launcher starts the driver, so that whatever the user has configured for the cluster applies.

Our code travels with the job. What must be there already is looked at first; a cluster that offers no executor is told apart from a
slow one by a deadline.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

from analysis.spark.driver import SETTINGS, Driver, cause_of, context_at
from analysis.spark.errors import SparkTrouble
from analysis.spark.gateway import end_process, environment_of_driver, last_line
from analysis.spark.java import full_java_home
from analysis.spark.options import SparkOptions
from analysis.spark.shipping import lacking_packages, packed_code

ANSWER_LIMIT_S = 180.0


@contextmanager
def cluster_driver(options: SparkOptions, folder: Path) -> Iterator[Driver]:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    python = os.environ.get("PYSPARK_PYTHON", sys.executable)
    output = folder / "jvm.log"
    with ExitStack() as stack:
        stack.enter_context(environment_of_driver(JAVA_HOME=str(full_java_home()), PYSPARK_PYTHON=python))
        try:
            gateway = _launch(options, output)
            stack.callback(end_process, gateway.proc)
            context = stack.enter_context(context_at(gateway, options.master, {}))
            context.addPyFile(str(packed_code(folder)))
            _look_at_executors(context)
        except (Py4JError, PySparkException) as problem:
            raise SparkTrouble(f"no Spark at {options.master}: {cause_of(str(problem))} ({last_line(output)})") from problem
        yield Driver(context, gateway.proc.pid)


def _launch(options: SparkOptions, output: Path) -> Any:
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    settings = {**SETTINGS, "spark.master": options.master, "spark.driver.memory": f"{options.heap_mb}m"}
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    with open(output, "wb") as log:
        return launch_gateway(conf, {"stdout": log, "stderr": subprocess.STDOUT, "process_group": 0})  # type: ignore[no-untyped-call]


def _look_at_executors(context: Any) -> None:
    """A task for every core the cluster offers by now, so that most machines are asked."""
    late = Timer(ANSWER_LIMIT_S, context.cancelAllJobs)
    late.start()
    try:
        tasks = max(2, context.defaultParallelism)
        answers = context.parallelize(range(tasks), tasks).mapPartitions(lacking_packages).collect()
    finally:
        late.cancel()
    if lacking := sorted({answer for answer in answers if answer[1]}):
        told = "; ".join(f"{host} lacks {', '.join(names)}" for host, names in lacking)
        raise SparkTrouble(f"the executors are not ready: {told}; install them for the Python that PYSPARK_PYTHON names")
