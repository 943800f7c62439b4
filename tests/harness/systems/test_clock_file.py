"""Clocks that can be put off, in a process of eight threads that all look at the time as fast as they can."""

import sys

import pytest

from harness.nodes import create
from harness.systems.clock_file import clock_environment, put_clock_off
from tests.harness.nodes.kinds import missing

# Each of its threads looks at the clock without a rest; a line for each second of offset that all of them have seen.
LOOKING = """
import threading, time
lock, seen, told = threading.Lock(), {}, set()
start, wall = time.monotonic(), time.time()
def look(number):
    while True:
        offset = round((time.time() - wall - (time.monotonic() - start)) / 100) * 100
        with lock:
            seen.setdefault(offset, set()).add(number)
            if len(seen[offset]) == 8 and offset not in told:
                told.add(offset)
                print(offset, flush=True)
for number in range(8):
    threading.Thread(target=look, args=(number,)).start()
"""


def follows(folder, offsets: list[int]) -> None:
    reason = missing("namespaces")
    if reason:
        pytest.skip(reason)
    with create("namespaces", 1, "clock", folder) as nodes:
        [node] = nodes.nodes
        process = node.start([sys.executable, "-I", "-S", "-c", LOOKING], out="seen", err="problems", env=clock_environment(node))
        for offset in [0, *offsets]:
            put_clock_off(node, offset)
            waiting = ["sh", "-c", f"while ! grep -qx -e {offset} seen; do [ -e /proc/{process.pid} ] || exit 3; sleep 0.1; done"]
            assert node.run(waiting, timeout=60).code == 0, node.get("problems")
        assert node.alive(process)
        assert node.get("problems") == b""


def test_a_process_of_eight_threads_follows_its_clock(tmp_path):
    follows(tmp_path, [100, -200])


@pytest.mark.long
def test_a_process_of_eight_threads_survives_many_jumps_of_its_clock(tmp_path):
    """About a second each: twenty seconds and more."""
    follows(tmp_path, [(-1) ** number * 100 * number for number in range(1, 26)])
