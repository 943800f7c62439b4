import errno
import os

import numpy as np
import pytest

from harness.history import slots
from harness.history.errors import MalformedFile
from harness.history.segment import HEADER_SIZE, Header, Segment
from harness.history.slots import COMPLETION, INVOCATION, SLOT_SIZE

HEADER = Header(worker=3, number=7, capacity=4, buckets=32)
INVOKED = (10, 11, 12, 13, 14, 1, 2, 3, 4, 5, 6, 7, 0x3F, 1, 1, 1)
COMPLETED = (20, 21, 22, 23, 24, 7, 1)


def test_what_was_written_is_there_for_who_opens_the_file(tmp_path):
    segment = Segment.create(tmp_path / "s", HEADER)
    INVOCATION.pack_into(segment.mapped, HEADER_SIZE, *INVOKED)
    found = Segment.open(tmp_path / "s")
    assert found.header == HEADER
    assert found.slots["value"].tolist() == [14, 0, 0, 0]
    assert found.open_slots().tolist() == [0]


def test_a_slot_cut_off_at_any_byte_of_its_invocation_does_not_count():
    whole = bytearray(SLOT_SIZE)
    INVOCATION.pack_into(whole, 0, *INVOKED)
    for written in range(SLOT_SIZE):
        torn = bytes(whole[:written]) + bytes(SLOT_SIZE - written)
        assert np.frombuffer(torn, slots.SLOT)["kind"] == 0


def test_a_slot_cut_off_at_any_byte_of_its_completion_is_still_open():
    whole = bytearray(SLOT_SIZE)
    INVOCATION.pack_into(whole, 0, *INVOKED)
    invocation = bytes(whole[COMPLETION.size :])
    COMPLETION.pack_into(whole, 0, *COMPLETED)
    for written in range(COMPLETION.size):
        torn = bytes(whole[:written]) + bytes(COMPLETION.size - written) + invocation
        found = np.frombuffer(torn, slots.SLOT)
        assert found[["kind", "outcome"]].tolist() == [(1, 0)]


def test_invoking_clears_what_a_failed_attempt_left():
    slot = bytearray(b"\xff" * SLOT_SIZE)
    INVOCATION.pack_into(slot, 0, *INVOKED)
    found = np.frombuffer(bytes(slot), slots.SLOT)
    assert found["outcome"] == found["answered"] == found["origin"] == 0


def test_open_slots_move_and_tell_where_they_came_from(tmp_path):
    old = Segment.create(tmp_path / "old", HEADER)
    for position in range(4):
        INVOCATION.pack_into(old.mapped, HEADER_SIZE + position * SLOT_SIZE, *INVOKED)
    COMPLETION.pack_into(old.mapped, HEADER_SIZE + 2 * SLOT_SIZE, *COMPLETED)
    new = Segment.create(tmp_path / "new", HEADER)
    new.take_over(old, old.open_slots())
    assert new.taken_over().tolist() == [0, 1, 3]
    assert new.open_slots().tolist() == [0, 1, 2]
    assert new.slots["value"].tolist() == [14, 14, 14, 0]


def test_a_full_disk_is_an_error_before_anything_is_recorded(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space"):
        Segment.create(tmp_path / "s", HEADER)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    "change, why",
    [
        (lambda data: data[:100], "too short"),
        (lambda data: b"x" + data[1:], "is not a segment"),
        (lambda data: data[:8] + b"\x09" + data[9:], "has version 9"),
        (lambda data: data[:-1], "was cut off"),
    ],
)
def test_another_file_is_refused(tmp_path, change, why):
    Segment.create(tmp_path / "s", HEADER).close()
    (tmp_path / "s").write_bytes(change((tmp_path / "s").read_bytes()))
    with pytest.raises(MalformedFile, match=why):
        Segment.open(tmp_path / "s")
