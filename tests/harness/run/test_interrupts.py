"""Ctrl-C once, twice, and while the run is ending, in a process of its own."""

import signal
import subprocess
import sys

import pytest

from tests.harness.run.running import ROOT

PROGRAM = """
import sys, time
from harness.run.interrupts import Interrupts
with Interrupts() as interrupts:
    interrupts.farewell = "clean up"
    interrupts.ending = "ending" in sys.argv
    try:
        print("ready", flush=True)
        input()
        print("went on", flush=True)
    except KeyboardInterrupt:
        interrupts.ending = True
        print("interrupted", flush=True)
        input()
        print("collected", flush=True)
"""


@pytest.fixture
def start():
    started = []

    def begin(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        started.append(process)
        assert process.stdout and process.stdout.readline() == "ready\n"
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_interrupts_and_what_follows_is_not_torn(start, number):
    process = start()
    process.send_signal(number)
    assert process.stdout.readline() == "interrupted\n"
    assert process.communicate("\n", timeout=60)[0] == "collected\n"
    assert process.returncode == 0


def test_the_second_leaves_at_once_with_a_farewell(start):
    process = start()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (out, process.returncode) == ("", 130)
    assert "left at once; clean up" in err


def test_one_that_comes_while_the_run_is_ending_lets_it_end(start):
    process = start("ending")
    process.send_signal(signal.SIGINT)
    assert process.stderr.readline() == "\n" and "once more leaves at once" in process.stderr.readline()
    assert process.communicate("\n", timeout=60)[0] == "went on\n"
