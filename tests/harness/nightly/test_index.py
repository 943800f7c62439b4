from harness.nightly.index import index_page
from harness.nightly.ledger import Ledger
from tests.harness.nightly.nights import entry


def page(tmp_path, *entries):
    ledger = Ledger(tmp_path)
    for each in entries:
        ledger.add(each)
    return index_page(ledger)


def test_a_page_without_nights_says_so(tmp_path):
    assert "No night has been run yet" in page(tmp_path)


def test_the_worst_of_a_night_stands_for_it(tmp_path):
    html = page(tmp_path, entry(seed=1), entry(seed=2, outcome="failed", why="lost: 3"), entry(seed=3))
    assert html.count('class="night') == 1
    assert 'class="night failed" title="failed, seed 2: lost: 3">F<' in html
    assert "2 of 3 runs passed" in html


def test_every_night_has_a_column_and_a_case_not_run_in_it_an_empty_cell(tmp_path):
    html = page(tmp_path, entry("a/highwater/namespaces/3"), entry("b/highwater/namespaces/3", night="2026-11-19"))
    assert "<th>11-18</th><th>11-19</th>" in html
    assert html.count("<td></td>") == 2


def test_what_a_broker_said_cannot_break_the_page(tmp_path):
    html = page(tmp_path, entry(outcome="failed", why="<script>alert(1)</script>", first_witness='"><b>'))
    assert "<script" not in html and "<b>" not in html


def test_states_never_reached_come_first(tmp_path):
    html = page(tmp_path, entry(reached=("leader-changed",), never_reached=("truncated",)))
    assert html.index('truncated</td><td class="number">never') < html.index('leader-changed</td><td class="number">1')
