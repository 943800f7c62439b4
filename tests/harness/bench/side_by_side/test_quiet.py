"""The machine around a measurement, from what the kernel counts."""

import os

import pytest

from harness.bench.side_by_side.quiet import disturbance, machine_time, waiting_to_be_written

TICKS = os.sysconf("SC_CLK_TCK")


def stat(*seconds):
    return "cpu  " + " ".join(str(value * TICKS) for value in (*seconds, 0, 0)) + "\ncpu0 1 2 3\n"


def test_steal_and_the_work_of_others_are_shares_of_the_machine():
    before = machine_time(stat(10, 0, 5, 80, 1, 0, 1, 3))
    after = machine_time(stat(13, 0, 7, 82, 1, 0, 2, 5))
    found = disturbance(before, after, ours=4.0)
    assert found.steal == pytest.approx(0.2) and found.others == pytest.approx(0.2)


def test_what_is_ours_is_not_counted_as_others():
    before, after = machine_time(stat(10, 0, 5, 80, 1, 0, 1, 3)), machine_time(stat(12, 0, 5, 82, 1, 0, 1, 3))
    assert disturbance(before, after, ours=2.5).others == 0


def test_the_kernel_tells_both_here():
    assert machine_time().total > 0 and waiting_to_be_written() >= 0
