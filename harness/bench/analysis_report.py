"""The figures of `bench analysis` as tables for people."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from harness.bench.analysis import DUCKDB, FLOOR, LOOP, OURS, AnalysisReport
from harness.bench.report import PLAIN_WIDTH, number
from harness.bench.timed_checkers import Timed

_NAMES = {OURS: "ours on Spark", DUCKDB: "DuckDB", LOOP: "a loop in Python", FLOOR: "merely reading"}
_VERDICTS = {True: "met", False: "not met", None: "-"}


def show(report: AnalysisReport) -> None:
    console = Console() if sys.stdout.isatty() else Console(width=PLAIN_WIDTH, color_system=None)
    for table in (_engines(report), _goals(report)):
        console.print(table)
    for sentence in report.wrong:
        console.print(f"wrong: {sentence}", highlight=False)
    if not report.wrong:
        console.print("every engine found exactly what was injected", highlight=False)


def _engines(report: AnalysisReport) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("rows", "who", "checks", "cold s", "rows/s", "warm s", "rows/s", "peak GB"):
        table.add_column(name, justify="left" if name in ("who", "checks") else "right")
    for one in report.timed:
        for place, name in enumerate(dict.fromkeys(each.name for each in one.passes)):
            table.add_row(f"{one.rows:,}", _NAMES[one.engine], name, *_figures(one, name, first=place == 0), number(one.peak_bytes / 1e9))
    return table


def _figures(one: Timed, name: str, *, first: bool) -> list[str]:
    cold = one.cold_s if first else float("nan")
    warm = one.warm_s(name)
    return [number(cold), number(one.rows / cold), number(warm), number(one.rows / warm)]


def _goals(report: AnalysisReport) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("what", "reached", "wanted", ""):
        table.add_column(name)
    for goal in report.goals:
        sign = ">=" if goal.at_least else "<"
        table.add_row(goal.what, f"{number(goal.reached)} {goal.unit}", f"{sign} {number(goal.wanted)} {goal.unit}", _VERDICTS[goal.met])
    return table
