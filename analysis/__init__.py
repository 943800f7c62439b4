"""Analysis: from a history to anomalies with witnesses, metrics and a report, on Apache Spark.

`judge` is the entry for whoever has a run; `analysing` has the same for many histories at once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.verdict import Verdict


def judge(run: Path, *, progress: Callable[[str], None] = lambda _: None) -> Verdict:
    """The verdict on a run, also written into its folder with the report. HistoryError and SparkTrouble tell what stands in the way."""
    from analysis.analysing import judge_run

    return judge_run(run, progress)
