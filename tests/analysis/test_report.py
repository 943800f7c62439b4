import dataclasses
import re

import pytest

from analysis.findings import SHOWN, Finding, Witness
from analysis.metrics import Measures
from analysis.report import REPORT_FILE, frame, write_report
from analysis.report.excerpt import excerpts
from analysis.report.found import PICTURES, PICTURES_OF_ONE, steps_of
from analysis.report.html import el, join
from analysis.report.page import page
from analysis.report.source import source_of
from analysis.report.words import seconds, sentence, short
from harness.history.beside import Fault
from harness.history.readers import open_history
from tests.analysis.corpus import ALL
from tests.analysis.reports import CIRCLE, CONFLICT, FAULTS, LOST, figures_of, make_run, measures, parsed, verdict_of
from tests.analysis.single_process import check

LARGEST = 6_000_000
PLOTLY = frame._plotly


@pytest.fixture(autouse=True)
def without_plotly(monkeypatch):
    """Its five megabytes are of no interest but to the test that is about them."""
    monkeypatch.setattr(frame, "_plotly", lambda: "/* Plotly stands here */")


def report(run, verdict=None, measured=None):
    return parsed(page(source_of(run, verdict or verdict_of(False), measured or measures())))


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "run")


@pytest.mark.parametrize(
    "valid, said", [(True, "It kept its promises."), (False, "It broke a promise."), ("unknown", "It cannot be told.")]
)
def test_the_verdict_comes_first_in_words_and_with_what_decided_it(run, valid, said):
    found = report(run, verdict_of(valid))
    first = next(found.one("main").all("section"))
    assert first.attributes["id"] == "verdict"
    assert first.one("h1").text == said
    assert "1 message is <lost>." in first.text


def test_every_anomaly_is_in_the_table_with_its_ruling_and_the_found_ones_lead_to_their_witnesses(run):
    found = report(run)
    promises = found.one(id="promises")
    rows = {next(row.all("th")).text.split("\n")[0]: row for row in promises.all("tr") if list(row.all("td"))}
    assert len(rows) == 33
    lost = next(row for title, row in rows.items() if title.startswith("lostacknowledged"))
    assert "✕ error" in lost.text and "acks=all" in lost.text
    assert next(lost.all("a")).attributes["href"] == "#anomaly-lost"
    assert {article.attributes["id"] for article in found.all("article")} == {
        "anomaly-lost",
        "anomaly-read-conflict",
        "anomaly-G1c",
        "anomaly-unseen",
    }


def test_settings_say_where_they_come_from(run):
    text = report(run).one(id="promises").text
    assert "acksallrecorded with the run" in text and "uncleannoassumed: nobody said" in text


def test_an_error_is_shown_before_what_is_allowed_with_its_count_and_sentence(run):
    articles = list(report(run).all("article"))
    assert [article.one("h3").text for article in articles] == ["lost", "read-conflict", "unseen", "G1c"]
    assert "✕ error" in articles[0].text and LOST.sentence in articles[0].text
    assert "12 times, 1 of them shown" in articles[2].text


def test_the_picture_of_a_lost_value_shows_who_has_it_and_who_has_not(run):
    lost = report(run).one(id="anomaly-lost")
    picture = lost.one(class_="cells")
    assert "5" in [text.text for text in picture.all("text", class_="offset")]
    absent = [group for group in picture.all("g", class_="absent")]
    assert len(absent) == 3, "two replicas and the final read lack it"
    assert "value" in " ".join(cell.attributes["class"] or "" for cell in picture.all("rect", class_="cell"))
    assert [text.text for text in lost.one(class_="names").all("tspan", class_="who")][:2] == ["n1", "n2"]


def test_an_offset_with_two_values_is_marked_in_words(run):
    picture = report(run).one(id="anomaly-read-conflict").one(class_="cells")
    assert [text.text for text in picture.all("text", class_="conflict-word")] == ["conflict"]


def test_without_dumps_the_picture_has_the_operations_alone(tmp_path):
    run = make_run(tmp_path / "run", dumped=False)
    found = excerpts(run, open_history(run), [LOST, CONFLICT])
    assert all(line.outcome is not None for line in found[LOST].lines)
    assert found[CONFLICT].conflicts == {3}


def test_a_witness_without_a_place_has_no_picture(run):
    assert excerpts(run, open_history(run), [CIRCLE, dataclasses.replace(LOST, topic="elsewhere")]) == {}


