"""The simulated disk must forget as a real one does, or the tests that stand on it prove nothing."""

import random

from tests.broker_impl.forgetful_disk import ForgetfulDisk


def test_what_was_synced_with_its_name_survives() -> None:
    for seed in range(20):
        disk = ForgetfulDisk()
        file = disk.open("/f", create=True)
        file.pwrite(b"kept", 0)
        file.sync()
        disk.sync_dir("/")
        disk.crash(random.Random(seed))
        assert disk.read("/f") == b"kept"


def test_a_name_that_was_not_synced_may_vanish() -> None:
    outcomes = set()
    for seed in range(20):
        disk = ForgetfulDisk()
        disk.open("/f", create=True).sync()
        disk.crash(random.Random(seed))
        outcomes.add(disk.exists("/f"))
    assert outcomes == {True, False}


def test_a_write_that_was_not_synced_survives_whole_torn_or_not_at_all() -> None:
    outcomes = set()
    for seed in range(60):
        disk = ForgetfulDisk()
        file = disk.open("/f", create=True)
        disk.sync_dir("/")
        file.pwrite(b"abc", 0)
        disk.crash(random.Random(seed))
        outcomes.add(disk.read("/f"))
    assert outcomes == {b"", b"a", b"ab", b"abc"}


def test_a_sync_that_does_nothing_keeps_nothing_safe() -> None:
    outcomes = set()
    for seed in range(20):
        disk = ForgetfulDisk(sync_works=False)
        file = disk.open("/f", create=True)
        disk.sync_dir("/")
        file.pwrite(b"abc", 0)
        file.sync()
        disk.crash(random.Random(seed))
        outcomes.add(disk.read("/f"))
    assert b"" in outcomes


def test_an_atomic_write_is_the_old_or_the_new_content_never_a_mixture() -> None:
    for seed in range(20):
        disk = ForgetfulDisk()
        disk.write_atomically("/f", b"old")
        disk.write_atomically("/f", b"new content")
        disk.crash(random.Random(seed))
        assert disk.read("/f") == b"new content"


def test_an_atomic_write_without_a_sync_may_leave_anything() -> None:
    outcomes = set()
    for seed in range(60):
        disk = ForgetfulDisk()
        disk.write_atomically("/f", b"old")
        disk.write_atomically("/f", b"new", sync=False)
        disk.crash(random.Random(seed))
        outcomes.add(disk.read("/f"))
    assert {b"old", b"new", b""} <= outcomes


def test_a_process_that_dies_loses_nothing() -> None:
    disk = ForgetfulDisk()
    disk.open("/f", create=True).pwrite(b"abc", 0)
    disk.kill()
    assert disk.read("/f") == b"abc"
