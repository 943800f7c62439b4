"""A process of which only the number is known, across restarts of the command that started it.

Numbers are reused, so a process is named by its pid *and* its start time, both kept in the cluster's state file. Signals go through
a pidfd opened before the start time is compared: what is struck is what was looked at, or nothing.
"""

from __future__ import annotations

import os
import select
import signal
import time
from dataclasses import dataclass

_STATE, _START_TIME = 0, 19  # fields of /proc/<pid>/stat, counted from the one behind the command's name


@dataclass(frozen=True, slots=True)
class ProcessName:
    """Which process: `started` is its start in clock ticks since boot."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> ProcessName:
        fields = _stat(pid)
        if fields is None:
            raise ProcessLookupError(f"there is no process {pid}")
        return cls(pid, int(fields[_START_TIME]))

    def alive(self) -> bool:
        """A zombie is dead: it holds no port, file or lock."""
        fields = _stat(self.pid)
        return fields is not None and fields[_STATE] not in ("Z", "X") and int(fields[_START_TIME]) == self.started

    def send(self, number: signal.Signals) -> bool:
        """Whether there was such a process to send the signal to."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            if not self.alive():
                return False
            signal.pidfd_send_signal(handle, number)
            return True
        except ProcessLookupError:
            return False
        finally:
            os.close(handle)

    def wait(self, timeout: float) -> bool:
        """Whether it has ended, after at most so many seconds."""
        deadline = time.monotonic() + timeout
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return True
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            while self.alive():
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                poll.poll(left * 1000)
            return True
        finally:
            os.close(handle)


def _stat(pid: int) -> list[str] | None:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