def test_values_far_apart_stand_side_by_side(run):
    twice = Witness("Value 1 is at 1 and 9.", (1,), (1, 109), "orders", 0, 1)
    offsets = excerpts(run, open_history(run), [twice])[twice].offsets
    assert {1, 2} <= set(offsets) and offsets == tuple(sorted(offsets))


def test_a_circle_is_drawn_with_what_leads_from_one_to_the_next(run):
    assert steps_of(CIRCLE) == [(0, 1, "wr"), (1, 0, "ww")]
    picture = report(run).one(id="anomaly-G1c").one("svg")
    assert [text.text for text in picture.all("text", class_="edge")] == ["wr", "ww"]
    assert "T1 op 1" in picture.text


def test_a_circle_whose_sentence_does_not_say_why_goes_round_in_order():
    assert steps_of(Witness("A circle.", (1,), (1, 2, 3))) == [(0, 1, ""), (1, 2, ""), (2, 0, "")]


def circles():
    return [case for case in ALL if case.has and case.anomaly in ("G0", "G1c-realtime", "G-single")]


@pytest.mark.parametrize("case", circles(), ids=lambda case: case.name)
def test_the_way_round_every_circle_is_read_from_its_sentence(case, tmp_path):
    case.write(tmp_path / "run")
    for witness in check(tmp_path / "run", names=[case.anomaly])[case.anomaly].witnesses:
        steps = steps_of(witness)
        assert all(label in ("ww", "wr", "rw", "time") for _, _, label in steps)
        assert {before for before, _, _ in steps} == set(range(len(witness.ops)))


def test_charts_have_rates_and_percentiles_with_the_faults_as_numbered_bands(run):
    figures = figures_of(report(run))
    assert set(figures) == {"rate", "latency", "lag"}
    assert [line["name"] for line in figures["rate"]["data"]] == ["acknowledged", "read", "unknown"]
    assert figures["latency"]["layout"]["yaxis"]["type"] == "log"
    layout = figures["rate"]["layout"]
    assert [(band["x0"], band["x1"]) for band in layout["shapes"]] == [(1.0, 2.0), (1.0, 3.0)]
    assert [(label["x"], label["text"]) for label in layout["annotations"]] == [(1.0, "1, 2")], "they begin together and share a label"


def test_final_reads_are_not_in_the_charts(run):
    (times,) = {tuple(line["x"]) for line in figures_of(report(run))["rate"]["data"]}
    assert max(times) < 3


def test_faults_are_told_with_their_proofs_states_and_effects(run):
    found = report(run).one(id="faults")
    first, second, third = found.one("ol", class_="faults").all("li")
    assert "✓ proven" in first.text and '"pid": 4711' in first.text
    assert "◐ covered by another fault" in second.text and "nothing was measured" in second.text and "not JSON" in second.text
    assert "✕ unproven" in third.text and "struck nobody" in third.text
    assert [bar.attributes["href"] for bar in found.all("a", class_="bar")] == ["#fault-1", "#fault-2"]


def test_coverage_tells_reached_from_not_reached_and_not_observable(run):
    text = report(run).one(id="coverage").text
    assert "leader-struck" in text and "Not reached" in text and "Not observable" in text


def test_a_calm_run_says_so(tmp_path):
    found = report(make_run(tmp_path / "run", faults=()), verdict_of(True, (), ()))
    assert "No anomaly of any kind was seen." in found.text
    assert "No fault was planned" in found.one(id="faults").text
    assert not list(found.all(id="anomalies")) and all(link.attributes["href"] != "#anomalies" for link in found.one("nav").all("a"))


def test_what_comes_from_outside_is_text_and_never_markup(run):
    source = page(source_of(run, verdict_of(False), measures()))
    assert "<stress>" not in source and "storm &amp; &lt;stress&gt;" in source
    assert "<b>bump" not in source


def test_every_link_leads_somewhere_and_every_id_is_there_once(run):
    found = report(run)
    ids = [node.attributes["id"] for node in found.all() if node.attributes.get("id")]
    assert len(ids) == len(set(ids))
    assert {str(link.attributes["href"])[1:] for link in found.all("a")} <= set(ids)


