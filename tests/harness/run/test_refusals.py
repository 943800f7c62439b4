"""What cannot be is refused before anything is started or written, in one line with the reason."""

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli.main import main
from tests.harness.nodes.kinds import missing
from tests.harness.run.running import ROOT


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["nightmare"], "there is no scenario 'nightmare'"),
        (["--fault", "earthquake"], "there is no fault 'earthquake'"),
        (["--nodes", "2"], "more than there are nodes"),
        (["--fault", "kill", "--system", "external", "--bootstrap", "h:1"], "none can be given"),
        (["--system", "external", "--bootstrap", "h:1", "--fault", "none", "--set", "log.roll.ms=9000"], "not deploy"),
        (["--nodes-kind", "ssh"], "needs the TOML file of its hosts"),
        (["--nodes-kind", "ssh", "--inventory", "/nowhere.toml"], "/nowhere.toml cannot be read"),
        (["--plugin", "/nowhere.py"], "there is no plugin /nowhere.py"),
        (["--again", "nothing"], "there is no run 'nothing'"),
        (["--again", "latest", "--seed", "3"], "no scenario and no other flags"),
        (["--again", "latest", "storm"], "no scenario and no other flags"),
        (["--same-nodes"], "--same-nodes belongs to --again"),
    ],
)
def test_what_other_arguments_would_mend_is_254(tmp_path, capsys, arguments, words):
    assert main(["run", "--results", str(tmp_path / "results"), *arguments]) == 254
    complaint = capsys.readouterr().err
    assert words in complaint
    assert complaint.startswith("highwater: ") and complaint.count("\n") == 1
    assert not list(tmp_path.glob("results/*"))


def test_all_mistakes_of_a_scenario_are_told_at_once(tmp_path, capsys):
    scenario = tmp_path / "wrong.toml"
    scenario.write_text('nodes = 77\nsystem = "rabbit"\n[clients]\nacks = "most"\n[workload]\nrate = -1\n')
    assert main(["run", str(scenario), "--results", str(tmp_path / "results")]) == 254
    complaint = capsys.readouterr().err
    assert all(field in complaint for field in ("nodes", "system", "clients.acks", "workload.rate"))
    assert not (tmp_path / "results").exists()


def test_a_missing_docker_engine_is_255_and_nothing_is_started(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    assert main(["run", "--nodes-kind", "docker", "--results", str(tmp_path / "results")]) == 255
    complaint = capsys.readouterr().err
    assert "no Docker engine answers" in complaint and complaint.count("\n") == 1
    assert not list(tmp_path.glob("results/*"))


def test_brokers_that_do_not_answer_are_255_and_nothing_is_started(tmp_path, capsys):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        server = f"127.0.0.1:{bound.getsockname()[1]}"
        flags = ["--system", "external", "--bootstrap", server, "--fault", "none"]
        assert main(["run", *flags, "--results", str(tmp_path / "results")]) == 255
    complaint = capsys.readouterr().err
    assert f"no broker answers ({server}: Connection refused)" in complaint and complaint.count("\n") == 1
    assert not list(tmp_path.glob("results/*"))


def test_a_clock_library_that_is_not_there_is_255(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("harness.systems.clock_file.faketime_library", lambda: tmp_path / "no.so")
    assert main(["run", "--results", str(tmp_path / "results")]) == 255
    assert "clock faults need the library" in capsys.readouterr().err
    assert not list(tmp_path.glob("results/*"))


def test_a_place_for_results_without_room_is_255(tmp_path, capsys, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=5 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert main(["run", "--results", str(tmp_path / "results")]) == 255
    complaint = capsys.readouterr().err
    assert "has 5 MiB left" in complaint and "--results" in complaint and complaint.count("\n") == 1
    assert not list(tmp_path.glob("results/*"))


def test_a_full_disk_is_one_line_and_255(tmp_path):
    """A real one, of one page, in a mount namespace of its own."""
    reason = missing("namespaces")
    if reason:
        pytest.skip(reason)
    done = on_a_full_disk(tmp_path, "run", "--results", str(tmp_path / "full"))
    assert done.returncode == 255, done.stderr
    assert "No space left on device" in done.stderr and done.stderr.count("\n") == 1
    assert done.stdout.count("\n") <= 1


def on_a_full_disk(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "full").mkdir()
    script = 'mount -t tmpfs -o size=4k none "$0" && head -c 4096 /dev/zero >"$0/fills-it" && exec "$@"'
    command = ["unshare", "-Urm", "sh", "-c", script, str(folder / "full"), sys.executable, "-m", "harness.cli", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
