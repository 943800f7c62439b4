"""However a run ends, nothing of it is left on the machine, and what it recorded is kept."""

import signal

import pytest

from harness.errors import CANNOT_TELL
from harness.history.beside import UNPROVEN, Fault, read_rows
from harness.history.plan import read_plan
from harness.history.readers import open_history
from harness.nodes.namespaces import NamespaceNetwork
from harness.run import prepare, run_scenario
from harness.run.display import PlainLines
from harness.scenarios import resolve
from tests.harness.run.running import UNCHECKED, RunProcess, eventually, mounts_in, processes_in

pytestmark = pytest.mark.usefixtures("namespaces")

PHASES = ("deploy", "warm up", "run:", "heal", "final reads", "dump", "collect")


def test_a_fault_that_did_nothing_behind_its_own_back_is_unproven_and_nobody_can_tell(tmp_path, monkeypatch):
    monkeypatch.setattr(NamespaceNetwork, "block", lambda *_, **__: None)
    load = {"--topics": 1, "--partitions": 2, "--live-partitions": 1, "--rate": 100, "--workers": 1}
    times = {"--warm-up": 0.0, "--time-limit": 3.0, "--recovery": 100.0}
    faults = [{"kind": "partition", "variant": "one", "target": "n1", "at": 0.5, "lasts": 2.0}]
    said: list[str] = []
    outcome = run_scenario(
        prepare(resolve("default", {**load, **times, "--fault": faults, "--seed": 1})), tmp_path, PlainLines(said.append)
    )
    assert [fault.state for fault in outcome.faults] == [UNPROVEN]
    assert outcome.exit_code == CANNOT_TELL
    assert outcome.doubts == ("fault 1 (partition:one on n1) was not proven",)
    assert outcome.finals_complete
    assert read_rows(outcome.folder, Fault) == list(outcome.faults)
    assert processes_in(tmp_path) == []


def test_a_run_that_fails_says_why_keeps_the_logs_and_leaves_nothing(tmp_path):
    plugin = tmp_path / "broken.py"
    plugin.write_text("def install():\n    raise SystemExit('broken on purpose')\n")
    with RunProcess(tmp_path / "results", *UNCHECKED, "--fault", "none", "--plugin", str(plugin)) as run:
        assert run.end() == 255
    assert "ended while starting: broken on purpose" in run.text and "Traceback" not in run.text
    assert b"broken on purpose" in (run.folder / "nodes" / "n1" / "broker.log").read_bytes()
    assert processes_in(tmp_path) == [] and mounts_in(tmp_path) == []
    assert not (run.folder / "work").exists() and not (run.folder / "running.json").exists()


@pytest.mark.parametrize("phase", ["run:", *(pytest.param(phase, marks=pytest.mark.long) for phase in PHASES if phase != "run:")])
def test_ctrl_c_heals_and_collects_and_leaves_nothing(tmp_path, phase):
    """`collect` is not interrupted any more: it is what an interruption leads to."""
    faults = "kill@n1/at=0/lasts=3,pause@n2/at=0/lasts=3,partition:one@n3/at=0/lasts=3"
    with RunProcess(tmp_path, *UNCHECKED, "--time-limit", "4", "--fault", faults) as run:
        run.until(f"s  {phase}")
        if phase == "run:":
            run.until("fault 1: kill on n1")
        run.signal(signal.SIGINT)
        code = run.end()
    assert code == (0 if phase == "collect" else 130), run.text
    assert ("interrupted: healing and collecting" in run.text) == (phase != "collect")
    assert f"results: {run.folder}" in run.text and "Traceback" not in run.text
    assert processes_in(tmp_path) == [] and mounts_in(tmp_path) == []
    assert not (run.folder / "work").exists() and not (run.folder / "running.json").exists()
    assert read_plan(run.folder).seed == 7
    if phase not in ("deploy", "warm up"):
        assert open_history(run.folder).rows > 0
        assert "kill" in {fault.fault for fault in read_rows(run.folder, Fault)}


@pytest.mark.long
def test_a_second_ctrl_c_leaves_at_once_and_says_how_to_clean(tmp_path):
    with RunProcess(tmp_path, *UNCHECKED, "--fault", "kill@n1/at=0/lasts=50") as run:
        run.until("fault 1: kill on n1")
        run.signal(signal.SIGINT)
        run.until("interrupted")
        run.signal(signal.SIGINT)
        assert run.end() == 130
    assert "left at once; `./highwater clean`" in run.text
    eventually(lambda: processes_in(tmp_path) == [])
    with RunProcess(tmp_path, command=["clean"]) as cleaning:
        assert cleaning.end() == 0
    assert f"tidied {run.folder}" in cleaning.text
    assert not (run.folder / "work").exists()


def test_what_a_killed_harness_left_is_cleaned_its_history_saved_and_a_living_run_s_is_not_touched(tmp_path):
    with RunProcess(tmp_path, *UNCHECKED, "--fault", "none") as run:
        run.until("run: 60 s")
        run.until("run; ")
        with RunProcess(tmp_path, command=["clean"]) as cleaning:
            assert cleaning.end() == 0
        assert cleaning.text == "nothing is left of any run\n"
        assert (run.folder / "work").exists()
        assert run.process.poll() is None and processes_in(tmp_path) != []
        run.signal(signal.SIGKILL)
        run.end()
    eventually(lambda: processes_in(tmp_path) == [])
    with RunProcess(tmp_path, command=["clean"]) as cleaning:
        assert cleaning.end() == 0
    assert f"tidied {run.folder}, and saved what its workers had recorded" in cleaning.text
    assert not (run.folder / "work").exists() and not (run.folder / "running.json").exists()
    assert mounts_in(tmp_path) == []
    assert open_history(run.folder).rows > 0
    with RunProcess(tmp_path, command=["clean"]) as cleaning:
        assert cleaning.end() == 0
    assert cleaning.text == "nothing is left of any run\n"
