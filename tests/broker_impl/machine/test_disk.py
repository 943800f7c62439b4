"""What the rest of the broker relies on when it touches files."""

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from broker_impl.machine.disk import DirectoryLocked, Entry, RealDisk


def test_a_file_gives_back_what_was_written_at_each_position(tmp_path: Path) -> None:
    file = RealDisk().open(f"{tmp_path}/f", create=True)
    file.pwrite(b"world", 6)
    file.pwrite(memoryview(b"hello "), 0)
    assert file.pread(100, 0) == b"hello world"
    assert file.pread(3, 6) == b"wor"
    assert file.size() == 11


def test_opening_a_file_that_is_not_there_makes_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        RealDisk().open(f"{tmp_path}/f")
    assert not RealDisk().exists(f"{tmp_path}/f")


def test_a_write_that_the_kernel_takes_in_pieces_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, offset: real(fd, bytes(data)[:3], offset))
    file = RealDisk().open(f"{tmp_path}/f", create=True)
    file.pwrite(b"0123456789", 2)
    assert file.pread(100, 2) == b"0123456789"


def test_a_file_stays_readable_after_its_name_is_gone(tmp_path: Path) -> None:
    disk = RealDisk()
    file = disk.open(f"{tmp_path}/f", create=True)
    file.pwrite(b"data", 0)
    disk.unlink(f"{tmp_path}/f")
    assert file.pread(4, 0) == b"data"


def test_the_descriptor_is_closed_with_the_last_reference(tmp_path: Path) -> None:
    file = RealDisk().open(f"{tmp_path}/f", create=True)
    descriptor = file.fileno()
    del file
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_a_mapping_and_a_file_show_the_same_bytes(tmp_path: Path) -> None:
    disk = RealDisk()
    mapping = disk.map(f"{tmp_path}/f", 10_000)
    mapping.reserve(8)
    mapping.buffer[:4] = b"abcd"
    file = disk.open(f"{tmp_path}/f")
    assert file.pread(4, 0) == b"abcd"
    assert file.size() == 10_000
    mapping.sync()
    mapping.close()


def test_a_mapping_reserves_whole_pages_and_not_the_whole_file(tmp_path: Path) -> None:
    mapping = RealDisk().map(f"{tmp_path}/f", 10 << 20)
    mapping.reserve(1)
    assert 0 < os.stat(f"{tmp_path}/f").st_blocks * 512 < 1 << 20
    mapping.close()


def test_an_atomic_write_replaces_the_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    disk = RealDisk()
    disk.write_atomically(f"{tmp_path}/f", b"a longer text")
    disk.write_atomically(f"{tmp_path}/f", b"short", sync=False)
    assert disk.read(f"{tmp_path}/f") == b"short"
    assert disk.list(str(tmp_path)) == [Entry("f", False, 5)]


def test_an_atomic_write_that_fails_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = RealDisk()
    disk.write_atomically(f"{tmp_path}/f", b"old")

    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space left"):
        disk.write_atomically(f"{tmp_path}/f", b"new")
    assert disk.read(f"{tmp_path}/f") == b"old"
    assert [entry.name for entry in disk.list(str(tmp_path))] == ["f"]


def test_a_directory_is_locked_once(tmp_path: Path) -> None:
    disk = RealDisk()
    lock = disk.lock(f"{tmp_path}/.lock")
    with pytest.raises(DirectoryLocked):
        disk.lock(f"{tmp_path}/.lock")
    lock.release()
    disk.lock(f"{tmp_path}/.lock").release()


def test_trees_and_single_files_are_removed(tmp_path: Path) -> None:
    disk = RealDisk()
    disk.make_dirs(f"{tmp_path}/a/b")
    disk.write_atomically(f"{tmp_path}/a/b/f", b"")
    disk.write_atomically(f"{tmp_path}/g", b"")
    disk.remove_tree(f"{tmp_path}/a")
    disk.remove_tree(f"{tmp_path}/g")
    assert disk.list(str(tmp_path)) == []


def test_folders_of_a_spread_one_lie_apart_where_the_file_system_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`lsattr` shows a T where the file system has such a thing."""
    disk = RealDisk()
    disk.spread(str(tmp_path))
    if shutil.which("lsattr"):
        shown = subprocess.run(["lsattr", "-d", str(tmp_path)], capture_output=True, text=True)
        assert shown.returncode or "T" in shown.stdout.split()[0]

    def refuse(*_arguments: object) -> None:
        raise OSError(errno.ENOTTY, "Inappropriate ioctl for device")

    monkeypatch.setattr("fcntl.ioctl", refuse)
    disk.spread(str(tmp_path))
