"""`./highwater cluster` as a user meets it, with a stand-in for the broker."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli.main import main
from harness.systems import local_cluster
from harness.systems.free_ports import free_ports, ports_in_use
from harness.systems.local_cluster import LocalCluster
from harness.systems.process import ProcessName

ROOT = Path(__file__).parents[3]
FAKE_BROKER = (sys.executable, str(Path(__file__).parents[1] / "fake_broker.py"))
UP = f"""
import sys
from harness.systems import local_cluster
local_cluster.BROKER = {FAKE_BROKER!r}
from harness.cli.main import main
sys.exit(main(["cluster", "up", *sys.argv[1:]]))
"""


def heed_ctrl_c() -> None:
    """As at a terminal: a shell has what it starts in the background ignore Ctrl-C, and these tests with it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def fake_brokers(monkeypatch):
    monkeypatch.setattr(local_cluster, "BROKER", FAKE_BROKER)


def up_in_foreground(data: Path, *arguments: str) -> tuple[subprocess.Popen[str], list[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", UP, "--data", str(data), *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_ctrl_c,  # noqa: PLW1509 (one thread)
    )
    assert process.stdout
    lines: list[str] = []
    while not lines or not lines[-1].startswith("Ctrl-C"):
        lines.append(process.stdout.readline())
        assert lines[-1], process.communicate()
    return process, lines


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_up_stays_until_it_is_told_to_end_and_then_stops_the_brokers(tmp_path, number):
    process, lines = up_in_foreground(tmp_path, "--nodes", "2", "--port", "0")
    broker = ProcessName.of(LocalCluster.open(tmp_path).pid(1) or 0)
    assert lines[0].startswith("bootstrap=127.0.0.1:") and lines[0].count(",") == 1
    process.send_signal(number)
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert out == "stopping\nstopped\n"
    assert not broker.alive()


def test_down_from_elsewhere_ends_the_foreground_command(tmp_path, capsys):
    process, _ = up_in_foreground(tmp_path, "--nodes", "1", "--port", "0")
    assert main(["cluster", "down", "--data", str(tmp_path)]) == 0
    out, _ = process.communicate()
    assert "node 1 ended (exit code 0)" in out
    assert process.returncode == 0


def test_a_detached_cluster_is_found_stopped_and_started_again(tmp_path, capsys):
    data = ["--data", str(tmp_path)]
    first = free_port_pair()
    assert main(["cluster", "up", "--nodes", "2", "--port", str(first), "--detach", *data]) == 0
    assert f"bootstrap=127.0.0.1:{first},127.0.0.1:{first + 1}\n" in capsys.readouterr().out
    assert main(["cluster", "up", *data]) == 254
    assert "already running" in capsys.readouterr().err
    assert main(["cluster", "down", *data]) == 0
    assert main(["cluster", "up", "--detach", *data]) == 0
    assert f"bootstrap=127.0.0.1:{first}," in capsys.readouterr().out
    assert main(["cluster", "down", *data]) == 0


def test_another_number_of_nodes_than_the_cluster_has_is_a_mistake(tmp_path, capsys):
    LocalCluster.create(tmp_path, 2)
    assert main(["cluster", "up", "--nodes", "3", "--data", str(tmp_path)]) == 254
    assert "has 2 nodes, not 3" in capsys.readouterr().err


def test_a_broker_that_cannot_start_is_quoted_with_exit_code_255(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(local_cluster, "BROKER", (*FAKE_BROKER, "--last-words", "the port is taken"))
    assert main(["cluster", "up", "--port", "0", "--nodes", "1", "--data", str(tmp_path)]) == 255
    assert "node 1 ended while starting: the port is taken" in capsys.readouterr().err


def test_the_status_of_a_stopped_cluster_is_known(tmp_path, capsys):
    cluster = LocalCluster.create(tmp_path, 2)
    assert main(["cluster", "status", "--json", "--data", str(tmp_path)]) == 0
    brokers = [{"id": node.id, "address": node.address, "pid": None, "alive": False} for node in cluster.plan.nodes]
    assert json.loads(capsys.readouterr().out) == {"controller": None, "brokers": brokers, "partitions": []}


@pytest.mark.parametrize("command", [["topics"], ["topics", "create", "t"], ["topics", "delete", "t"], ["elect"]])
def test_what_needs_a_running_cluster_says_how_to_start_it(tmp_path, capsys, command):
    LocalCluster.create(tmp_path, 1)
    assert main(["cluster", *command, "--data", str(tmp_path)]) == 255
    assert "cluster up --data" in capsys.readouterr().err


def test_logs_show_the_last_lines_of_each_node_under_its_number(tmp_path, capsys):
    cluster = LocalCluster.create(tmp_path, 2)
    cluster.log_path(1).write_text("a\nb\nc\n")
    cluster.log_path(2).write_text("d\n")
    assert main(["cluster", "logs", "--lines", "2", "--data", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "1 b\n1 c\n2 d\n"


def test_logs_of_one_node_are_its_lines_alone(tmp_path, capsys):
    LocalCluster.create(tmp_path, 2).log_path(2).write_text("d\n")
    assert main(["cluster", "logs", "--node", "2", "--data", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "d\n"
    assert main(["cluster", "logs", "--node", "3", "--data", str(tmp_path)]) == 254


def free_port_pair() -> int:
    while True:
        port = free_ports(1)[0]
        if not ports_in_use([port, port + 1]):
            return port
