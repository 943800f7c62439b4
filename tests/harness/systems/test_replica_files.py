"""Where logs start and end, from their files, by the program that runs on a node."""

import subprocess
from typing import Any

import pytest

from harness.errors import EnvironmentFault
from harness.nodes import Result
from harness.systems.replica_files import LogSpan, log_spans
from tests.harness.systems.test_log_dump import batch


class Here:
    """This machine as a node."""

    name = "here"
    shares_files = True

    def run(self, command, *, timeout):
        done = subprocess.run(["python3", *command[1:]], capture_output=True, timeout=timeout)
        return Result(done.returncode, done.stdout, done.stderr)


HERE: Any = Here()


def write(data, folder, **segments):
    (data / folder).mkdir()
    for name, content in segments.items():
        (data / folder / f"{name[1:]:0>20}.log").write_bytes(content)
    (data / folder / "00000000000000000000.index").write_bytes(bytes(8))


def test_a_log_spans_its_first_segment_s_name_to_behind_its_last_batch(tmp_path):
    write(tmp_path, "t-1-0", _0=batch(0, b"1", b"2"), _2=batch(2, b"3") + batch(3, b"4", b"5"))
    write(tmp_path, "t-1-12", _7=batch(7, b"1"))
    assert log_spans(HERE, str(tmp_path)) == {("t-1", 0): LogSpan(0, 5), ("t-1", 12): LogSpan(7, 8)}


def test_a_new_segment_without_a_batch_ends_where_it_begins(tmp_path):
    write(tmp_path, "t-0", _0=batch(0, b"1"), _1=b"")
    assert log_spans(HERE, str(tmp_path)) == {("t", 0): LogSpan(0, 1)}


@pytest.mark.parametrize("tail", [batch(1, b"2")[:-1], batch(1, b"2")[:30], bytes(100)], ids=["cut off", "half a header", "zeros"])
def test_what_is_no_whole_batch_does_not_count(tmp_path, tail):
    write(tmp_path, "t-0", _0=batch(0, b"1") + tail)
    assert log_spans(HERE, str(tmp_path)) == {("t", 0): LogSpan(0, 1)}


def test_metadata_and_other_files_are_no_logs(tmp_path):
    write(tmp_path, "__cluster_metadata-0", _0=batch(0, b"1"))
    (tmp_path / "quorum-1").mkdir()
    (tmp_path / "quorum-1" / "entries.log").write_bytes(b"x")
    (tmp_path / "recovery-point").write_text("0")
    assert log_spans(HERE, str(tmp_path)) == {}


def test_a_folder_that_is_not_there_is_an_error_of_the_environment(tmp_path):
    with pytest.raises(EnvironmentFault, match="cannot be read"):
        log_spans(HERE, str(tmp_path / "none"))
