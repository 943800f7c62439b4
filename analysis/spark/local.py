"""Spark on this machine: a JVM of ours (`java`, `archive`, `gateway`), the same whatever the user's environment says of Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from analysis.spark.archive import class_archive
from analysis.spark.driver import SETTINGS, Driver, context_at
from analysis.spark.gateway import Jvm, environment_of_driver
from analysis.spark.java import java_command, local_java_home, spark_home
from analysis.spark.options import SparkOptions
from analysis.spark.shipping import ROOT

_LOOPBACK = "127.0.0.1"


@contextmanager
def local_driver(options: SparkOptions, folder: Path) -> Iterator[Driver]:
    home = local_java_home()
    archive = class_archive(home, spark_home() / "jars")
    log4j = _write_log4j(folder)
    command = java_command(home, heap_mb=options.heap_mb, large=options.large, archive=archive.options, log4j=log4j, conf=SETTINGS)
    jvm = Jvm(command, folder, _environment())
    try:
        import pyspark  # noqa: F401  half a second that passes while Java starts

        gateway = jvm.connect()
        with environment_of_driver(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP=_LOOPBACK):
            settings = {"spark.local.dir": str(folder), "spark.driver.host": _LOOPBACK}
            with context_at(gateway, options.master, settings) as context:
                yield Driver(context, jvm.pid)
    finally:
        archive.settle(jvm.end())


def _environment() -> dict[str, str]:
    """Another Spark's folder or settings in the user's environment are not meant for ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "JAVA_TOOL_OPTIONS"))}
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return kept | {"SPARK_HOME": str(spark_home()), "SPARK_LOCAL_IP": _LOOPBACK, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}


def _write_log4j(folder: Path) -> Path:
    """Warnings go to a file that is there while Spark is."""
    path = folder / "log4j2.properties"
    path.write_text(
        "rootLogger.level = warn\nrootLogger.appenderRef.file.ref = file\n"
        f"appender.file.type = File\nappender.file.name = file\nappender.file.fileName = {folder / 'spark.log'}\n"
        "appender.file.layout.type = PatternLayout\nappender.file.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n\n"
    )
    return path
