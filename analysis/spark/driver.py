"""pyspark's end of a started JVM: the context, made and given up without the noise and the leftovers.

pyspark is made for one Spark a process: it keeps the gateway in a class, and its helpers complain aloud about a JVM that is gone. Here one
ends and another may start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.worker.reuse": "true",
    # Columns come and go by the megabyte. Given back to the kernel each time, a sixth of a check is spent on fresh pages.
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(2**30),
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(2**31),
}


@dataclass(frozen=True, slots=True)
class Driver:
    context: SparkContext
    jvm_pid: int


@contextmanager
def context_at(gateway: Any, master: str, settings: Mapping[str, str]) -> Iterator[SparkContext]:
    from pyspark import SparkConf, SparkContext

    conf = SparkConf(_jvm=gateway.jvm).setMaster(master).setAppName("highwater").setAll(list({**SETTINGS, **settings}.items()))
    try:
        context = SparkContext(conf=conf, gateway=gateway)
        context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
        yield context
    finally:
        gateway._gateway_client.is_connected = False  # or py4j tells a dead JVM which objects we no longer need
        gateway.close()
        SparkContext._active_spark_context = None
        SparkContext._gateway = None
        SparkContext._jvm = None


def cause_of(told: str) -> str:
    """Spark repeats whole stack traces: what happened is the first line at the margin behind the last of Python's, or Java's cause."""
    _, python_s, trace = told.rpartition("Traceback (most recent call last):")
    if python_s:
        return next((line for line in trace.splitlines() if line.strip() and not line[0].isspace()), "a task failed")
    lines = [line.strip(": \t") for line in told.splitlines() if line.strip()]
    causes = [line for line in lines if re.match(r"(Caused by: )?[\w.$]+(Error|Exception)\b", line)]
    return causes[0] if causes else lines[0] if lines else "it did not say why"
