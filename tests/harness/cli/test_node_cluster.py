"""A cluster of namespaces to play with: reached from inside, struck by hand, and gone when it is taken down."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cli.main import main
from harness.nodes.docker_nodes import RUN_LABEL, connect_engine
from tests.harness.cli.test_cluster import heed_ctrl_c
from tests.harness.nodes.kinds import missing
from tests.harness.run.running import ROOT, processes_in

CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], 9092), timeout=30); print('reached')"


def highwater(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "harness.cli", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=110)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Iterator[Path]:
    reason = missing("namespaces")
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("nodes") / "cluster"
    made = highwater("cluster", "up", "--nodes-kind", "namespaces", "--detach", "--data", str(folder))
    assert made.returncode == 0, made.stderr
    assert "bootstrap=198.18.0.1:9092,198.18.0.2:9092,198.18.0.3:9092" in made.stdout
    yield folder
    highwater("cluster", "down", "--data", str(folder))


def test_a_command_beside_the_brokers_reaches_them_and_its_exit_code_is_ours(data):
    inside = highwater("cluster", "exec", "--data", str(data), "--", sys.executable, "-c", CONNECT, "198.18.0.2")
    assert (inside.returncode, inside.stdout) == (0, "reached\n"), inside.stderr
    assert highwater("cluster", "exec", "--data", str(data), "--", "sh", "-c", "exit 7").returncode == 7


def test_a_fault_strikes_by_hand_is_seen_by_others_and_healed_by_ctrl_c(data):
    strike = [sys.executable, "-m", "harness.cli", "fault", "pause", "--target", "n2", "--for", "3600", "--data", str(data)]
    with subprocess.Popen(strike, cwd=ROOT, stdout=subprocess.PIPE, text=True, preexec_fn=heed_ctrl_c) as striking:  # noqa: PLW1509
        assert striking.stdout and next(line for line in striking.stdout if ":" in line and "Ctrl-C" not in line) == "n2: in effect\n"
        assert states(data, "n2") == ["T"]
        striking.send_signal(signal.SIGINT)
        told, _ = striking.communicate(timeout=60)
    assert striking.returncode == 0 and "struck n2: proven" in told
    assert states(data, "n2") not in ([], ["T"])


def test_a_killed_broker_comes_back_with_its_clock_under_control(data):
    killed = highwater("fault", "kill", "--target", "n1", "--for", "2", "--data", str(data))
    assert killed.returncode == 0 and "struck n1: proven" in killed.stdout, killed
    clock = highwater("fault", "clock:bump/offset=60", "--target", "n1", "--for", "2", "--data", str(data))
    assert clock.returncode == 0 and '"offset": 60' in clock.stdout, clock


def test_the_status_names_every_broker(data):
    found = json.loads(highwater("cluster", "status", "--json", "--data", str(data)).stdout)
    assert [(broker["node"], broker["up"]) for broker in found["brokers"]] == [("n1", True), ("n2", True), ("n3", True)]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["fault", "earthquake"], "there is no fault 'earthquake'"),
        (["fault", "kill@n1"], "whom is --target"),
        (["fault", "kill,pause"], "one at a time"),
        (["fault", "kill", "--for", "never"], "not a number of seconds"),
        (["fault", "kill", "--target", "moon landing"], "is no target"),
        (["cluster", "topics"], "reached from inside only"),
        (["cluster", "exec"], "what is to be run?"),
        (["cluster", "up"], "is running already"),
        (["cluster", "up", "--nodes-kind", "docker"], "holds a cluster of the kind namespaces, and none of the kind docker"),
        (["cluster", "up", "--port", "9000"], "leave out --port"),
    ],
)
def test_a_mistake_is_one_line_and_254(data, capsys, arguments, words):
    assert main([*arguments, "--data", str(data)]) == 254
    complaint = capsys.readouterr().err
    assert words in complaint and complaint.count("\n") == 1


def test_without_a_cluster_nothing_can_be_struck(tmp_path, capsys):
    assert main(["fault", "kill", "--data", str(tmp_path)]) == 254
    assert "no cluster on nodes of its own runs" in capsys.readouterr().err


def test_down_leaves_no_process_and_up_again_finds_the_data(data):
    assert highwater("cluster", "down", "--data", str(data)).returncode == 0
    assert processes_in(data) == []
    identity = (data / "n1" / "broker.toml").read_text()
    assert highwater("cluster", "up", "--detach", "--data", str(data)).returncode == 0
    assert (data / "n1" / "broker.toml").read_text() == identity
    assert highwater("cluster", "down", "--data", str(data)).stdout == "stopped\n"
    assert processes_in(data) == []


@pytest.mark.docker
@pytest.mark.timeout(300)
def test_a_cluster_of_containers_is_struck_by_hand_survives_cleaning_and_is_gone_when_it_is_down(tmp_path):
    reason = missing("docker")
    if reason:
        pytest.skip(reason)
    where = ["--data", str(tmp_path / "cluster")]
    made = highwater("cluster", "up", "--nodes-kind", "docker", "--detach", "--nodes", "1", *where)
    assert made.returncode == 0, made.stderr
    [run_id] = re.findall(r"highwater-(cluster-[0-9a-f]+)-client", made.stdout)
    try:
        assert highwater("clean", "--results", str(tmp_path / "results")).returncode == 0
        killed = highwater("fault", "kill", "--target", "n1", "--for", "2", *where)
        assert killed.returncode == 0 and "struck n1: proven" in killed.stdout, killed
        cut = highwater("fault", "partition:clients-from-leader", "--target", "n1", "--for", "2", *where)
        assert cut.returncode == 0 and "struck n1: proven" in cut.stdout, cut
        found = json.loads(highwater("cluster", "status", "--json", *where).stdout)
        assert [(broker["node"], broker["up"]) for broker in found["brokers"]] == [("n1", True)]
        refused = highwater("cluster", "exec", *where, "--", "true")
        assert refused.returncode == 254 and f"docker exec -it highwater-{run_id}-client" in refused.stderr
    finally:
        assert highwater("cluster", "down", *where).stdout == "stopped\n"
    assert containers_of(run_id) == []
    assert highwater("cluster", "down", *where).returncode == 254


def containers_of(run_id: str) -> list[str]:
    engine = connect_engine()
    try:
        return [str(container.name) for container in engine.containers.list(all=True, filters={"label": f"{RUN_LABEL}={run_id}"})]
    finally:
        engine.close()


def states(data: Path, node: str) -> list[str]:
    """The letters of a node's broker in /proc, seen from outside."""
    found = processes_in(data / node / "broker.toml")
    return [Path("/proc", line.partition(":")[0], "stat").read_text().rpartition(")")[2].split()[0] for line in found]
