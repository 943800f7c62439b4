"""The report of a load tells every figure and every error, in three forms."""

import json
import math

from harness.bench.shaped_load.outcome import ClientError, LoadOutcome, Requests, Second
from harness.bench.shaped_load.plan import LoadPlan, locust_command
from harness.bench.shaped_load.report import as_html, as_json, as_markdown

PLAN = LoadPlan("spike", users=8, seconds=15)


def outcome(folder):
    produced = Requests("produce", 1234, 34, 1_263_616, 5.0, 60.0, math.nan, 61.5)
    seconds = (Second(0, 3, 100, 90, 0, math.nan), Second(1, 9, 1134, 1000, 34, 60.0))
    return LoadOutcome(folder, (produced,), seconds, (ClientError("produce", "a | <b>", 34),), appended=1200)


def test_markdown_has_the_figures_the_errors_and_what_the_brokers_count(tmp_path):
    text = as_markdown(PLAN, outcome(tmp_path))
    assert "| produce | 1,234 | 34 | 1.26 | 5.00 | 60.0 | - | 61.5 |" in text
    assert "1,200 messages were acknowledged; the brokers' own metrics count 1,200 appended." in text
    assert "| produce | a / <b> | 34 |" in text


def test_the_page_needs_nothing_from_elsewhere_and_escapes_what_clients_were_told(tmp_path):
    page = as_html(PLAN, outcome(tmp_path))
    assert "http" not in page and "<script" not in page
    assert "a | &lt;b&gt;, 34 times" in page and page.count("<figure") == 3


def test_json_has_null_for_what_is_not_known(tmp_path):
    content = json.loads(as_json(PLAN, outcome(tmp_path)))
    assert content["requests"][0]["p999"] is None and content["plan"]["shape"] == "spike"
    assert content["seconds"][1]["failed"] == 34


def test_one_that_was_ended_before_its_time_says_so(tmp_path):
    cut_short = LoadOutcome(tmp_path, (), (), (), interrupted=True)
    assert "It was ended before its time." in as_markdown(PLAN, cut_short)


def test_with_pages_it_listens_on_this_machine_alone(tmp_path):
    command = locust_command(PLAN, "h:1", "t", tmp_path, ui_port=8123)
    assert command[command.index("--web-host") + 1] == "127.0.0.1" and "--headless" not in command
    assert "--headless" in locust_command(PLAN, "h:1", "t", tmp_path)
