"""Worker processes on real clusters: every send is accounted for, whatever happens to the worker or to a broker."""

from __future__ import annotations

import threading
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.history.beside import Final, read_rows
from harness.history.convert import convert_leftovers
from harness.systems.admin import connect
from tests.workloads.running import RunningWorker, cluster_of, of, plan_of, read_finals, rows_of
from workloads.clients import ClientSettings
from workloads.worker import Worker

TOPICS = {"log-a": 2, "log-b": 2}
SETTINGS = ClientSettings(linger_ms=1.0, request_timeout_ms=1000, delivery_timeout_ms=4000)
SMALL: dict[str, Any] = {
    "topics": TOPICS,
    "senders": 3,
    "pollers": 2,
    "live_partitions": 3,
    "writes_per_partition": 400,
    "clients": SETTINGS,
}


@pytest.fixture(scope="module")
def one_node(tmp_path_factory):
    with cluster_of(tmp_path_factory.mktemp("one") / "cluster", 1, {**TOPICS, "forget": 2, "keys": 3}) as cluster:
        yield cluster


def test_every_send_is_in_the_history_and_every_acknowledged_value_at_its_offset(one_node, tmp_path):
    plan = plan_of(one_node, tmp_path / "run", rate=1000.0, **SMALL)
    worker = RunningWorker(plan)
    worker.until(lambda status: status["sends"]["ok"] > 500)
    worker.tell("phase 1")
    worker.until(lambda status: status["phase"] == 1 and status["sends"]["ok"] > 1500 and status["messages"] > 500)
    last = worker.stop()["sends"]
    assert read_finals(plan).returncode == 0
    rows = rows_of(plan)
    sends = of(rows, f="send")
    assert len(sends) == last["sent"] == last["ok"] + last["fail"] + last["info"]
    assert len({row["value"] for row in sends}) == len({row["op"] for row in sends}) == len(sends)
    assert all(row["intended"] <= row["invoked"] <= row["completed"] for row in sends)
    assert {row["phase"] for row in sends} == {0, 1}
    assert missing_from_final_reads(rows) == []
    assert all(final.completed is not None for final in read_rows(Path(plan.run), Final))
    assert unexplained_steps(rows) == []
    assert {row["f"] for row in rows} >= {"send", "poll", "keep"}


def test_a_killed_worker_loses_no_send_it_had_invoked(one_node, tmp_path):
    plan = plan_of(one_node, tmp_path / "run", rate=0.0, **SMALL)
    worker = RunningWorker(plan)
    known = worker.until(lambda status: status["sends"]["ok"] > 1000)["sends"]
    worker.kill()
    convert_leftovers(Path(plan.run))
    assert read_finals(plan).returncode == 0
    rows = rows_of(plan)
    sends = of(rows, f="send")
    assert len(sends) >= known["sent"]
    assert len(of(sends, outcome="ok")) >= known["ok"]
    assert {row["value"] for row in of(rows, f="poll", phase=2)} >= {row["value"] for row in of(sends, outcome="ok")}
    values = sorted(row["value"] for row in sends)
    assert values == list(range(values[0], values[0] + len(values)))


def test_fire_and_forget_knows_no_offset_but_every_send(one_node, tmp_path):
    settings = ClientSettings(acks="0", idempotence=False, retries=0, linger_ms=1.0)
    plan = plan_of(one_node, tmp_path / "run", {"forget": 2}, rate=500.0, senders=2, pollers=0, clients=settings)
    worker = RunningWorker(plan)
    worker.until(lambda status: status["sends"]["ok"] > 100)
    sent = worker.stop()["sends"]["sent"]
    sends = of(rows_of(plan), f="send")
    assert (len(sends), {row["outcome"] for row in sends}, {row["offset"] for row in sends}) == (sent, {"ok"}, {None})


def test_ordered_sends_of_a_key_are_read_in_their_order(one_node, tmp_path):
    plan = plan_of(one_node, tmp_path / "run", {"keys": 3}, kind="ordered", rate=1500.0, keys=60, senders=3, pollers=1)
    worker = RunningWorker(plan)
    worker.until(lambda status: status["sends"]["ok"] > 1000)
    worker.stop()
    assert read_finals(plan).returncode == 0
    rows = rows_of(plan)
    sent, read = defaultdict(list), defaultdict(list)
    for row in sorted(of(rows, f="send", outcome="ok"), key=lambda row: row["op"]):
        sent[row["key"]].append(row["value"])
    for row in sorted(of(rows, f="poll", phase=2), key=lambda row: (row["part"], row["offset"])):
        read[row["key"]].append(row["value"])
    assert read == sent
    assert len(sent) > 30


