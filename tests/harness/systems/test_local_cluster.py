"""The life of a local cluster's processes, with a stand-in for the broker."""

import os
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.errors import EnvironmentFault, UserMistake
from harness.systems.free_ports import free_ports
from harness.systems.local_cluster import LocalCluster
from harness.systems.process import ProcessName

FAKE_BROKER = (sys.executable, str(Path(__file__).parents[1] / "fake_broker.py"))


def make(directory: Path, nodes: int = 1, *, fake: tuple[str, ...] = (), **options) -> LocalCluster:
    return LocalCluster.create(directory, nodes, command=(*FAKE_BROKER, *fake), **options)


def test_a_cluster_is_ready_when_every_node_runs_and_knows_a_controller(tmp_path):
    with make(tmp_path, 3) as cluster:
        assert [cluster.alive(node) for node in cluster.ids] == [True, True, True]
        assert [health.node for node in cluster.ids if (health := cluster.health(node))] == [1, 2, 3]
        assert cluster.controller() == 1


def test_a_stopped_cluster_has_no_processes_and_can_be_started_again(tmp_path):
    cluster = make(tmp_path, 2)
    with cluster:
        first = [cluster.pid(node) for node in cluster.ids]
    assert not any(cluster.alive(node) for node in cluster.ids)
    with LocalCluster.open(tmp_path, command=FAKE_BROKER) as again:
        assert again.plan == cluster.plan
        assert all(again.alive(node) for node in again.ids)
        assert [again.pid(node) for node in again.ids] != first


def test_a_broker_that_ends_while_starting_is_shown_with_its_last_words(tmp_path):
    cluster = make(tmp_path, fake=("--last-words", "cannot lock the data directory"))
    with pytest.raises(EnvironmentFault, match=r"node 1 ended while starting: cannot lock the data directory"), cluster:
        pass


def test_words_of_an_earlier_start_are_not_taken_for_those_of_this_one(tmp_path):
    cluster = make(tmp_path, fake=("--last-words", " "))
    cluster.log_path(1).write_text("old words\n")
    with pytest.raises(EnvironmentFault, match="without a word, exit code 1"), cluster:
        pass


def test_a_broker_that_never_gets_ready_is_named_with_its_state(tmp_path):
    cluster = make(tmp_path, fake=("--never-ready",))
    cluster.start()
    with pytest.raises(EnvironmentFault, match=r"not ready after 1 s .node 1: (starting|no answer)"):
        cluster.wait_ready(timeout=1)
    cluster.stop()


def test_a_broker_that_ignores_the_request_to_stop_is_killed_and_reported(tmp_path):
    cluster = make(tmp_path, fake=("--deaf",))
    cluster.start()
    cluster.wait_ready()
    assert cluster.stop(timeout=0.5) == [1]
    assert not cluster.alive(1)


def test_a_running_cluster_is_not_started_twice(tmp_path):
    with make(tmp_path), pytest.raises(UserMistake, match="already running"):
        LocalCluster.open(tmp_path).start()


def test_a_port_in_use_is_named_before_anything_is_made(tmp_path):
    with listening() as port, pytest.raises(EnvironmentFault, match=f"port {port} is in use"):
        make(tmp_path / "cluster", port=port)
    assert not (tmp_path / "cluster").exists()


def test_a_port_taken_while_the_cluster_was_down_is_named_before_anything_is_started(tmp_path):
    cluster = make(tmp_path, 2)
    with listening(cluster.plan.nodes[1].port) as port, pytest.raises(EnvironmentFault, match=f"port {port} is in use"):
        cluster.start()
    assert cluster.pid(1) is None


def test_single_nodes_are_killed_and_started(tmp_path):
    with make(tmp_path, 2) as cluster:
        cluster.kill(2)
        assert (cluster.alive(1), cluster.alive(2)) == (True, False)
        assert cluster.exit_code(2) == -signal.SIGKILL
        cluster.start_node(2)
        cluster.wait_ready(nodes=[2])
        assert cluster.alive(2)


def test_a_paused_node_lives_and_can_still_be_stopped(tmp_path):
    with make(tmp_path) as cluster:
        cluster.pause(1)
        wait_until_paused(cluster.pid(1))
        assert cluster.alive(1)
        assert cluster.stop_node(1)


def test_another_process_finds_the_cluster_in_its_directory(tmp_path):
    with make(tmp_path) as cluster:
        found = LocalCluster.open(tmp_path)
        assert (found.pid(1), found.alive(1)) == (cluster.pid(1), True)
        assert found.stop() == []
        assert not cluster.alive(1)


def test_brokers_die_with_the_process_that_started_them_even_by_kill_9(tmp_path):
    parent, broker = start_from_another_process(tmp_path, detached=False)
    parent.kill()
    parent.wait()
    assert broker.wait(60)


def test_detached_brokers_outlive_the_process_that_started_them(tmp_path):
    parent, broker = start_from_another_process(tmp_path, detached=True)
    parent.kill()
    parent.wait()
    assert broker.alive()
    LocalCluster.open(tmp_path / "cluster").stop()
    assert not broker.alive()


def test_a_reused_pid_is_not_taken_for_a_broker(tmp_path):
    me = ProcessName.of(os.getpid())
    stranger = ProcessName(me.pid, me.started - 1)
    assert me.alive()
    assert not stranger.alive()
    assert not stranger.send(signal.SIGTERM)


def test_settings_are_written_for_each_broker_under_kafkas_names(tmp_path):
    cluster = make(tmp_path, 4, settings={"log.segment.bytes": 4096})
    settings = tomllib.loads((tmp_path / "node-4" / "broker.toml").read_text())
    voters = ",".join(f"{node.id}@127.0.0.1:{node.port}" for node in cluster.plan.nodes[:3])
    assert settings["process"]["roles"] == "broker"
    assert settings["controller"]["quorum"]["voters"] == voters
    assert settings["min"]["insync"]["replicas"] == 2
    assert settings["log"]["segment"]["bytes"] == 4096


@pytest.mark.parametrize("nodes, controllers", [(1, 1), (2, 1), (3, 3), (4, 3), (5, 5), (9, 5)])
def test_the_number_of_controllers_is_odd_and_at_most_five(tmp_path, nodes, controllers):
    assert sum(node.controller for node in make(tmp_path, nodes).plan.nodes) == controllers


def test_a_directory_with_other_things_in_it_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(UserMistake, match="not empty and holds no cluster"):
        make(tmp_path)


def test_a_directory_without_a_cluster_is_named_with_the_remedy(tmp_path):
    with pytest.raises(UserMistake, match="cluster up --data"):
        LocalCluster.open(tmp_path)


@contextmanager
def listening(port: int = 0) -> Iterator[int]:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", port or free_ports(1)[0]))
        holder.listen()
        yield holder.getsockname()[1]


def wait_until_paused(pid: int | None) -> None:
    """A signal shows itself a moment after it was sent; one that never does runs into the time limit of the test."""
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.01)


def start_from_another_process(tmp_path: Path, *, detached: bool) -> tuple[subprocess.Popen, ProcessName]:
    program = f"""
import sys, time
from pathlib import Path
from harness.systems.local_cluster import LocalCluster
cluster = LocalCluster.create(Path({str(tmp_path / "cluster")!r}), 1, command={FAKE_BROKER!r})
cluster.start(detached={detached})
cluster.wait_ready()
print(cluster.pid(1), flush=True)
time.sleep(600)
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3])
    assert parent.stdout
    with parent.stdout:
        return parent, ProcessName.of(int(parent.stdout.readline()))
