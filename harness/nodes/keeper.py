"""The keeper: first process of a private world, mother of everything in it, gone when its harness is gone.

The kernel kills a whole PID namespace with its first process. So the one thing that has to be right is that this process ends: it
watches the pipe the harness holds open, the harness itself and its own parent, and any of them ending ends it, after which nothing
inside can be left. Nothing is cleaned up, because nothing is outside.

Two processes: the outer one becomes root of the new namespaces and waits; the inner one is the first process there. When the outer one
is gone, everything is. The keeper has one thread, which enters a node's network, starts a process there and comes back.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import NoReturn

import msgspec

from harness.nodes import messages, privacy
from harness.nodes.messages import READY, SOCKET, Answer, Closed, Plan, Request
from harness.nodes.process_table import find_state, start_time
from harness.nodes.wiring import Wiring

_MAX_CONNECTIONS = 512  # more wait until one ends
_MAX_REMEMBERED = 4096  # exit codes of processes that ended


def main() -> NoReturn:
    plan = msgspec.json.decode(sys.argv[1], type=Plan)
    try:
        lifelines = [os.pidfd_open(os.getpid())]
        if plan.owner:
            lifelines += [0, os.pidfd_open(os.getppid())]
            if os.getppid() != plan.owner:
                sys.exit("the harness is gone")
        privacy.become_root_of_a_new_world()
    except OSError as problem:
        _report(str(problem.args[-1]))
        sys.exit(1)
    inner = os.fork()
    if inner == 0:
        privacy.die_with_parent()
        _keep(plan, lifelines)
    os.dup2(2, 1)  # the reader of our words must see their end when the inner process ends
    os._exit(abs(os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1])))


def _keep(plan: Plan, lifelines: list[int]) -> NoReturn:
    """Never returns, and ends without unwinding: the first process of a world needs no tidy end."""
    try:
        privacy.hide_the_outside()
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, _unmoved)
        wiring = Wiring(plan.addresses)
        path = Path(plan.folder, SOCKET)
        keeper = Keeper(messages.listen(path), wiring, lifelines)
        _report(READY)
        os.dup2(2, 1)
        keeper.serve()
        path.unlink(missing_ok=True)
    except BaseException as problem:
        _report(f"{type(problem).__name__}: {problem}" if not isinstance(problem, OSError) else str(problem.args[-1]))
        sys.excepthook(type(problem), problem, problem.__traceback__)
        os._exit(1)
    os._exit(0)


@dataclass(slots=True)
class _Child:
    """A process we started: `popen` until it is reaped, then `code`."""

    popen: subprocess.Popen[bytes]
    started: int
    kept: bool
    code: int | None = None
    waiting: list[socket.socket] = field(default_factory=list)


class Keeper:
    """Invariant: every living child is in `_children` under its pid; what ended is in `_ended` under pid and start time, newest last."""

    def __init__(self, listener: socket.socket, wiring: Wiring, lifelines: list[int]) -> None:
        self._wiring = wiring
        self._listener = listener
        self._children: dict[int, _Child] = {}
        self._ended: OrderedDict[tuple[int, int], int] = OrderedDict()
        self._commands: dict[socket.socket, _Child] = {}  # what dies with its connection
        self._selector = selectors.DefaultSelector()
        self._going = True
        for lifeline in lifelines:
            self._on_readable(lifeline, self._end)
        self._on_readable(listener, self._accept)
        self._wake_up, self._woken = socket.socketpair()
        self._wake_up.setblocking(False)
        signal.set_wakeup_fd(self._wake_up.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _unmoved)
        self._on_readable(self._woken, self._reap)

    def serve(self) -> None:
        while self._going:
            for key, _ in self._selector.select():
                key.data()

    def _on_readable(self, file: int | socket.socket, act: Callable[[], None]) -> None:
        self._selector.register(file, selectors.EVENT_READ, act)

    def _end(self) -> None:
        self._going = False

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        self._on_readable(connection, lambda: self._serve(connection))
        if len(self._selector.get_map()) >= _MAX_CONNECTIONS:
            self._selector.unregister(self._listener)

    def _serve(self, connection: socket.socket) -> None:
        files: list[int] = []
        try:
            request, files = messages.receive_request(connection)
            answer = self._answer(connection, request, files)
            if answer is not None:
                messages.send(connection, answer)
        except (Closed, BlockingIOError, msgspec.MsgspecError):
            self._hang_up(connection)
        finally:
            messages.close_all(files)

    def _answer(self, connection: socket.socket, request: Request, files: list[int]) -> Answer | None:
        try:
            match request:
                case messages.Spawn():
                    return self._spawn(connection, request, files)
                case messages.Signal(pid, started, number, group):
                    return messages.Found(self._signal(pid, started, number, group))
                case messages.AskState(pid, started):
                    return messages.State(find_state(pid, started))
                case messages.AwaitEnd(pid, started):
                    return self._await_end(connection, pid, started)
                case messages.Block(node, rules):
                    self._wiring.block(node, rules)
                case messages.UnblockAll(node):
                    self._wiring.unblock_all(node)
                case messages.AskRules(node):
                    return messages.Rules(self._wiring.rules(node))
                case messages.EndAll():
                    self._end()
            return messages.Done()
        except Exception as problem:
            return messages.Refused(f"{type(problem).__name__}: {problem}")

    def _spawn(self, connection: socket.socket, request: messages.Spawn, files: list[int]) -> Answer:
        standard_input, out, err = files
        try:
            with self._wiring.inside(request.node):
                popen = subprocess.Popen(
                    request.command,
                    stdin=standard_input,
                    stdout=out,
                    stderr=err,
                    cwd=request.cwd,
                    env=os.environ | request.env,
                    start_new_session=True,
                )
        except OSError as problem:
            return messages.Refused(f"{problem.filename or request.command[0]}: {problem.strerror}")
        started = start_time(popen.pid)
        assert started is not None, "a child that nobody has reaped has a start time"
        child = self._children[popen.pid] = _Child(popen, started, request.kept)
        if not request.kept:
            self._commands[connection] = child
            child.waiting.append(connection)
        return messages.Spawned(popen.pid, started)

    def _signal(self, pid: int, started: int, number: int, group: bool) -> bool:
        """Nobody but us reaps our children: what was looked at is still there when it is struck."""
        if find_state(pid, started) in (None, "Z", "X"):
            return False
        (os.killpg if group else os.kill)(pid, number)
        return True

    def _await_end(self, connection: socket.socket, pid: int, started: int) -> Answer | None:
        code = self._ended.get((pid, started))
        if code is not None:
            return messages.Ended(code)
        child = self._children.get(pid)
        if child is None or child.started != started:
            return messages.Refused(f"process {pid} was not started here, or ended long ago")
        child.waiting.append(connection)
        return None

    def _reap(self) -> None:
        """Our own children and, as the first process, everybody's orphans."""
        self._woken.recv(4096)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            child = self._children.pop(pid, None)
            if child is not None:
                self._bury(child, os.waitstatus_to_exitcode(status))

    def _bury(self, child: _Child, code: int) -> None:
        child.popen.returncode = child.code = code
        self._ended[child.popen.pid, child.started] = code
        if len(self._ended) > _MAX_REMEMBERED:
            self._ended.popitem(last=False)
        for connection in child.waiting:
            try:
                messages.send(connection, messages.Ended(code))
            except (Closed, BlockingIOError):
                self._hang_up(connection)

    def _hang_up(self, connection: socket.socket) -> None:
        if connection.fileno() < 0:
            return
        if len(self._selector.get_map()) >= _MAX_CONNECTIONS - 1 and self._listener not in self._selector.get_map():
            self._on_readable(self._listener, self._accept)
        self._selector.unregister(connection)
        connection.close()
        for waiting in self._children.values():
            if connection in waiting.waiting:
                waiting.waiting.remove(connection)
        command = self._commands.pop(connection, None)
        if command is not None and command.code is None:
            os.killpg(command.popen.pid, signal.SIGKILL)


def _unmoved(number: int, frame: FrameType | None) -> None:
    """A handler, and not "ignore", because what is ignored stays ignored in every process we start."""


def _report(words: str) -> None:
    os.write(1, words.encode() + b"\n")


if __name__ == "__main__":
    main()
