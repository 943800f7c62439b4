"""Everything a result is shown as, beside it in its folder."""

from __future__ import annotations

import json
from pathlib import Path

from harness.bench.figures.results import Result
from harness.bench.figures.summary import Summary
from harness.bench.reports.markdown import as_markdown
from harness.bench.reports.open_messaging import omb_results
from harness.bench.reports.page import as_page
from harness.bench.reports.rows import latencies_as_csv, loads_as_csv

MARKDOWN, PAGE = "report.md", "report.html"


def write_reports(folder: Path, result: Result) -> Summary:
    summary = Summary(result)
    files = {
        MARKDOWN: as_markdown(summary),
        PAGE: as_page(summary),
        "loads.csv": loads_as_csv(summary),
        "latencies.csv": latencies_as_csv(summary),
        "open-messaging.json": json.dumps(list(omb_results(summary)), indent=1) + "\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return summary
