"""Processes as /proc shows them: which one, and in what state.

The trap: the command's name, second in /proc/<pid>/stat, may hold blanks and brackets; what counts stands behind the last bracket.
"""

from __future__ import annotations

_STATE, _PARENT, _START_TIME = 0, 1, 19  # counted from the field behind the command's name


def find_state(pid: int, started: int) -> str | None:
    """The letter of its state, or nothing if it is gone or its number belongs to another one now."""
    return state_in(_stat(pid), started)


def start_time(pid: int) -> int | None:
    """In clock ticks since boot; nothing if there is no such process."""
    return start_time_in(_stat(pid))


def parent_of(pid: int) -> int | None:
    fields = _fields(_stat(pid))
    return int(fields[_PARENT]) if fields else None


def state_in(stat: str, started: int) -> str | None:
    """As `find_state`, from what a stat file holds; empty where there is none."""
    return _fields(stat)[_STATE] if start_time_in(stat) == started else None


def start_time_in(stat: str) -> int | None:
    fields = _fields(stat)
    return int(fields[_START_TIME]) if fields else None


def _fields(stat: str) -> list[str]:
    return stat.rpartition(")")[2].split()


def _stat(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""
