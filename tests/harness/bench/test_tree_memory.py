import os
import subprocess
import sys

from harness.bench.tree_memory import TreeMemory, descendants, proportional_size

HOLD = "import sys; held = bytearray(b'x' * 80_000_000); print('here', flush=True); sys.stdin.read()"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLD!r}])"


def test_what_a_grandchild_holds_counts():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None and child.stdout is not None
        with TreeMemory(child.pid) as memory:
            assert child.stdout.readline() == "here\n"
            tree = descendants(child.pid)
        child.stdin.close()
    assert len(tree) == 2
    assert 80_000_000 <= memory.peak < 400_000_000


def test_a_process_that_is_gone_holds_nothing():
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        pass
    assert proportional_size(child.pid) == 0
    assert descendants(child.pid) == [child.pid]


def test_this_process_is_among_its_descendants():
    assert descendants(os.getpid())[0] == os.getpid()
