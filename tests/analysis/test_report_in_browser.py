"""The report in a real browser: it draws, it can be clicked through, and the console stays empty."""

import pytest

from analysis.report import write_report
from tests.analysis.browser import needs_chromium, visit
from tests.analysis.reports import make_run, measures, verdict_of

pytestmark = needs_chromium


@pytest.fixture(params=[pytest.param("1200,900", id="wide"), pytest.param("420,900", id="phone", marks=pytest.mark.long)], scope="module")
def saw(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    return visit(write_report(make_run(folder / "run"), verdict_of(False), measures()).read_text(), folder, request.param)


def test_the_console_stays_empty(saw):
    assert saw["heard"] == []


def test_every_chart_has_its_lines(saw):
    assert saw["drawn"] == [3, 3, 3]


def test_light_and_dark_are_a_click_apart_and_the_charts_follow(saw):
    assert (saw["light"]["words"], saw["dark"]["words"]) == ("Switch to dark", "Switch to light")
    assert saw["dark"]["theme"] == "dark"
    assert saw["light"]["line"] != saw["dark"]["line"]


def test_every_text_stands_out_from_its_ground(saw):
    assert saw["light"]["faint"] == [] and saw["dark"]["faint"] == []


def test_everything_opens_and_every_section_and_fault_is_a_click_away(saw):
    assert saw["opened"]
    assert saw["visited"] == [f"#{name}" for name in ("verdict", "promises", "anomalies", "charts", "faults", "coverage", "plan")] + [
        "#fault-1",
        "#fault-2",
    ]


def test_the_page_is_as_wide_as_its_window_and_pictures_begin_at_the_point(saw):
    assert not saw["wide"] and saw["centred"]
