"""The whole way from histories to their verdicts: read, check on Spark, judge, ask the second checker, write it down with the report.

One `Analysis` may answer for many histories with one Spark, which is started when the first of them needs it: an empty history or a broken
file is answered at once. The second checker and the report come after Spark's verdict and are timed apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from analysis.checking import Checked, check_histories
from analysis.jepsen import Imported, import_history
from analysis.judging import Question, context_for, disputed, verdict_on
from analysis.material import Material
from analysis.second_opinion import REFERENCE, differences, may_be_asked
from analysis.sources import Form, Source, opened, source_at
from analysis.spark import Spark, SparkOptions, open_spark
from analysis.verdict import Verdict, write_verdict

LARGE = 5_000_000
"""Rows from which Java's better compiler and collector pay off."""
SHARED_BYTES = 32 * 2**20
"""Of a foreign file from which on tasks share it."""
TOGETHER = 50
"""Histories that go through Spark at once."""

Progress = Callable[[str], None]


class Analysis:
    """Asks one Spark about some histories after the other. `progress` is told what is being done, a short line at a time."""

    def __init__(self, options: SparkOptions, progress: Progress) -> None:
        self._options = options
        self._progress = progress
        self._stack = ExitStack()
        self._spark: Spark | None = None

    def judge(self, sources: Sequence[Source], question: Question) -> Iterator[tuple[Source, Verdict]]:
        """One after the other. A run's verdict is also written into its folder, with the report."""
        for first in range(0, len(sources), TOGETHER):
            some = sources[first : first + TOGETHER]
            with ExitStack() as stack:
                materials = [stack.enter_context(opened(source, self._lay_out)) for source in some]
                yield from zip(some, self._judge(some, materials, question), strict=True)

    def __enter__(self) -> Analysis:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, trace)

    def _judge(self, sources: Sequence[Source], materials: Sequence[Material], question: Question) -> Iterator[Verdict]:
        began = time.monotonic()
        several = self._check(materials, question)
        seconds = time.monotonic() - began
        for source, material, checked in zip(sources, materials, several, strict=True):
            timed = {"rows": material.history.rows, "histories_together": len(materials), "spark_seconds": round(seconds, 3)}
            verdict = self._second_opinion(material, checked, question, timed)
            if source.form is Form.RUN:
                self._write(source.path, verdict, checked)
            yield verdict

    def _lay_out(self, source: Path, target: Path) -> Imported:
        """A large foreign file by Spark's tasks, each the operations of some processes; on this machine, where they see the same folder."""
        self._progress(f"laying out {source.name}")
        if not self._options.is_local or source.stat().st_size < SHARED_BYTES:
            return import_history(source, target)
        return import_history(source, target, shares=self._options.cores, run=self._started(large=True).run)

    def _check(self, materials: Sequence[Material], question: Question) -> list[Checked]:
        """Those without rows and dumps have nothing to tell Spark."""
        telling = {number: material for number, material in enumerate(materials) if material.history.rows or material.batches.groups}
        found: list[Checked] = []
        if telling:
            rows = sum(material.history.rows for material in telling.values())
            spark = self._started(large=rows >= LARGE)
            self._progress(f"checking {rows:,} rows")
            found = check_histories(spark, [(material, context_for(material, question)) for material in telling.values()])
        by_number = dict(zip(telling, found, strict=True))
        return [by_number.get(number, Checked()) for number in range(len(materials))]

    def _second_opinion(self, material: Material, checked: Checked, question: Question, timed: dict[str, float]) -> Verdict:
        verdict = verdict_on(material, checked, question)
        if may_be_asked(material):
            self._progress(f"Spark's verdict after {timed['spark_seconds']:.1f} s; asking the second checker")
            began = time.monotonic()
            verdict = disputed(verdict, REFERENCE, differences(material, checked.findings, question))
            timed["reference_seconds"] = round(time.monotonic() - began, 3)
        return replace(verdict, metrics={**verdict.metrics, "analysis": timed})

    def _write(self, run: Path, verdict: Verdict, checked: Checked) -> None:
        from analysis.report import write_report

        write_verdict(run, verdict)
        self._progress("writing the report")
        write_report(run, verdict, checked.measures)

    def _started(self, *, large: bool) -> Spark:
        if self._spark is None:
            self._progress("starting Spark")
            self._spark = self._stack.enter_context(open_spark(replace(self._options, large=large)))
        return self._spark


def judge_run(run: Path, progress: Progress) -> Verdict:
    with Analysis(SparkOptions(), progress) as analysis:
        ((_, verdict),) = analysis.judge([source_at(run)], Question())
        return verdict
