from xml.etree import ElementTree

from harness.nightly.agenda import Planned
from harness.nightly.junit import junit
from harness.nightly.summary import markdown
from tests.harness.nightly.nights import case, entry

FAILED = entry(
    seed=7, outcome="failed", why="lost: 3", first_witness="Value 17 <was> \x00lost.", command="./highwater run --again results/x"
)
DOUBTFUL = entry(seed=8, outcome="cannot tell", why="a fault was not proven", never_reached=("truncated", "epoch-fenced"))
SOUND = entry(seed=9, recovery_s=2.25, never_reached=("truncated",))


def test_junit_counts_failures_and_errors_and_says_how_to_see_it_again():
    root = ElementTree.fromstring(junit("2026-11-18", [FAILED, DOUBTFUL, SOUND]).partition("\n")[2])
    suite = root[0]
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {"tests": "3", "failures": "1", "errors": "1"}
    failure = suite[0].find("failure")
    assert failure is not None and failure.get("message") == "lost: 3"
    assert failure.text == "Value 17 <was> \ufffdlost.\nagain: ./highwater run --again results/x\nkept in results/x"
    assert suite[1].find("error") is not None
    assert len(suite[2]) == 0 and suite[2].get("name") == "calm seed 9"


def test_a_night_without_runs_is_still_a_file_that_can_be_read():
    assert ElementTree.fromstring(junit("2026-11-18", []).partition("\n")[2])[0].get("tests") == "0"


def test_the_summary_tells_failures_first_with_the_command():
    text = markdown("2026-11-18", [SOUND, FAILED, DOUBTFUL], [Planned(case("storm"), 1, "longest unproven")])
    assert "1 passed, 1 failed, 1 cannot tell; 3 minutes." in text
    assert text.index("## ❌") < text.index("| ✅ |")
    assert "    ./highwater run --again results/x" in text
    assert "2.2 s" in text
    assert "No time was left for 1: storm/highwater/namespaces/3." in text


def test_only_what_no_run_reached_was_never_reached():
    text = markdown("2026-11-18", [SOUND, DOUBTFUL], [])
    assert "Never reached this night: truncated." in text
