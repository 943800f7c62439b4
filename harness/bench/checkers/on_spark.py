"""Ours: Spark's tasks read and check their own buckets. One Spark for all passes: the core checks, then all of them.

The core checks are those that the others answer for, and nothing beside; all checks are what `./highwater check` does, with everything that
it measures.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from analysis import families
from analysis.analysing import LARGE
from analysis.anomalies import ANOMALIES
from analysis.checking import check_history
from analysis.judging import Question, context_for
from analysis.sources import material_of, source_at
from analysis.spark import Spark, SparkOptions, open_spark
from harness.bench.checkers.passes import Counts, arguments, time_passes

NAMES = {"core": families.CORE, "all": families.ALL}


def main() -> None:
    given = arguments()
    material = material_of(source_at(given.run))
    context = context_for(material, Question())

    def check(spark: Spark, names: Collection[str]) -> Counts:
        checked = check_history(spark, material, context, names, alone=names == families.CORE)
        if checked.problems:
            raise SystemExit("\n".join(checked.problems))
        return {name: checked.findings[name].count if name in checked.findings else 0 for name in ANOMALIES if name in names}

    with open_spark(SparkOptions(memory_mb=given.memory_mb, large=material.history.rows >= LARGE)) as spark:
        for name in given.names:
            time_passes(name, partial(check, spark, NAMES[name]), given.passes)


if __name__ == "__main__":
    main()
