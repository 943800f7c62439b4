"""Running a command through the keeper: its pipes are ours, so we feed it, listen to it and lose patience with it here.

The trap: input and both outputs are pipes of 64 KiB, so they are served together; writing all input first would lock both sides up
on a command that answers as it reads.
"""

from __future__ import annotations

import os
import selectors
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.nodes import messages
from harness.nodes.node import CommandTimedOut, NodeLost, Process, Result

_CHUNK = 1 << 16
_NOT_FOUND = 127


@dataclass(frozen=True, slots=True)
class Asked:
    """What to run, and where."""

    node: str
    command: Sequence[str]
    env: dict[str, str]
    cwd: str


def run_to_end(connection: socket.socket, asked: Asked, input: bytes, timeout: float, *, kill: Callable[[Process], None]) -> Result:
    """A command that cannot be started ends with 127, as it would in a shell."""
    deadline = time.monotonic() + timeout
    pipes = _Pipes(input)
    try:
        request = messages.Spawn(asked.node, list(asked.command), asked.env, asked.cwd, False)
        messages.send(connection, request, pipes.theirs)
        pipes.close_theirs()
        answer = messages.receive_answer(connection)
        if isinstance(answer, messages.Refused):
            return Result(_NOT_FOUND, b"", answer.reason.encode())
        assert isinstance(answer, messages.Spawned), f"the keeper answered {answer}"
        if not pipes.exchange(deadline) or (code := _exit_code(connection, deadline)) is None:
            kill(Process(answer.pid, answer.started))
            raise CommandTimedOut(f"{' '.join(asked.command)[:200]} on node {asked.node} did not end within {timeout:g} s and was killed")
        return Result(code, bytes(pipes.out), bytes(pipes.err))
    except messages.Closed:
        raise NodeLost(f"node {asked.node} is gone: its keeper has ended") from None
    finally:
        pipes.close()


def _exit_code(connection: socket.socket, deadline: float) -> int | None:
    connection.settimeout(max(deadline - time.monotonic(), 0.001))
    try:
        answer = messages.receive_answer(connection)
    except TimeoutError:
        return None
    assert isinstance(answer, messages.Ended), f"the keeper answered {answer}"
    return answer.code


class _Pipes:
    """Invariant: `theirs` and `_ours` are open descriptors, each in one of them only."""

    def __init__(self, input: bytes) -> None:
        self.out, self.err = bytearray(), bytearray()
        self._input = memoryview(input)
        (stdin, self._in), (self._out, stdout), (self._err, stderr) = os.pipe(), os.pipe(), os.pipe()
        self.theirs = [stdin, stdout, stderr]
        self._ours = {self._in, self._out, self._err}
        for end in self._ours:
            os.set_blocking(end, False)

    def exchange(self, deadline: float) -> bool:
        """Whether all was said and heard in time."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._in, selectors.EVENT_WRITE, self._write)
            selector.register(self._out, selectors.EVENT_READ, lambda: self._read(self._out, self.out))
            selector.register(self._err, selectors.EVENT_READ, lambda: self._read(self._err, self.err))
            while selector.get_map():
                left = deadline - time.monotonic()
                ready = selector.select(left) if left > 0 else []
                if not ready:
                    return False
                for key, _ in ready:
                    if not key.data():
                        selector.unregister(key.fd)
                        self._close(key.fd)
        return True

    def close_theirs(self) -> None:
        messages.close_all(self.theirs)
        self.theirs = []

    def close(self) -> None:
        self.close_theirs()
        for end in list(self._ours):
            self._close(end)

    def _write(self) -> bool:
        if not self._input:
            return False
        try:
            self._input = self._input[os.write(self._in, self._input[:_CHUNK]) :]
        except BrokenPipeError:
            return False
        return bool(self._input)

    def _read(self, end: int, heard: bytearray) -> bool:
        words = os.read(end, _CHUNK)
        heard += words
        return bool(words)

    def _close(self, end: int) -> None:
        self._ours.discard(end)
        os.close(end)
