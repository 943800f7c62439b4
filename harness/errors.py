"""The two ways in which a command can fail without being wrong itself, and the exit code each ends in.

An error carries the fact and the remedy in one line, because that line is all a user gets to see: it is printed once, at the
edge, without a stack trace. Whatever else escapes is a defect of ours.
"""

from __future__ import annotations

from typing import ClassVar

DONE = 0
FAILED = 1
CANNOT_TELL = 2
USER_CAN_MEND = 254
ENVIRONMENT = 255


class HighwaterError(Exception):
    """Something a user can do something about."""

    exit_code: ClassVar[int]


class UserMistake(HighwaterError):
    """Other arguments, or another scenario, would mend it."""

    exit_code = USER_CAN_MEND


class EnvironmentFault(HighwaterError):
    """The machine does not play along: a port in use, a full disk, a process that died."""

    exit_code = ENVIRONMENT
