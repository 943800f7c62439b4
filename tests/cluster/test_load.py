"""The clients of a storm, when they are what is wrong."""

import sys

import pytest

from tests.cluster import load
from tests.cluster.load import Load
from tests.cluster.watching import eventually


def test_clients_that_hang_are_ended_and_tell_where_they_hung(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(load, "FINISH_DEADLINE", 0.1)
    clients = Load("nowhere:1", "t", 1, tmp_path / "seen.json")
    waiting = "import threading; print(1, flush=True); threading.Event().wait()"
    clients._command = [sys.executable, "-X", "faulthandler", "-c", waiting]
    with clients:
        eventually(lambda: clients.acked == 1, "the clients run")
        with pytest.raises(AssertionError, match="came to grief"):
            clients.finish()
    assert "threading.py" in capfd.readouterr().err
