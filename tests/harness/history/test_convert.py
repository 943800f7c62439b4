import numpy as np
import pytest

from harness.history.convert import convert_leftovers, to_table
from harness.history.errors import MalformedFile
from harness.history.files import names_path, open_directory
from harness.history.recorder import Recorder
from harness.history.slots import COMPLETION, INVOCATION, SLOT, SLOT_SIZE

INVOKED = (10, 11, 12, 13, 14, 1, 2, 3, 4, 5, 6, 7, 0x3F, 1, 1, 1)
COMPLETED = (20, 21, 22, 23, 24, 7, 1)


def test_a_completion_cut_off_at_any_byte_shows_nothing_of_itself():
    slot = bytearray(SLOT_SIZE)
    INVOCATION.pack_into(slot, 0, *INVOKED)
    never_completed = to_table(np.frombuffer(bytes(slot), SLOT)).to_pylist()
    invocation = bytes(slot[COMPLETION.size :])
    COMPLETION.pack_into(slot, 0, *COMPLETED)
    for written in range(COMPLETION.size):
        torn = bytes(slot[:written]) + bytes(COMPLETION.size - written) + invocation
        assert to_table(np.frombuffer(torn, SLOT)).to_pylist() == never_completed


def test_a_run_that_left_nothing_has_nothing_to_convert(tmp_path):
    assert convert_leftovers(tmp_path) == []


def test_a_worker_killed_before_its_first_row_leaves_nothing(tmp_path):
    open_directory(tmp_path).mkdir(parents=True)
    (open_directory(tmp_path) / "w00001-000000.slots.tmp").write_bytes(b"half a seg")
    names_path(tmp_path, 1).touch()
    assert convert_leftovers(tmp_path) == []
    assert list(open_directory(tmp_path).iterdir()) == []


def test_a_segment_that_is_none_is_named_and_kept(tmp_path):
    Recorder(tmp_path, 1).close()
    broken = open_directory(tmp_path) / "w00002-000000.slots"
    broken.write_bytes(b"x" * 5000)
    with pytest.raises(MalformedFile, match=r"w00002-000000.slots: is not a segment"):
        convert_leftovers(tmp_path)
    assert broken.exists()
