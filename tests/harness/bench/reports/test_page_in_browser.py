"""The page of a benchmark in a real browser: it draws, follows from light to dark, fits a phone, and the console stays empty."""

import pytest

from harness.bench.figures.summary import Summary
from harness.bench.reports.charts import charts
from harness.bench.reports.page import as_page
from tests.analysis.browser import needs_chromium, visit
from tests.harness.bench.made_up import CASES, result

pytestmark = needs_chromium


@pytest.fixture(params=[pytest.param("1200,900", id="wide"), pytest.param("420,900", id="phone", marks=pytest.mark.long)], scope="module")
def saw(request, tmp_path_factory):
    return visit(as_page(Summary(result(("highwater", "kafka")))), tmp_path_factory.mktemp("browser"), request.param)


def test_the_console_stays_empty_and_the_page_is_as_wide_as_its_window(saw):
    assert saw["heard"] == [] and not saw["wide"]


def test_every_chart_has_its_lines(saw):
    expected = [
        sum(trace["type"] == "scatter" for trace in chart.figure["data"]) for chart in charts(Summary(result(("highwater", "kafka"))))
    ]
    assert saw["drawn"] == expected and expected[1] == 2 * len(CASES)


def test_light_and_dark_are_a_click_apart_and_every_text_stands_out_in_both(saw):
    assert saw["dark"]["theme"] == "dark" and saw["light"]["line"] != saw["dark"]["line"]
    assert saw["light"]["faint"] == [] and saw["dark"]["faint"] == []


def test_every_section_is_a_click_away(saw):
    assert saw["visited"] == [f"#{name}" for name in ("acks", "ratios-0", "charts", "latency", "costs", "starts", "warm-up", "machine")]
