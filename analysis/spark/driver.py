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

SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.python.worker.reuse": "true"}


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


def cause_of(problem: BaseException) -> str:
    """Spark repeats Python's and Java's stack traces; what happened is the last line that names an error."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    told = [line for line in lines if re.match(r"(Caused by: )?[\w.]+(Error|Exception|Trouble|File)\b.*:", line)]
    return told[-1] if told else lines[0] if lines else type(problem).__name__
