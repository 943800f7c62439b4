"""Spark as the analysis uses it: started in a few seconds, gone when we are, and asked for nothing but to place and retry tasks.

Each task reads its own part of the history and checks it with vectorised code, so there is no SQL, no shuffle of rows and no row that
passes through Java. `session` is the entry, `local` and `cluster` are the two ways to a driver; `java` finds a Java and writes its command
line, `archive` keeps its classes ready, `gateway` starts and ends it, `shipping` brings our code to executors elsewhere.
"""

from analysis.spark.errors import SparkTrouble
from analysis.spark.options import LEAST_MEMORY_MB, LOCAL, SparkOptions
from analysis.spark.session import Spark, open_spark

__all__ = ["LEAST_MEMORY_MB", "LOCAL", "Spark", "SparkOptions", "SparkTrouble", "open_spark"]
