"""The wall clock. It may jump in either direction at any time, so it stamps records and log lines and decides nothing.

Time that decides something (sessions, time-outs, leases) is the event loop's monotonic `loop.time()`. That one stands still
while a turn of the loop lasts, and a process may be stopped in the middle of one: where a thing must not be dated before
it happened, `monotonic` tells the same time anew.
"""

import time


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


def monotonic_ns() -> int:
    return time.monotonic_ns()


def monotonic() -> float:
    return time.monotonic()
