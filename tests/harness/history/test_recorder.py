import struct
import threading

import pytest

from harness.history import names as names_module
from harness.history import sealing
from harness.history.convert import convert_leftovers, convert_segment
from harness.history.errors import HistoryError
from harness.history.recorder import Polled, Recorder
from harness.history.schema import CORRUPT, Function, Kind, Outcome, Phase
from tests.harness.history.rows import BLANK, rows_of

LOW, HIGH = -(2**63), 2**63 - 1


def test_a_send_and_its_delivery_report_are_one_row(tmp_path):
    with Recorder(tmp_path, 3) as recorder:
        recorder.phase = Phase.RUN
        slot = recorder.invoke_send(1, 2, 3, 4, "topic", 5, 6, 7, 8, 9)
        recorder.complete(slot, Outcome.OK, None, 10, 11, 12, 13)
    sent = {
        "process": 1,
        "producer": 2,
        "op": 3,
        "micro": 4,
        "topic": "topic",
        "part": 5,
        "key": 6,
        "value": 7,
        "intended": 8,
        "invoked": 9,
    }
    answer = {"kind": "send", "f": "send", "outcome": "ok", "phase": 1, "offset": 10, "timestamp": 11, "leader_epoch": 12, "completed": 13}
    assert rows_of(tmp_path) == [BLANK | sent | answer]


def test_what_was_never_completed_is_info_without_an_end(tmp_path):
    with Recorder(tmp_path, 0) as recorder:
        recorder.invoke_send(1, 2, 3, 0, "t", 0, None, 7, None, 9)
    sent = {"process": 1, "producer": 2, "op": 3, "topic": "t", "part": 0, "value": 7, "invoked": 9}
    assert rows_of(tmp_path) == [BLANK | sent | {"kind": "send", "f": "send", "outcome": "info"}]


def test_an_error_has_its_name_and_nothing_else_of_an_answer(tmp_path):
    with Recorder(tmp_path, 0) as recorder:
        recorder.complete(recorder.invoke_send(1, 2, 3, 0, "t", 0, None, 7, None, 9), Outcome.INFO, "_MSG_TIMED_OUT", None, None, None, 20)
    row = rows_of(tmp_path)[0]
    assert (row["outcome"], row["error"], row["completed"]) == ("info", "_MSG_TIMED_OUT", 20)
    assert (row["offset"], row["timestamp"], row["leader_epoch"]) == (None, None, None)


@pytest.mark.parametrize("number", [LOW, -1, 0, HIGH])
def test_every_int64_can_be_recorded_and_is_not_null(tmp_path, number):
    with Recorder(tmp_path, 0) as recorder:
        slot = recorder.invoke_send(0, 0, number, 0, "t", 0, number, number, number, number)
        recorder.complete(slot, Outcome.OK, None, number, number, 2**31 - 1, number)
        recorder.invoke_send(-(2**31), 2**31 - 1, 0, -(2**31), "t", -(2**31), 0, 0, 0, 0)
    found = {row["micro"]: row for row in rows_of(tmp_path)}
    assert {found[0][name] for name in ("op", "key", "value", "intended", "invoked", "offset", "timestamp", "completed")} == {number}
    assert found[-(2**31)]["part"] == -(2**31)


def test_extremes_side_by_side_survive_the_encoding_of_differences(tmp_path):
    numbers = [LOW, HIGH, -1, LOW, 0, HIGH, HIGH - 1, LOW + 1] * 20
    with Recorder(tmp_path, 0) as recorder:
        for op, number in enumerate(numbers):
            recorder.invoke_send(0, 0, op, 0, "t", 0, None, number, None, number)
    assert [(row["value"], row["invoked"]) for row in rows_of(tmp_path)] == [(number, number) for number in numbers]


