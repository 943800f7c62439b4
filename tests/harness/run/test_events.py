"""From lines of a broker's log to events on the run's time."""

import json

from harness.history.beside import Event
from harness.run.events import events_in

LINE = {"level": "info", "mono_ns": 5_000, "wall_ms": 9, "node": 1, "event": "isr-shrunk", "topic": "t", "part": 3, "epoch": 2, "isr": [1]}


def events_of(tmp_path, *lines, base_ns=1_000):
    log = tmp_path / "broker.log"
    log.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines))
    return list(events_in(log, "n1", base_ns))


def test_a_line_becomes_an_event_since_the_run_began_with_the_rest_as_detail(tmp_path):
    assert events_of(tmp_path, LINE) == [Event(4_000, "n1", "isr-shrunk", "t", 3, 2, '{"isr": [1]}')]


def test_a_node_with_a_clock_of_its_own_has_no_time(tmp_path):
    assert events_of(tmp_path, LINE, base_ns=None)[0].t is None


def test_what_is_no_event_stays_in_the_log(tmp_path):
    lines = ["Traceback (most recent call last):\n", "{half a li\n", '{"level": "info"}\n', "[1]\n", LINE, '{"event": "cut off']
    assert [event.event for event in events_of(tmp_path, *lines)] == ["isr-shrunk"]


def test_an_epoch_too_large_for_its_column_is_kept_in_the_detail(tmp_path):
    [event] = events_of(tmp_path, {**LINE, "epoch": 2**40})
    assert event.epoch is None and json.loads(event.detail or "")["epoch"] == 2**40
