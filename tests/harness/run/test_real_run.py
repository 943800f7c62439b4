"""A whole run with partition, kill, pause and a wrong clock: what it tells, what it leaves, and what it does not."""

import json
from collections import Counter

import pytest

from harness.history.beside import COVERED, PROVEN, Batch, Event, Fault, Final, Record, read_rows, read_table
from harness.history.plan import read_plan
from harness.history.readers import open_history
from harness.history.schema import Function, Outcome
from harness.run.ending import count
from harness.run.prepared import prepare, recall
from nemesis.targets import NAMED
from tests.harness.run.running import mounts_in, processes_in

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def folder(finished):
    assert finished.process.returncode == 0, finished.text
    return finished.folder


def test_it_deploys_a_cluster_and_drives_clients_at_it(begun):
    begun.until("run: 14 s, 4 faults")


def test_it_strikes_and_heals(begun):
    begun.until("final reads")
    assert "partition:one on n1" in begun.text


def test_it_ends_with_counts_and_the_verdict_of_both_checkers(finished):
    assert finished.process.returncode == 0, finished.text
    assert "0 acknowledged and never read" in finished.text
    if "--no-check" not in finished.arguments:
        assert "KEPT ITS PROMISES" in finished.text
        assert "checked by spark and reference" in finished.text


def test_every_kind_of_fault_took_place_and_is_proven(folder):
    faults = read_rows(folder, Fault)
    assert {fault.fault for fault in faults} == {"partition:one", "kill", "pause", "clock:bump"}
    assert all(fault.state in (PROVEN, COVERED) for fault in faults), faults
    assert all(json.loads(fault.proof or "{}")["ok"] for fault in faults if fault.state == PROVEN)


def test_faults_and_operations_are_on_one_axis_of_time(folder):
    """Faults are planned from the load's beginning and recorded from the run's: the load lies between them."""
    plan = read_plan(folder)
    load_began = plan.scenario["load_began"]
    planned = {fault["id"]: round(fault["start"] * 1e9) + load_began for fault in plan.scenario["faults"]}
    invoked = open_history(folder).read_all(["phase", "invoked"]).to_pandas()
    began = invoked[invoked.phase == 1].invoked.min()
    assert load_began > 0
    assert abs(began - load_began) < 60e9 and invoked.invoked.min() < load_began
    for fault in read_rows(folder, Fault):
        assert fault.planned == planned[fault.id]
        assert fault.start is not None and fault.end is not None
        assert fault.planned <= fault.start <= fault.end <= invoked.invoked.max()


def test_every_acknowledged_message_lies_in_every_replica(folder):
    history = open_history(folder)
    rows = history.read_all(["f", "outcome", "value"]).to_pandas()
    acknowledged = set(rows[(rows.f == Function.SEND) & (rows.outcome == Outcome.OK)].value)
    records = table(folder, Record)
    assert acknowledged
    for node in ("n1", "n2", "n3"):
        assert acknowledged <= set(records[records.node == node].value)


def test_final_reads_went_to_the_end_on_which_all_replicas_agree(folder):
    finals = read_rows(folder, Final)
    assert {(final.topic, final.part) for final in finals} == {(topic, part) for topic in ("t1", "t2") for part in (0, 1)}
    assert all(final.completed is not None and (final.last_read is None or final.last_read + 1 == final.end) for final in finals)
    batches = table(folder, Batch)
    for final in finals:
        ends = set(batches[(batches.topic == final.topic) & (batches.part == final.part)].log_end)
        assert ends == ({final.end} if final.end else set())


def test_what_brokers_told_is_there_with_its_time(folder):
    events = read_rows(folder, Event)
    told = Counter(event.event for event in events)
    assert told["leader-changed"] and told["isr-shrunk"] and told["isr-grown"] and told["controller-changed"]
    ends = read_plan(folder).scenario["phases"][-1]["end"]
    assert all(event.t is None or 0 <= event.t <= ends for event in events)
    assert any(event.t is not None and event.event == "leader-changed" for event in events)


def test_the_counts_are_those_of_the_files(folder):
    rows = open_history(folder).read_all(["f", "outcome", "value"]).to_pandas()
    sends, reads = rows[rows.f == Function.SEND], rows[(rows.f == Function.POLL) & (rows.outcome == Outcome.OK) & rows.value.notna()]
    found = count(folder)
    assert (found.sends, found.reads) == (len(sends), len(reads))
    assert found.sends == found.acknowledged + found.failed + found.unknown
    assert found.never_read == len(set(sends[sends.outcome == Outcome.OK].value) - set(reads.value)) == 0


def test_every_send_has_a_row_of_its_own(folder):
    sends = open_history(folder).read_all(["f", "value"]).to_pandas()
    values = sends[sends.f == Function.SEND].value
    assert values.is_unique and values.notna().all()


def test_the_plan_is_that_of_the_seed_and_can_be_run_again(folder):
    again = recall(folder)
    assert again == prepare(again.scenario)
    pinned = recall(folder, same_nodes=True)
    assert [fault.selector.role for fault in pinned.faults] == [NAMED] * 4
    assert [when(fault) for fault in pinned.faults] == [when(fault) for fault in again.faults]


def test_plan_json_has_promises_phases_and_both_clocks(folder):
    plan = read_plan(folder)
    assert (plan.seed, plan.promises.acks, plan.promises.min_insync) == (7, "all", 2)
    phases = [phase["name"] for phase in plan.scenario["phases"]]
    assert phases == ["deploy", "warm up", "run", "heal", "final reads", "dump", "collect"]
    first, last = plan.clocks[0], plan.clocks[-1]
    assert last.monotonic > first.monotonic


def test_every_node_s_log_is_kept(folder):
    for name in ("n1", "n2", "n3"):
        assert b"listening" in (folder / "nodes" / name / "broker.log").read_bytes()
    assert (folder / "nodes" / "client" / "worker-0.out").exists()


def test_nothing_else_is_left(finished, folder):
    assert processes_in(finished.results) == [] and mounts_in(finished.results) == []
    assert not (folder / "work").exists() and not (folder / "running.json").exists()
    assert not list(folder.rglob("*.slots")) and not list(folder.rglob("*.tmp"))


def test_latest_is_this_run(finished, folder):
    assert folder.parent.name == "default" and (finished.results / "latest").is_symlink()


def table(folder, kind):
    """A file beside the history, with its rows."""
    found = read_table(folder, kind)
    assert found is not None
    return found.to_pandas()


def when(fault):
    return fault.kind, fault.variant, fault.start, fault.end