def test_a_poll_is_a_row_a_message(tmp_path):
    messages = [Polled("a", 0, 10, 1, 100, 5, 2), Polled("b", 1, 11, None, None, 6, None, CORRUPT), Polled("c", 2, None)]
    with Recorder(tmp_path, 0) as recorder:
        recorder.polled(1, 2, messages, 3, 4, group="g", generation=9)
    common = BLANK | {
        "process": 1,
        "op": 2,
        "kind": "poll",
        "f": "poll",
        "outcome": "ok",
        "invoked": 3,
        "completed": 4,
        "group": "g",
        "generation": 9,
    }
    assert rows_of(tmp_path) == [
        common | {"micro": 0, "topic": "a", "part": 0, "offset": 10, "key": 1, "value": 100, "timestamp": 5, "leader_epoch": 2},
        common | {"micro": 1, "topic": "b", "part": 1, "offset": 11, "timestamp": 6, "error": CORRUPT},
        common | {"micro": 2, "topic": "c", "part": 2},
    ]


def test_a_poll_of_nothing_is_a_row_without_a_partition(tmp_path):
    with Recorder(tmp_path, 0) as recorder:
        recorder.polled(1, 2, [], 3, 4, intended=1, outcome=Outcome.FAIL, error="_MAX_POLL_EXCEEDED")
    polled = {"process": 1, "op": 2, "kind": "poll", "f": "poll", "outcome": "fail", "error": "_MAX_POLL_EXCEEDED", "intended": 1}
    assert rows_of(tmp_path) == [BLANK | polled | {"invoked": 3, "completed": 4}]


def test_an_assignment_tells_what_is_kept_and_what_is_dropped(tmp_path):
    with Recorder(tmp_path, 0) as recorder:
        recorder.assigned(1, 2, [("a", 0), ("b", 1)], [("c", 2)], 3, 4, kind=Kind.SUBSCRIBE, group="g")
    found = [(row["kind"], row["f"], row["topic"], row["part"], row["group"]) for row in rows_of(tmp_path)]
    assert found == [("subscribe", "keep", "a", 0, "g"), ("subscribe", "keep", "b", 1, "g"), ("subscribe", "forget", "c", 2, "g")]


def test_seeks_lookups_crashes_and_rebalances_are_recorded(tmp_path):
    with Recorder(tmp_path, 0) as recorder:
        recorder.seek(1, 1, "a", 0, 77, Outcome.OK, None, 3, 4)
        recorder.lookup(1, 2, "a", 0, 1_000, 78, Outcome.OK, None, 3, 4)
        recorder.lookup(1, 3, "a", 0, 1_000, None, Outcome.FAIL, "_TIMED_OUT", 3, 4)
        recorder.crash(1, 4, 5, 6)
        recorder.row(1, 5, Kind.POLL, Function.REBALANCE, Outcome.OK, 7, 8, micro=3, topic="a", part=0)
    found = [tuple(row[name] for name in ("kind", "f", "outcome", "part", "offset", "timestamp", "micro")) for row in rows_of(tmp_path)]
    assert found == [
        ("seek", "seek", "ok", 0, 77, None, 0),
        ("lookup", "lookup", "ok", 0, 78, 1_000, 0),
        ("lookup", "lookup", "fail", 0, None, 1_000, 0),
        ("crash", "crash", "info", None, None, None, 0),
        ("poll", "rebalance", "ok", 0, None, None, 3),
    ]


def test_a_slot_is_completed_once(tmp_path):
    with Recorder(tmp_path, 0) as recorder:
        slot = recorder.invoke_send(0, 0, 0, 0, "t", 0, None, 0, None, 0)
        recorder.complete(slot, Outcome.OK, None, 1, None, None, 1)
        with pytest.raises(HistoryError, match="not open"):
            recorder.complete(slot, Outcome.FAIL, None, 2, None, None, 2)
        with pytest.raises(HistoryError, match="not open"):
            recorder.complete(slot + 1, Outcome.OK, None, 1, None, None, 1)
    assert [(row["outcome"], row["offset"]) for row in rows_of(tmp_path)] == [("ok", 1)]


def test_a_slot_that_moved_is_completed_once(tmp_path):
    with Recorder(tmp_path, 0, segment_slots=2) as recorder:
        slots = [recorder.invoke_send(0, 0, op, 0, "t", 0, None, op, None, 0) for op in range(5)]
        recorder.complete(slots[0], Outcome.OK, None, 1, None, None, 1)
        with pytest.raises(HistoryError, match="not open"):
            recorder.complete(slots[0], Outcome.OK, None, 1, None, None, 1)