def test_the_page_is_one_a_reader_of_any_kind_can_use(run):
    found = report(run)
    assert found.one("html").attributes["lang"] == "en"
    assert len(list(found.all("h1"))) == 1
    assert all(section.attributes.get("aria-labelledby") for section in found.one("main").all("section"))
    for scrolling in found.all(class_="scroll"):
        assert scrolling.attributes["tabindex"] == "0" and scrolling.attributes["aria-label"]
    assert all(chart.attributes["aria-label"] for chart in found.all(class_="chart"))


def test_nothing_is_loaded_from_anywhere(run):
    found = report(run)
    assert not [node for node in found.all() if "src" in node.attributes or node.name in ("link", "iframe", "object")]
    (policy,) = (str(node.attributes["content"]) for node in found.all("meta") if node.attributes.get("http-equiv"))
    assert policy.startswith("default-src 'none'")


def test_many_witnesses_make_few_pictures(run):
    many = tuple(Witness(f"Value {value} is gone.", (value,), (value,), "orders", 0, value) for value in range(SHOWN))
    found = report(run, verdict_of(False, (Finding("lost", 5000, many), Finding("phantom", 5000, many))))
    assert len(list(found.all(class_="cells"))) == 2 * PICTURES_OF_ONE <= PICTURES
    assert len(list(found.one(id="anomaly-lost").one("ol").all("li"))) == SHOWN


def test_a_history_that_cannot_be_read_again_still_has_a_report(tmp_path):
    (tmp_path / "run").mkdir()
    found = report(tmp_path / "run", measured=Measures())
    assert found.one("h1").text == "It broke a promise."
    assert not list(found.all(class_="cells"))


@pytest.mark.parametrize("spoilt", ["plan.json", "faults.parquet", "records.parquet", "history/w00001-000000.parquet"])
def test_a_spoilt_file_costs_its_part_of_the_report_and_no_more(run, spoilt):
    (run / spoilt).write_bytes(b"spoilt")
    assert report(run).one("h1").text == "It broke a promise."


def test_the_report_is_one_file_with_plotly_once_and_under_its_size(run, monkeypatch):
    monkeypatch.setattr(frame, "_plotly", PLOTLY)
    path = write_report(run, verdict_of(False), measures())
    text = path.read_text()
    assert path == run / REPORT_FILE and path.stat().st_size < LARGEST
    assert len(re.findall(r"plotly\.js v\d", text)) == 1
    assert text.count("<script") - text.count("'<script") >= 3


def test_a_report_may_go_elsewhere_under_another_name(run, tmp_path):
    path = write_report(run, verdict_of(True), measures(), name="history.edn", to=tmp_path / "elsewhere.html")
    assert path.exists() and not (run / REPORT_FILE).exists()
    assert "history.edn" in path.read_text()


def test_elements_escape_text_and_attributes():
    assert el("p", "<&>", title='"', hidden=True, id=None, aria_label="x") == '<p title="&quot;" hidden aria-label="x">&lt;&amp;&gt;</p>'
    assert join("<", el("b", 1), [None, "x"]) == "&lt;<b>1</b>x"


def test_numbers_are_told_as_people_read_them():
    assert (short(7), short((3 << 40) + 7)) == ("7", "3·7")
    assert sentence(f"Value {(1 << 40) + 7} of `t<`") == (
        'Value <abbr class="number" title="1099511627783">1·7</abbr> of <code>t&lt;</code>'
    )
    assert [seconds(value) for value in (None, 0.0, 0.0123, 2.5, 12345.0, 3e-6)] == ["—", "0 s", "12.3 ms", "2.5 s", "12,345 s", "3 µs"]


def test_many_faults_have_no_numbers_that_would_hide_each_other(tmp_path):
    faults = tuple(dataclasses.replace(FAULTS[0], id=number) for number in range(60))
    found = report(make_run(tmp_path / "run", faults=faults), verdict_of(True, (), faults))
    layout = figures_of(found)["rate"]["layout"]
    assert len(layout["shapes"]) == 60 and layout["annotations"] == []


def test_an_unfinished_fault_reaches_to_the_end_of_the_timeline(tmp_path):
    faults: tuple[Fault, ...] = (dataclasses.replace(FAULTS[0], end=None),)
    bar = report(make_run(tmp_path / "run", faults=faults), verdict_of(True, (), faults)).one("a", class_="bar")
    left, width = (float(number) for number in re.findall(r"([\d.]+)%", str(bar.attributes["style"])))
    assert left + width == pytest.approx(100, abs=0.1)
