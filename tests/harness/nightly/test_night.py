import json
import random

import pytest

from harness.cli.nightly import main
from harness.nightly.agenda import Agenda
from harness.nightly.ledger import Ledger
from harness.nightly.night import Ended, Night, thin_out
from tests.harness.nightly.nights import case

VERDICT = {
    "why": ["lost, 3 times."],
    "anomalies": {
        "unseen": {"forbidden": False, "witnesses": [{"sentence": "seen"}]},
        "lost": {"forbidden": True, "witnesses": [{"sentence": "gone"}]},
    },
    "coverage": {"truncated": {"state": "reached", "count": 3}, "epoch-fenced": {"state": "not reached"}},
    "metrics": {"faults": [{"id": 1, "recovery": 1.5}, {"id": 2, "recovery": 0.5}, {"id": 3, "recovery": None}]},
}


def night(tmp_path, *cases):
    ledger = Ledger(tmp_path / "nightly")
    return Night("tonight", tmp_path / "nightly", tmp_path, Agenda(cases, ledger, random.Random(1)), ledger, lambda _: None)


def a_run(tmp_path, name, code, verdict=None):
    folder = tmp_path / name
    (folder / "history").mkdir(parents=True)
    (folder / "plan.json").write_text("{}")
    if verdict:
        (folder / "verdict.json").write_text(json.dumps(verdict))
    return Ended(code, f"   1.0 s  results: {folder}\n", "")


def test_a_failure_is_kept_with_its_witness_and_does_not_end_the_night(tmp_path):
    ends = iter([a_run(tmp_path, "bad", 1, VERDICT), a_run(tmp_path, "good", 0)])
    entries = night(tmp_path, case("a"), case("b")).run(1e6, lambda words: next(ends))
    assert [entry.outcome for entry in entries] == ["failed", "passed"]
    assert (entries[0].why, entries[0].first_witness, entries[0].recovery_s) == ("lost, 3 times.", "gone", 1.5)
    assert (entries[0].reached, entries[0].never_reached) == (("truncated",), ("epoch-fenced",))
    assert entries[0].command == f"./highwater run --again {tmp_path / 'bad'}"
    assert (tmp_path / "bad" / "history").is_dir()
    assert sorted(path.name for path in (tmp_path / "good").iterdir()) == ["plan.json"]


def test_a_run_that_breaks_is_an_error_with_its_last_words(tmp_path):
    (entry,) = night(tmp_path, case("a")).run(1e6, lambda words: Ended(255, "", "highwater: no space left"))
    assert (entry.outcome, entry.why) == ("error", "highwater: no space left")
    assert entry.command == f"./highwater run a --seed {entry.seed}"


def test_outputs_are_there_after_every_run(tmp_path):
    seen = []

    def execute(words):
        seen.append((tmp_path / "nightly" / "junit.xml").read_text().count("<testcase"))
        return Ended(2, "", "nobody can tell")

    night(tmp_path, case("a"), case("b")).run(1e6, execute)
    assert seen == [0, 1]
    assert (tmp_path / "nightly" / "index.html").exists() and (tmp_path / "nightly" / "summary.md").exists()


def test_a_night_without_time_runs_nothing_and_says_what_was_left(tmp_path):
    quiet = night(tmp_path, case("a"))
    assert quiet.run(1.0, lambda words: pytest.fail("there was no time")) == []
    assert "No time was left for 1" in (tmp_path / "nightly" / "summary.md").read_text()


def test_thinning_leaves_a_folder_that_is_gone_alone(tmp_path):
    thin_out(tmp_path / "nowhere")


def test_a_budget_that_is_none_is_the_user_s_mistake():
    from harness.errors import UserMistake

    with pytest.raises(UserMistake, match="no length of time"):
        main(["--budget", "soon"])