def test_a_closed_recorder_takes_nothing(tmp_path):
    recorder = Recorder(tmp_path, 0)
    slot = recorder.invoke_send(0, 0, 0, 0, "t", 0, None, 0, None, 0)
    recorder.close()
    recorder.close()
    with pytest.raises(HistoryError, match="closed"):
        recorder.complete(slot, Outcome.OK, None, 1, None, None, 1)
    with pytest.raises(HistoryError, match="closed"):
        recorder.crash(0, 0, 0, 0)
    assert len(rows_of(tmp_path)) == 1


def test_a_number_too_big_takes_no_slot(tmp_path):
    with Recorder(tmp_path, 0) as recorder:
        with pytest.raises(struct.error):
            recorder.polled(0, 0, [Polled("t", 0, 1), Polled("t", 0, 2**63)], 0, 0)
        recorder.invoke_send(0, 0, 1, 0, "t", 0, None, 5, None, 0)
    assert [(row["op"], row["offset"], row["outcome"]) for row in rows_of(tmp_path)] == [(0, 1, "ok"), (1, None, "info")]


def test_open_slots_go_along_however_many_there_are(tmp_path):
    with Recorder(tmp_path, 0, segment_slots=4) as recorder:
        slots = [recorder.invoke_send(0, 0, op, 0, "t", 0, None, op, None, 0) for op in range(50)]
        for op, slot in enumerate(slots):
            recorder.complete(slot, Outcome.OK, None, op, None, None, 1)
    assert [(row["op"], row["offset"], row["outcome"]) for row in rows_of(tmp_path)] == [(op, op, "ok") for op in range(50)]


def test_a_worker_that_did_nothing_leaves_nothing(tmp_path):
    Recorder(tmp_path, 0).close()
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []
    assert rows_of(tmp_path) == []


def test_a_number_of_a_worker_is_used_once(tmp_path):
    with Recorder(tmp_path, 5) as recorder:
        recorder.crash(0, 0, 0, 0)
    with pytest.raises(HistoryError, match="used once"):
        Recorder(tmp_path, 5)


def test_a_name_too_many_loses_that_row_only(tmp_path, monkeypatch):
    monkeypatch.setattr(names_module, "MAX_NAMES", 1)
    with Recorder(tmp_path, 0) as recorder:
        slot = recorder.invoke_send(0, 0, 0, 0, "first", 0, None, 0, None, 0)
        with pytest.raises(HistoryError, match="one too many"):
            recorder.invoke_send(0, 0, 1, 0, "second", 0, None, 1, None, 0)
        recorder.complete(slot, Outcome.OK, "e", None, None, None, 1)
    assert [(row["topic"], row["error"]) for row in rows_of(tmp_path)] == [("first", "e")]


def test_a_conversion_that_fails_is_told_and_nothing_after_it_is_converted(tmp_path, monkeypatch):
    """Else rows that moved on would be found twice."""
    monkeypatch.setattr(sealing, "convert_segment", _fail_once(convert_segment))
    recorder = Recorder(tmp_path, 0, segment_slots=4)
    slots = []
    with pytest.raises(OSError, match="disk"):
        for op in range(100):
            slots.append(recorder.invoke_send(0, 0, op, 0, "t", 0, None, op, None, 0))
            if op % 3:
                recorder.complete(slots[-1], Outcome.OK, None, op, None, None, 1)
    with pytest.raises(HistoryError, match="was not converted"):
        recorder.close()
    convert_leftovers(tmp_path)
    assert [(row["op"], row["outcome"]) for row in rows_of(tmp_path)] == [(op, "ok" if op % 3 else "info") for op in range(len(slots))]


def test_several_threads_may_record(tmp_path):
    with Recorder(tmp_path, 0, segment_slots=64) as recorder:

        def client(process):
            for op in range(300):
                slot = recorder.invoke_send(process, 0, process * 1000 + op, 0, "t", process, None, op, None, 0)
                recorder.complete(slot, Outcome.OK, None, op, None, None, 1)

        threads = [threading.Thread(target=client, args=(process,)) for process in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [(row["op"], row["offset"]) for row in rows_of(tmp_path)] == [(p * 1000 + op, op) for p in range(4) for op in range(300)]


def _fail_once(convert):
    calls = []

    def failing(*args):
        calls.append(args)
        if len(calls) == 1:
            raise OSError("the disk is full")
        return convert(*args)

    return failing
