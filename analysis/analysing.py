"""The whole way from a history to its verdict: read, check on Spark, judge, ask the second checker, write it down.

One `Analysis` may answer for many histories with one Spark, which is started when the first of them needs it: an empty history or a broken
file is answered at once. The second checker comes after Spark's verdict and is timed apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from analysis.checking import Checked, check_history
from analysis.judging import Question, context_for, disputed, verdict_on
from analysis.material import Material
from analysis.second_opinion import REFERENCE, differences, may_be_asked
from analysis.sources import Form, Source, material_of, source_at
from analysis.spark import Spark, SparkOptions, open_spark
from analysis.verdict import Verdict, write_verdict

LARGE = 5_000_000
"""Rows from which Java's better compiler and collector pay off."""

Progress = Callable[[str], None]


class Analysis:
    """Asks one Spark about one history after the other. `progress` is told what is being done, a short line at a time."""

    def __init__(self, options: SparkOptions, progress: Progress) -> None:
        self._options = options
        self._progress = progress
        self._stack = ExitStack()
        self._spark: Spark | None = None

    def judge(self, source: Source, question: Question) -> Verdict:
        """Also written into the folder, where the source is a run's."""
        verdict = self._judge(material_of(source), question)
        if source.form is Form.RUN:
            write_verdict(source.path, verdict)
        return verdict

    def __enter__(self) -> Analysis:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, trace)

    def _judge(self, material: Material, question: Question) -> Verdict:
        began = time.monotonic()
        checked = self._check(material, question)
        verdict = verdict_on(material, checked, question)
        timed = {"rows": material.history.rows, "spark_seconds": round(time.monotonic() - began, 3)}
        if may_be_asked(material):
            self._progress(f"Spark's verdict after {timed['spark_seconds']:.1f} s; asking the second checker")
            began = time.monotonic()
            verdict = disputed(verdict, REFERENCE, differences(material, checked.findings, question))
            timed["reference_seconds"] = round(time.monotonic() - began, 3)
        return replace(verdict, metrics={**verdict.metrics, "analysis": timed})

    def _check(self, material: Material, question: Question) -> Checked:
        if not material.history.rows and not material.batches.groups and not material.records.groups:
            return Checked()
        spark = self._started(large=material.history.rows >= LARGE)
        return check_history(spark, material, context_for(material, question))

    def _started(self, *, large: bool) -> Spark:
        if self._spark is None:
            self._progress("starting Spark")
            self._spark = self._stack.enter_context(open_spark(replace(self._options, large=large)))
        return self._spark


def judge_run(run: Path, progress: Progress) -> Verdict:
    with Analysis(SparkOptions(), progress) as analysis:
        return analysis.judge(source_at(run), Question())
