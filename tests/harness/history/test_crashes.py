"""A recorder that is killed between any two steps of itself and its background: every row once, as it last was.

A crash is a copy of the run's folder: what a SIGKILL would leave, the pages of a mapping belonging to the kernel. The copy is converted, by
a conversion that may be killed as well, and compared with a model.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from harness.history import sealing
from harness.history.buckets import bucket_of
from harness.history.convert import convert_leftovers
from harness.history.files import segment_path
from harness.history.readers import open_history
from harness.history.recorder import Polled, Recorder
from harness.history.schema import Outcome
from harness.history.segment import HEADER_SIZE, Segment
from harness.history.slots import SLOT_SIZE
from tests.harness.history.lazy_background import LazyExecutor
from tests.harness.history.rows import named_rows, rows_of

TOPICS = st.sampled_from(["a", "grüße", "日本"])
NUMBERS = st.none() | st.integers(-(2**63), 2**63 - 1)
COLUMNS = ("op", "micro", "f", "outcome", "topic", "part", "value", "offset", "error")


class Killed(BaseException):
    pass


class Crashing(RuleBasedStateMachine):
    """`rows` is the model: what each micro-operation last was, by operation."""

    def __init__(self):
        super().__init__()
        self.unsynced = patch.object(os, "fsync", lambda _: None)  # a kill is no power cut, and disks are slow
        self.unsynced.start()
        self.directory = tempfile.TemporaryDirectory()
        self.run_path = Path(self.directory.name) / "run"
        with patch.object(sealing, "ThreadPoolExecutor", LazyExecutor):
            self.recorder = Recorder(self.run_path, 1, buckets=4, segment_slots=4)
        self.background: Any = self.recorder._journal._sealing._thread
        self.rows = {}
        self.open = {}
        self.ops = 0

    @rule(topic=TOPICS, part=st.integers(0, 3), value=st.integers(-(2**63), 2**63 - 1))
    def send(self, topic, part, value):
        self.open[self.ops] = self.recorder.invoke_send(0, 0, self.ops, 0, topic, part, None, value, None, self.ops)
        self.rows[self.ops, 0] = (self.ops, 0, "send", "info", topic, part, value, None, None)
        self.ops += 1

    @rule(data=st.data(), outcome=st.sampled_from(Outcome), offset=NUMBERS, error=st.none() | st.sampled_from(["x", "ü"]))
    @precondition(lambda self: self.open)
    def complete(self, data, outcome, offset, error):
        op = data.draw(st.sampled_from(sorted(self.open)))
        self.recorder.complete(self.open.pop(op), outcome, error, offset, None, None, op)
        self.rows[op, 0] = (*self.rows[op, 0][:3], outcome.name.lower(), *self.rows[op, 0][4:7], offset, error)

    @rule(topic=TOPICS, offsets=st.lists(NUMBERS, max_size=6))
    def poll(self, topic, offsets):
        self.recorder.polled(0, self.ops, [Polled(topic, 1, offset) for offset in offsets], self.ops, self.ops)
        for micro, offset in enumerate(offsets):
            self.rows[self.ops, micro] = (self.ops, micro, "poll", "ok", topic, 1, None, offset, None)
        if not offsets:
            self.rows[self.ops, 0] = (self.ops, 0, "poll", "ok", None, None, None, None, None)
        self.ops += 1

    @rule()
    @precondition(lambda self: self.background.tasks)
    def work_in_the_background(self):
        self.background.step()

    @rule(kill_at=st.integers(0, 12))
    def crash(self, kill_at):
        copy = Path(self.directory.name) / "copy"
        shutil.copytree(self.run_path, copy)
        _convert_killed_at(copy, kill_at)
        convert_leftovers(copy)
        self._compare(copy)
        shutil.rmtree(copy)

    @invariant()
    def files_are_complete_whenever_they_are_there(self):
        assert not list((self.run_path / "history").glob("*.tmp"))

    def teardown(self):
        try:
            self.recorder.close()
            self._compare(self.run_path)
        finally:
            self.unsynced.stop()
            self.directory.cleanup()

    def _compare(self, run):
        history = open_history(run)
        assert [tuple(row[name] for name in COLUMNS) for row in named_rows(history)] == [self.rows[key] for key in sorted(self.rows)]
        assert not [path for path in (run / "history" / "open").iterdir()]
        for bucket in history.filled_buckets():
            table = history.read(bucket, ["topic", "part"]).to_pylist()
            topics = history.names["topic"]
            assert {bucket_of(None if row["topic"] is None else topics[row["topic"]], row["part"], 4) for row in table} == {bucket}


Crashing.TestCase.settings = settings(max_examples=25, stateful_step_count=30)
TestCrashing = Crashing.TestCase


@pytest.fixture
def rolled(tmp_path):
    """A run whose first segment is full, its three open slots moved to the second, nothing converted yet."""
    with patch.object(sealing, "ThreadPoolExecutor", LazyExecutor):
        recorder = Recorder(tmp_path / "run", 1, segment_slots=6)
    slots = [recorder.invoke_send(0, 0, op, 0, "t", 0, None, op, None, 0) for op in range(6)]
    for op in (0, 2, 4):
        recorder.complete(slots[op], Outcome.OK, None, op, None, None, 1)
    recorder.invoke_send(0, 0, 6, 0, "t", 0, None, 6, None, 0)
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    recorder.close()
    return tmp_path / "copy"


@pytest.mark.parametrize("marks", range(4))
def test_killed_in_the_middle_of_a_move_every_row_counts_once(rolled, marks):
    path = segment_path(rolled, 1, 1)
    data = bytearray(path.read_bytes())
    for position in range(marks, 4):
        data[HEADER_SIZE + (position + 1) * SLOT_SIZE - 1] = 0
    path.write_bytes(data)
    convert_leftovers(rolled)
    expected = [(op, "info" if op % 2 else "ok") for op in range(6)]
    assert [(row["op"], row["outcome"]) for row in rows_of(rolled)] == expected


def test_what_was_completed_after_the_move_is_taken_from_there(rolled):
    segment = Segment.open(segment_path(rolled, 1, 1))
    assert segment.taken_over().tolist() == [1, 3, 5]
    segment.close()
    convert_leftovers(rolled)
    assert [row["op"] for row in rows_of(rolled)] == list(range(7))


def test_a_conversion_killed_at_every_point_and_begun_again_gives_the_same_rows(rolled, tmp_path):
    shutil.copytree(rolled, tmp_path / "undisturbed")
    convert_leftovers(tmp_path / "undisturbed")
    for kill_at in range(100):
        run = tmp_path / f"killed-{kill_at}"
        shutil.copytree(rolled, run)
        survived = _convert_killed_at(run, kill_at)
        there = _identities(run)
        convert_leftovers(run)
        assert there.items() <= _identities(run).items(), "files are never rewritten"
        assert rows_of(run) == rows_of(tmp_path / "undisturbed")
        if survived:
            break
    assert survived
    assert kill_at > 10


def test_converting_again_does_nothing(rolled):
    assert len(convert_leftovers(rolled)) == 2
    before = _identities(rolled)
    assert convert_leftovers(rolled) == []
    assert before == _identities(rolled)


def _identities(run):
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in (run / "history").glob("*.parquet")}


def _convert_killed_at(run, kill_at):
    """Kill the conversion instead of letting it make its n-th change to the disk. True where it made fewer."""
    left = [kill_at]

    def counting(change):
        def counted(*args, **kwargs):
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return change(*args, **kwargs)

        return counted

    changes = ((os, "replace"), (os, "fsync"), (os, "unlink"), (Path, "unlink"))
    patches = [patch.object(owner, name, counting(getattr(owner, name))) for owner, name in changes]
    for one in patches:
        one.start()
    try:
        convert_leftovers(run)
    except Killed:
        return False
    finally:
        for one in patches:
            one.stop()
    return True
