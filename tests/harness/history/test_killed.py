"""A real SIGKILL of a process that records as fast as it can, its background at work."""

import os
import signal
import subprocess
import sys

import pytest

from harness.history.convert import convert_leftovers
from harness.history.errors import HistoryError
from harness.history.readers import open_history
from harness.history.schema import Outcome

LAG = 700
WORKER = f"""
import sys
from pathlib import Path
from harness.history.recorder import Recorder
from harness.history.schema import Outcome

recorder = Recorder(Path(sys.argv[1]), 1, segment_slots=4_000)
slots = {{}}
op = 0
while True:
    slots[op] = recorder.invoke_send(1, 1, op, 0, f"topic-{{op % 7}}", op % 3, None, op, None, op)
    if op >= {LAG}:
        recorder.complete(slots.pop(op - {LAG}), Outcome.OK, None, op, None, None, op)
    op += 1
    if op % 1_000 == 0:
        print(op, flush=True)
"""


@pytest.mark.parametrize("thousands", [3, 11, 30])
def test_a_killed_worker_loses_nothing(tmp_path, thousands):
    """Sends follow each other and are completed in order: the rows must be a front part of that sequence without a hole."""
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    try:
        for _ in range(thousands):
            told = int(worker.stdout.readline())
        with pytest.raises(HistoryError, match="still records"):
            convert_leftovers(tmp_path)
    finally:
        os.kill(worker.pid, signal.SIGKILL)
        worker.communicate()
    convert_leftovers(tmp_path)
    rows = sorted(open_history(tmp_path).read_all(["op", "value", "offset", "completed", "outcome"]).to_pylist(), key=lambda row: row["op"])
    count = len(rows)
    assert count >= told
    assert [(row["op"], row["value"]) for row in rows] == [(op, op) for op in range(count)]
    completed = [row["op"] for row in rows if row["completed"] is not None]
    assert completed == list(range(len(completed)))
    assert count - LAG - 1 <= len(completed) <= count - LAG
    assert all(row["offset"] == row["op"] + LAG for row in rows[: len(completed)])
    assert {row["outcome"] for row in rows[len(completed) :]} == {Outcome.INFO}
