"""An engine of our own: started, waited for, known again and stopped with all that descends from it. A small program plays dockerd."""

import os
import signal
import sys
from pathlib import Path

import pytest

from harness.errors import EnvironmentFault
from harness.nodes import docker_nodes
from harness.nodes.docker_engine import FOLDER, OPTIONS, start_engine, started_engine, stop_engine
from tests.harness.nodes.kinds import processes_with

# It answers as an engine does when it is asked for its version; its child is what containers are to an engine.
DOCKERD = """#!{python}
import contextlib, http.server, json, os, signal, socketserver, subprocess, sys
if "--wrong" in sys.argv:
    sys.exit("unknown flag: --wrong")
child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
def end(*_):
    child.kill(); child.wait(); os._exit(0)
signal.signal(signal.SIGTERM, end)
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        words = json.dumps({{"ApiVersion": "1.41", "Version": " ".join(sys.argv[1:]), "child": child.pid}}).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(words))); self.end_headers(); self.wfile.write(words)
    def log_message(self, *_): pass
    def address_string(self): return ""
path = sys.argv[sys.argv.index("--host") + 1].removeprefix("unix://")
with contextlib.suppress(FileNotFoundError):
    os.unlink(path)
socketserver.ThreadingUnixStreamServer(path, Answer).serve_forever()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "dockerd"
    program.parent.mkdir()
    program.write_text(DOCKERD.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/engine.sock")
    monkeypatch.delenv(OPTIONS, raising=False)
    yield tmp_path / "state"
    stop_engine(tmp_path / "state")


def ask_engine() -> dict:
    engine = docker_nodes.connect_engine()
    try:
        return engine.version()
    finally:
        engine.close()


def lives(pid: int) -> bool:
    """A zombie is dead, and somebody else's to bury."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_it_answers_when_it_is_started_and_nothing_of_it_is_left_when_it_is_stopped(folder):
    start_engine(folder)
    engine, child = started_engine(folder), ask_engine()["child"]
    assert engine is not None and lives(engine) and lives(child)
    assert stop_engine(folder)
    assert not lives(engine) and not lives(child)
    assert started_engine(folder) is None
    assert not stop_engine(folder)


def test_its_bridge_lies_in_the_projects_range_unless_the_options_say_otherwise(folder, monkeypatch):
    start_engine(folder)
    assert ask_engine()["Version"].endswith("--bip 198.18.254.1/24")
    stop_engine(folder)
    monkeypatch.setenv(OPTIONS, "--storage-driver vfs --label 'two words'")
    start_engine(folder)
    assert ask_engine()["Version"].endswith("--storage-driver vfs --label two words")


def test_what_a_killed_engine_left_behind_is_ended_too(folder):
    start_engine(folder)
    engine, child = started_engine(folder), ask_engine()["child"]
    assert engine is not None
    os.kill(engine, signal.SIGKILL)
    os.waitpid(engine, 0)
    assert lives(child)
    assert stop_engine(folder)
    assert not lives(child)


def test_an_engine_somebody_else_started_is_not_touched(folder):
    start_engine(folder)
    engine = started_engine(folder)
    assert engine is not None
    written = (folder / "engine.json").read_text()
    (folder / "engine.json").write_text(written.replace('"started":', '"started":9').replace('"mark":"', '"mark":"x'))
    assert stop_engine(folder)
    assert lives(engine)
    (folder / "engine.json").write_text(written)


def test_one_that_ends_at_once_is_reported_with_its_last_words_and_forgotten(folder, monkeypatch):
    monkeypatch.setenv(OPTIONS, "--wrong")
    with pytest.raises(EnvironmentFault, match=f"unknown flag: --wrong .*{OPTIONS}"):
        start_engine(folder)
    assert started_engine(folder) is None


def test_one_that_never_answers_is_stopped_again(folder, monkeypatch):
    monkeypatch.setattr("harness.nodes.docker_engine._START_PATIENCE", 0.0)
    monkeypatch.setattr("harness.nodes.docker_nodes.available", lambda: "no Docker engine answers")
    with pytest.raises(EnvironmentFault, match="did not answer within"):
        start_engine(folder)
    assert started_engine(folder) is None
    assert processes_with(str(folder.parent / "engine.sock")) == []


def test_an_engine_elsewhere_cannot_be_started(folder, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    with pytest.raises(EnvironmentFault, match=r"DOCKER_HOST is tcp://127\.0\.0\.1:1"):
        start_engine(folder)


def test_what_was_started_is_written_down_where_a_reboot_forgets_it():
    assert FOLDER.parts[:2] == ("/", "run")
