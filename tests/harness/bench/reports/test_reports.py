"""Reports say the same in every form: the acks table first, ratios with their intervals, fields that other tools know."""

import json

import pytest

from analysis.report import frame
from harness.bench.figures.results import LostUnderKills
from harness.bench.figures.summary import Summary
from harness.bench.reports.charts import charts
from harness.bench.reports.markdown import as_markdown
from harness.bench.reports.open_messaging import omb_results
from harness.bench.reports.page import as_page
from harness.bench.reports.rows import latencies_as_csv, loads_as_csv
from harness.bench.reports.tables import acks_table, number, tables
from harness.bench.suites.case import Case
from tests.analysis.reports import parsed
from tests.harness.bench.made_up import CASES, result

BOTH = ("highwater", "kafka")


@pytest.fixture(autouse=True)
def without_plotly(monkeypatch):
    monkeypatch.setattr(frame, "_plotly", lambda: "/* Plotly stands here */")


def test_the_acks_table_comes_first_and_has_the_price_of_each():
    first = tables(Summary(result()))[0]
    assert first == acks_table(Summary(result()))
    assert [row[0] for row in first.rows] == ["acks=0", "acks=1", "acks=all", "acks=all, single messages"]
    assert {"MB/s", "p50 ms", "p99 ms", "p99.9 ms", "broker CPU s/GB", "client CPU s/GB"} <= set(first.head)
    assert first.rows[2][1] == "101 (100–102)"


def test_messages_lost_under_kills_are_in_the_first_table_where_they_were_counted():
    assert "lost under a leader kill" not in acks_table(Summary(result())).head
    table = acks_table(Summary(result(losses=(LostUnderKills(0, "1", (3, 0, 5)),))))
    assert table.rows[1][table.head.index("lost under a leader kill")] == "8 in 3 kills (0–5 a kill)"


def test_markdown_has_every_table_and_what_it_is_true_of():
    text = as_markdown(Summary(result(BOTH)))
    assert text.startswith("# Benchmark made-up: highwater, kafka\n")
    assert "## highwater over kafka" in text and "2.00 (2.00 to 2.00)" in text
    assert "Java 21" in text and "A Processor <9000>" in text
    for line in (line for line in text.splitlines() if line.startswith("|")):
        assert line.endswith("|")


def test_the_page_has_every_section_and_escapes_what_it_was_told():
    found = parsed(as_page(Summary(result(BOTH))))
    sections = [section.attributes["id"] for section in found.one("main").all("section")]
    assert sections[:3] == ["acks", "ratios-0", "charts"] and sections[-1] == "machine"
    assert "A Processor <9000>" in found.one(id="machine").text
    figures = json.loads(found.one(id="figures").text)
    slots = {element.attributes["id"].removeprefix("chart-") for element in found.all("div") if element.attributes.get("class") == "chart"}
    assert set(figures) == slots == {"throughput", "percentiles", "end-to-end", "by-rate", "warm-up"}


def test_records_of_several_sizes_make_a_chart_by_size():
    cases = tuple(Case(acks=acks, record_bytes=size) for acks in ("1", "all") for size in (100, 1024))
    chart = next(chart for chart in charts(Summary(result(cases=cases))) if chart.name == "by-size")
    assert [line["x"] for line in chart.figure["data"]] == [[100, 1024]] * 2


def test_fields_are_named_as_in_the_openmessaging_benchmark():
    told = list(omb_results(Summary(result(BOTH))))
    assert len(told) == len(CASES) * 2
    one = told[1]
    assert (one["workload"], one["driver"], one["messageSize"], one["topics"], one["partitions"]) == ("acks=0", "kafka", 1024, 1, 6)
    assert len(one["publishRate"]) == len(one["publishLatency99pct"]) == len(one["endToEndLatency50pct"]) == 5
    assert one["aggregatedPublishLatency99pct"] == pytest.approx(46, rel=0.1)
    assert one["aggregatedPublishLatency999pct"] is not None and one["aggregatedPublishLatency9999pct"] is None
    assert one["publishLatency999pct"] == [None] * 5
    json.dumps(told, allow_nan=False)


def test_csv_has_a_line_a_round():
    summary = Summary(result(BOTH))
    assert len(loads_as_csv(summary).splitlines()) == 1 + 2 * len(CASES) * 5
    assert len(latencies_as_csv(summary).splitlines()) == 1 + 2 * len(CASES) * 5 * 2


@pytest.mark.parametrize("value, shown", [(None, "–"), (0.123, "0.12"), (12.34, "12.3"), (1234.5, "1,234")])
def test_numbers_have_three_digits_that_count(value, shown):
    assert number(value) == shown