def test_a_broker_killed_on_the_way_leaves_no_send_unaccounted_for(tmp_path):
    with cluster_of(tmp_path / "cluster", 3, TOPICS) as cluster:
        with connect(cluster.bootstrap) as admin:
            victim = admin.partitions()[0].leader
        plan = plan_of(cluster, tmp_path / "run", rate=800.0, **SMALL)
        worker = RunningWorker(plan)
        before = worker.until(lambda status: status["sends"]["ok"] > 400)["sends"]["ok"]
        worker.tell("phase 1")
        cluster.kill(victim)
        worker.until(lambda status: status["sends"]["ok"] > before + 1500)
        last = worker.stop()["sends"]
        assert read_finals(plan).returncode == 0
        rows = rows_of(plan)
        sends = of(rows, f="send")
        assert len(sends) == last["sent"] == last["ok"] + last["fail"] + last["info"]
        assert last["fail"] == 0
        assert all(row["completed"] is not None for row in sends)
        assert missing_from_final_reads(rows) == []
        assert unexplained_steps(rows) == []


def test_a_worker_whose_input_ends_stops_as_if_told(one_node, tmp_path):
    worker = RunningWorker(plan_of(one_node, tmp_path / "run", rate=100.0, **SMALL))
    worker.status()
    assert worker.process.stdin
    worker.process.stdin.close()
    assert worker.until(lambda status: status["state"] == "ended")["sends"]["open"] == 0
    assert worker.process.wait(timeout=60) == 0


def test_a_command_that_does_not_exist_ends_the_worker_with_a_word_and_a_whole_history(one_node, tmp_path):
    plan = plan_of(one_node, tmp_path / "run", rate=100.0, **SMALL)
    worker = RunningWorker(plan)
    worker.status()
    worker.tell("dance")
    _, err = worker.process.communicate(timeout=60)
    assert (worker.process.returncode, err) == (255, "worker 0: there is no command `dance`; there are `phase N` and `stop`\n")
    assert all(row["completed"] is not None for row in of(rows_of(plan), f="send"))


@pytest.mark.parametrize("behind_ms, rests", [(0, 0), (90, 0), (110, 3), (60_000, 3)])
def test_polls_give_way_to_a_load_that_is_late(behind_ms, rests):
    class Over(threading.Event):
        rested = 0

        def wait(self, timeout=None):
            self.rested += 1
            return False

    def step():
        stepped.append(1)
        if len(stepped) == 3:
            over.set()

    over = Over()
    stepped: list[int] = []
    worker: Any = SimpleNamespace(_over=over, _load=SimpleNamespace(behind_ns=behind_ms * 1_000_000))
    poller: Any = SimpleNamespace(step=step, reader=SimpleNamespace(close=lambda: None))
    Worker._polling(worker, poller)()
    assert (len(stepped), over.rested) == (3, rests)


def missing_from_final_reads(rows):
    """Acknowledged sends that the final reads do not have where they were acknowledged. One without an offset (the client concluded from
    a later acknowledgement that it is stored) may be anywhere in its partition."""
    polls = of(rows, f="poll", phase=2)
    read = {(row["topic"], row["part"], row["offset"], row["value"]) for row in polls}
    read |= {(row["topic"], row["part"], None, row["value"]) for row in polls}
    return [row for row in of(rows, f="send", outcome="ok") if (row["topic"], row["part"], row["offset"], row["value"]) not in read]


def unexplained_steps(rows):
    """Polls of a process that do not go on where it stood, though it did not seek and was not assigned anew."""
    stands: dict = {}
    found = []
    for row in sorted(rows, key=lambda row: (row["op"], row["micro"])):
        at = (row["process"], row["topic"], row["part"])
        if row["f"] == "forget" or (row["f"] == "seek" and row["outcome"] == "ok"):
            stands.pop(at, None)
        if row["f"] == "seek" and row["outcome"] == "ok":
            stands[at] = row["offset"]
        if row["f"] == "poll" and row["outcome"] == "ok" and row["offset"] is not None:
            if stands.get(at, row["offset"]) != row["offset"]:
                found.append((stands[at], row))
            stands[at] = row["offset"] + 1
    return found
