"""Processes that end with the one that started them, however it ends: the kernel sees to it, by kill -9 too."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1


def tied_to_this_process(command: Sequence[str]) -> list[str]:
    """The same command, but the kernel kills it when the process that starts it ends.

    It ties itself before it becomes the command, because running Python between fork and exec is unsafe beside a client's threads.
    The trap: to the kernel the parent is the *thread* that forked. Start it from one that lives as long as it should.
    """
    return [sys.executable, "-I", "-S", "-c", _TIE, str(os.getpid()), *command]


_TIE = f"""
import ctypes, os, sys
ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, {signal.SIGKILL.value})
if os.getppid() == int(sys.argv[1]):
    os.execvp(sys.argv[2], sys.argv[2:])
"""
