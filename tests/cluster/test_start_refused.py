"""What keeps a broker from starting is said in one line, with the exit code that tells the user's mistakes from the machine's."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from harness.systems.free_ports import LOOPBACK, free_ports
from harness.systems.local_cluster import LocalCluster
from tests.cluster.load import ROOT

DEADLINE = 60.0
USER, ENVIRONMENT = 254, 255


class Attempt:
    """A broker on its own, with settings that would do; a test spoils one thing."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (self.port,) = free_ports(1)
        self.data = directory / "data"
        self.config = directory / "broker.toml"
        self.config.write_text("node.id = 1\n")

    def run(self, *arguments: str) -> tuple[int, list[str]]:
        """Exit code and the lines on standard error."""
        settings = ["--set", f"listeners=PLAINTEXT://{LOOPBACK}:{self.port}", "--set", f"log.dirs={self.data}"]
        command = [sys.executable, "-m", "broker_impl", "--config", str(self.config), *settings, *arguments]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE)
        return ended.returncode, ended.stderr.splitlines()


@pytest.fixture
def attempt(tmp_path):
    return Attempt(tmp_path)


def one_line(outcome: tuple[int, list[str]], code: int, *words: str) -> None:
    assert outcome[0] == code, outcome
    assert len(outcome[1]) == 1, outcome
    assert all(word in outcome[1][0] for word in words), outcome


def test_a_port_in_use_is_named(attempt):
    with socket.create_server((LOOPBACK, attempt.port)):
        one_line(attempt.run(), ENVIRONMENT, str(attempt.port), "in use")


def test_an_http_port_in_use_is_named(attempt):
    (port,) = free_ports(1)
    with socket.create_server((LOOPBACK, port)):
        one_line(attempt.run("--set", f"http.listener={LOOPBACK}:{port}"), ENVIRONMENT, str(port), "in use")


def test_a_directory_in_which_nothing_can_be_made_is_named(attempt):
    attempt.data.write_text("a file")
    one_line(attempt.run(), ENVIRONMENT, str(attempt.data))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_may_not_be_written_is_named(attempt):
    attempt.data.mkdir(mode=0o500)
    one_line(attempt.run(), ENVIRONMENT, str(attempt.data), "Permission denied")


def test_a_directory_of_a_running_broker_is_refused(tmp_path):
    with LocalCluster.create(tmp_path / "cluster", 1) as cluster:
        (tmp_path / "second").mkdir()
        second = Attempt(tmp_path / "second")
        second.data = cluster.data_path(1)
        one_line(second.run(), ENVIRONMENT, str(second.data), "another broker")
        assert cluster.alive(1)


def test_an_unknown_setting_is_refused_with_the_nearest_one(attempt):
    one_line(attempt.run("--set", "broker.sesion.timeout.ms=3000"), USER, "broker.sesion.timeout.ms", "'broker.session.timeout.ms'")


def test_a_file_that_is_no_toml_is_named_with_the_place(attempt):
    attempt.config.write_text("node.id = 1\nlisteners = = 2\n")
    one_line(attempt.run(), USER, str(attempt.config), "line 2")


def test_a_settings_file_that_is_not_there_is_named(attempt):
    attempt.config.unlink()
    one_line(attempt.run(), USER, str(attempt.config))


def test_a_plugin_that_is_not_there_is_named(attempt):
    one_line(attempt.run("--plugin", str(attempt.directory / "nowhere.py")), USER, "nowhere.py")


def test_a_plugin_that_replaces_what_is_not_there_is_refused(attempt):
    plugin = attempt.directory / "old.py"
    plugin.write_text(
        "from broker_impl.plugins import replace\n\ndef install():\n    replace('broker_impl.storage.log:Log.append_backwards', print)\n"
    )
    one_line(attempt.run("--plugin", str(plugin)), USER, "broker_impl.storage.log:Log.append_backwards")
