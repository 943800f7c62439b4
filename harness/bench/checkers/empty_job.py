"""What any answer of Spark costs: start it, and run one task that does nothing in Python."""

from __future__ import annotations

from analysis.spark import SparkOptions, open_spark
from harness.bench.checkers.passes import Counts, arguments, time_passes


def main() -> None:
    given = arguments()
    with open_spark(SparkOptions(memory_mb=given.memory_mb)) as spark:

        def nothing() -> Counts:
            spark.run([0], abs)
            return {}

        time_passes("empty", nothing, given.passes)


if __name__ == "__main__":
    main()
