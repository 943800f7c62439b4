"""Leader epochs: where each began, and the answer to a follower that asks."""

import pytest

from broker_impl.storage.checkpoints import Malformed
from broker_impl.storage.epochs import LeaderEpochs, read_epochs
from tests.broker_impl.forgetful_disk import ForgetfulDisk


def epochs(*entries: tuple[int, int]) -> LeaderEpochs:
    disk = ForgetfulDisk()
    disk.make_dirs("/t-0")
    return LeaderEpochs(disk, "/t-0", list(entries))


def test_the_current_epoch_ends_where_the_log_does() -> None:
    assert epochs((1, 0), (3, 10)).end_of(3, 25) == (3, 25)


def test_an_older_epoch_ends_where_the_next_begins() -> None:
    assert epochs((1, 0), (3, 10), (7, 20)).end_of(3, 25) == (3, 20)


def test_an_epoch_that_never_wrote_is_answered_with_the_one_before_it() -> None:
    assert epochs((1, 0), (3, 10), (7, 20)).end_of(5, 25) == (3, 20)


def test_an_epoch_below_all_known_ends_where_the_first_begins() -> None:
    assert epochs((3, 10), (7, 20)).end_of(2, 25) == (2, 10)


@pytest.mark.parametrize("asked", [-1, 8])
def test_an_epoch_that_is_unknown_or_ahead_has_no_end(asked: int) -> None:
    assert epochs((3, 10), (7, 20)).end_of(asked, 25) == (-1, -1)


def test_a_log_without_epochs_knows_none() -> None:
    assert epochs().end_of(0, 0) == (-1, -1)
    assert epochs().latest == -1


def test_a_new_epoch_removes_what_cannot_be_true_beside_it() -> None:
    known = epochs((1, 0), (3, 10), (7, 20))
    known.assign(8, 10)
    assert known.entries == [(1, 0), (8, 10)]


def test_assigning_the_current_epoch_again_changes_nothing() -> None:
    known = epochs((1, 0), (3, 10))
    known.assign(3, 15)
    assert known.entries == [(1, 0), (3, 10)]
    assert not known.unsaved


def test_cutting_the_log_cuts_epochs_that_began_behind_its_end() -> None:
    known = epochs((1, 0), (3, 10), (7, 20))
    known.cut_from(20)
    assert known.entries == [(1, 0), (3, 10)]
    assert known.latest == 3


def test_raising_the_start_keeps_the_epoch_in_force_there() -> None:
    known = epochs((1, 0), (3, 10), (7, 20))
    known.cut_below(15)
    assert known.entries == [(3, 15), (7, 20)]


def test_the_epoch_of_an_offset_is_the_one_in_force() -> None:
    known = epochs((1, 5), (3, 10))
    assert [known.epoch_at(offset) for offset in (4, 5, 9, 10, 99)] == [-1, 1, 1, 3, 3]


def test_epochs_are_saved_and_read_back() -> None:
    disk = ForgetfulDisk()
    disk.make_dirs("/t-0")
    known = LeaderEpochs(disk, "/t-0", [])
    known.assign(2, 0)
    known.assign(5, 40)
    known.save()
    assert disk.read("/t-0/leader-epoch-checkpoint") == b"0\n2\n2 0\n5 40\n"
    assert read_epochs(disk, "/t-0").entries == [(2, 0), (5, 40)]


def test_epochs_stay_unsaved_where_the_disk_is_full() -> None:
    disk = ForgetfulDisk()
    disk.make_dirs("/t-0")
    known = LeaderEpochs(disk, "/t-0", [])
    known.assign(2, 0)
    disk.room = 0
    known.try_save()
    assert known.unsaved
    disk.room = None
    known.try_save()
    assert not known.unsaved


@pytest.mark.parametrize("data", [b"0\n1\n2 0", b"0\n2\n2 5\n1 9\n", b"0\n2\n1 5\n2 5\n", b"0\n1\nx 0\n"])
def test_a_damaged_file_is_malformed(data: bytes) -> None:
    disk = ForgetfulDisk()
    disk.make_dirs("/t-0")
    disk.write_atomically("/t-0/leader-epoch-checkpoint", data)
    with pytest.raises(Malformed):
        read_epochs(disk, "/t-0")
