"""The wall clock. It may jump in either direction at any time, so it stamps records and log lines and decides nothing.

Time that decides something (sessions, time-outs, leases) is the event loop's monotonic `loop.time()`.
"""

import time


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


def monotonic_ns() -> int:
    return time.monotonic_ns()
