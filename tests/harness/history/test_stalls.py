from threading import Event as Signal

import pytest

from harness.history.errors import MalformedFile
from harness.history.stalls import Beats, Stall, StallWatch, read_stalls, stall_events

MS = 1_000_000


def test_a_beat_in_time_is_no_stall():
    beats = Beats("w", 0, interval_s=0.025)
    assert [beats.beat(now * MS) for now in (25, 60, 130)] == [None, None, None]


def test_a_late_beat_is_a_stall_from_the_last_one_to_this():
    beats = Beats("w", 0, interval_s=0.025)
    beats.beat(25 * MS)
    assert beats.beat(125 * MS) == Stall("w", 25 * MS, 125 * MS)
    assert beats.beat(150 * MS) is None


def test_only_long_stalls_matter():
    assert not Stall("w", 0, 500 * MS).matters
    assert Stall("w", 0, 501 * MS).matters


def test_the_watch_writes_what_its_clock_shows(tmp_path):
    times = iter([0, 10 * MS, 900 * MS])
    shown = Signal()

    def clock():
        now = next(times, None)
        if now is None:
            shown.set()
        return 910 * MS if now is None else now

    with StallWatch(tmp_path, "worker-1", clock, interval_s=0.001):
        shown.wait()
    assert read_stalls(tmp_path) == [Stall("worker-1", 10 * MS, 900 * MS)]
    event = stall_events(tmp_path)[0]
    assert (event.t, event.node, event.event, event.detail) == (10 * MS, "worker-1", "harness-stalled", '{"end": 900000000}')


def test_a_line_cut_off_by_a_kill_is_left_out(tmp_path):
    (tmp_path / "stalls").mkdir()
    (tmp_path / "stalls" / "w.jsonl").write_text('["w", 5, 9]\n["w", 1')
    assert read_stalls(tmp_path) == [Stall("w", 5, 9)]


def test_damage_is_named(tmp_path):
    (tmp_path / "stalls").mkdir()
    (tmp_path / "stalls" / "w.jsonl").write_text("x\n")
    with pytest.raises(MalformedFile, match=r"w.jsonl: is not a list of stalls"):
        read_stalls(tmp_path)


def test_a_run_without_a_watch_has_no_stalls(tmp_path):
    assert stall_events(tmp_path) == []
