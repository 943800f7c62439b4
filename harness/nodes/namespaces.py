"""Nodes as Linux namespaces on this machine: no daemon, no root, no package, no way out, and nothing left however it ends.

All nodes share one PID and one mount namespace, whose first process is the keeper (see there), and have a network namespace each. Files
are the host's own: each node has a folder, and putting and getting are writing and reading. The harness stays outside and asks the
keeper over a socket in the group's folder, which any later command of the same user can open, too.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, TypeVar

import msgspec

from harness.errors import EnvironmentFault, UserMistake
from harness.nodes import messages
from harness.nodes.command import Asked, run_to_end
from harness.nodes.limits import explain
from harness.nodes.messages import READY, SOCKET, Answer, Message, Plan
from harness.nodes.network import LEASE, Network, Rule, rules_for
from harness.nodes.node import COMMAND_TIMEOUT, CommandFailed, Node, NodeLost, Nodes, Process, Result
from harness.nodes.process_table import find_state, start_time
from harness.nodes.put_file import put_file
from harness.nodes.state_files import STATE_FILES

MAX_NODES = 99
_ROOT = Path(__file__).resolve().parents[2]
_PATIENCE = 60.0
_HIDDEN = Path("/run")
STATE = STATE_FILES["namespaces"]
_AnyAnswer = TypeVar("_AnyAnswer", bound=Message)


class NamespaceNodes(Nodes):
    """Invariant: while the outer process of the keeper lives, so may processes in the nodes; when it is gone, so is everything."""

    kind = "namespaces"

    def __init__(self, folder: Path, state: _Saved, starter: subprocess.Popen[bytes] | None) -> None:
        self.folder = folder
        self.run_id = state.run_id
        self._keeper = Process(state.pid, state.started)
        self._starter = starter
        made = [NamespaceNode(name, address, folder) for name, address in state.addresses.items()]
        self.nodes: list[NamespaceNode] = made[:-1]
        self.client: NamespaceNode = made[-1]

    @classmethod
    def create(cls, count: int, run_id: str, folder: Path, *, detached: bool = False) -> NamespaceNodes:
        """`count` nodes and one for clients, all files in the folder. They end with this process; detached ones by `close` alone."""
        if not 1 <= count <= MAX_NODES:
            raise UserMistake(f"there can be 1 to {MAX_NODES} nodes, not {count}")
        folder = folder.resolve()
        if folder.is_relative_to(_HIDDEN):
            raise UserMistake(f"{folder} cannot be seen in the nodes, which have a {_HIDDEN} of their own; choose another folder")
        addresses = {f"n{number}": f"198.18.0.{number}" for number in range(1, count + 1)} | {"client": "198.18.0.250"}
        for name in addresses:
            (folder / name).mkdir(parents=True, exist_ok=True)
        starter = _start_keeper(folder, addresses, detached=detached)
        try:
            state = _Saved(run_id, starter.pid, start_time(starter.pid) or 0, addresses)
            (folder / STATE).write_bytes(msgspec.json.encode(state))
            return cls(folder, state, starter)
        except BaseException:
            _give_up(starter)
            raise

    @classmethod
    def open(cls, folder: Path) -> NamespaceNodes:
        """The nodes an earlier command made in this folder and detached, or made and has not closed yet."""
        folder = folder.resolve()
        try:
            state = msgspec.json.decode((folder / STATE).read_bytes(), type=_Saved)
        except FileNotFoundError:
            raise UserMistake(f"{folder} holds no nodes") from None
        nodes = cls(folder, state, None)
        if not nodes.alive():
            raise NodeLost(f"the nodes in {folder} have ended")
        return nodes

    @staticmethod
    def names_in(folder: Path) -> list[str]:
        """The nodes that were made in this folder last, without the clients'; they may have ended."""
        return list(msgspec.json.decode((folder / STATE).read_bytes(), type=_Saved).addresses)[:-1]

    @classmethod
    def running_in(cls, folder: Path) -> bool:
        """Whether the nodes made there last still are. Where they were killed, what they left in the way is removed."""
        try:
            cls.open(folder)
            return True
        except NodeLost:
            (folder / SOCKET).unlink(missing_ok=True)
            return False

    def alive(self) -> bool:
        return find_state(self._keeper.pid, self._keeper.started) not in (None, "Z", "X")

    def close(self) -> None:
        """The outer process is waited for, not told to end: it ends behind everything else."""
        if self._starter is not None and self._starter.stdin is not None:
            self._starter.stdin.close()
        elif self.alive():
            with suppress(EnvironmentFault):
                self.client.ask(messages.EndAll(), messages.Done)
        if self._starter is not None:
            _wait_for_end(self._starter)
        else:
            self._wait_from_afar()
        (self.folder / SOCKET).unlink(missing_ok=True)

    def _wait_from_afar(self) -> None:
        try:
            handle = os.pidfd_open(self._keeper.pid)
        except ProcessLookupError:
            return
        try:
            if self.alive() and not select.select([handle], [], [], _PATIENCE)[0]:
                raise EnvironmentFault(f"the nodes' keeper does not end; kill it with kill -9 {self._keeper.pid}")
        finally:
            os.close(handle)


class NamespaceNode(Node):
    """One network namespace of the keeper's, and a folder of the host."""

    shares_files = True

    def __init__(self, name: str, address: str, folder: Path) -> None:
        self.name = name
        self.address = address
        self.folder = str(folder / name)
        self._socket = folder / SOCKET
        self.network = NamespaceNetwork(self)

    def run(
        self,
        command: Sequence[str],
        *,
        timeout: float = COMMAND_TIMEOUT,
        input: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> Result:
        asked = Asked(self.name, command, dict(env or {}), self._path(cwd or ""))
        with self._connection() as connection:
            return run_to_end(connection, asked, input, timeout, kill=self._kill_group)

    def start(
        self,
        command: Sequence[str],
        *,
        out: str,
        err: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> Process:
        with ExitStack() as stack:
            files: list[IO[bytes]] = [stack.enter_context(open(os.devnull, "rb"))]
            for path in (out, err or out):
                files.append(stack.enter_context(open(self._path(path), "ab")))
            request = messages.Spawn(self.name, list(command), dict(env or {}), self._path(cwd or ""), True)
            answer = self.ask(request, messages.Spawned, files=[file.fileno() for file in files])
        return Process(answer.pid, answer.started)

    def execute(self, command: Sequence[str], cwd: str) -> int:
        """Run it on our own standard input and outputs, with our environment; its exit code. It ends with us."""
        request = messages.Spawn(self.name, list(command), dict(os.environ), cwd, False)
        with self._connection() as connection:
            messages.send(connection, request, [0, 1, 2])
            connection.settimeout(None)
            try:
                _expect(messages.receive_answer(connection), messages.Spawned)
                return _expect(messages.receive_answer(connection), messages.Ended).code
            except messages.Closed:
                raise self._lost() from None

    def signal(self, process: Process, number: signal.Signals, *, group: bool = False) -> bool:
        return self.ask(messages.Signal(process.pid, process.started, number, group), messages.Found).yes

    def state(self, process: Process) -> str | None:
        return self.ask(messages.AskState(process.pid, process.started), messages.State).letter

    def wait(self, process: Process, timeout: float) -> int | None:
        try:
            return self.ask(messages.AwaitEnd(process.pid, process.started), messages.Ended, timeout=timeout).code
        except TimeoutError:
            return None

    def put(self, path: str, content: bytes | Path, *, mode: int = 0o644) -> None:
        put_file(Path(self._path(path)), content, mode)

    def get(self, path: str) -> bytes:
        return Path(self._path(path)).read_bytes()

    def ask(self, request: Message, answer: type[_AnyAnswer], *, files: Sequence[int] = (), timeout: float = _PATIENCE) -> _AnyAnswer:
        with self._connection() as connection:
            connection.settimeout(max(timeout, 0.001))
            try:
                messages.send(connection, request, files)
                return _expect(messages.receive_answer(connection), answer)
            except messages.Closed:
                raise self._lost() from None

    def _kill_group(self, process: Process) -> None:
        self.signal(process, signal.SIGKILL, group=True)

    def _connection(self) -> socket.socket:
        try:
            return messages.connect(self._socket, _PATIENCE)
        except (FileNotFoundError, ConnectionError):
            raise self._lost() from None

    def _lost(self) -> NodeLost:
        return NodeLost(f"node {self.name} is gone: its keeper has ended (see {self._socket.parent / 'keeper.log'})")

    def _path(self, path: str) -> str:
        return os.path.join(self.folder, path)


class NamespaceNetwork(Network):
    """Rules are made by the keeper and end with it, so a lease has nothing to do."""

    def __init__(self, node: NamespaceNode) -> None:
        self._node = node

    def block(self, sources: Sequence[str], ports: Sequence[int] = (), *, lease: float = LEASE) -> None:
        self._node.ask(messages.Block(self._node.name, sorted(rules_for(sources, ports))), messages.Done)

    def unblock_all(self) -> None:
        self._node.ask(messages.UnblockAll(self._node.name), messages.Done)

    def rules(self) -> frozenset[Rule]:
        return frozenset(self._node.ask(messages.AskRules(self._node.name), messages.Rules).rules)


def available() -> str | None:
    """Why there can be none here, and the remedy; nothing if there can. It is tried, not guessed."""
    with tempfile.TemporaryDirectory(prefix="highwater-") as folder:
        try:
            NamespaceNodes.create(1, "trial", Path(folder)).close()
            return None
        except (EnvironmentFault, UserMistake) as problem:
            return str(problem)


class _Saved(msgspec.Struct, frozen=True):
    run_id: str
    pid: int
    started: int
    addresses: dict[str, str]


def _start_keeper(folder: Path, addresses: dict[str, str], *, detached: bool) -> subprocess.Popen[bytes]:
    """Started by a thread: Ctrl-C interrupts the main one alone, and one that came in the midst of it would leave a keeper nobody knows."""
    plan = Plan(str(folder), addresses, 0 if detached else os.getpid())
    started: list[subprocess.Popen[bytes]] = []
    try:
        with ThreadPoolExecutor(1) as starting:
            starting.submit(lambda: started.append(_spawn(plan, folder, detached=detached))).result()
        _await_ready(started[0], folder)
        return started[0]
    except BaseException:
        for starter in started:
            _give_up(starter)
        raise


def _spawn(plan: Plan, folder: Path, *, detached: bool) -> subprocess.Popen[bytes]:
    with open(folder / "keeper.log", "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "harness.nodes.keeper", msgspec.json.encode(plan).decode()],
            stdin=subprocess.DEVNULL if detached else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=_ROOT,
            start_new_session=True,
        )


def _await_ready(starter: subprocess.Popen[bytes], folder: Path) -> None:
    assert starter.stdout is not None
    in_time = select.select([starter.stdout], [], [], _PATIENCE)[0]
    words = starter.stdout.readline().decode().strip() if in_time else f"no answer after {_PATIENCE:.0f} s"
    starter.stdout.close()
    if words != READY:
        raise EnvironmentFault(explain(words or "the keeper ended without a word", folder / "keeper.log"))


def _give_up(starter: subprocess.Popen[bytes]) -> None:
    """A keeper that was still starting. One that hears us ends inside out, so that nothing is left when it is gone: of one that is
    killed, the inner process follows a moment later."""
    if starter.stdin is not None:
        starter.stdin.close()
        _wait_for_end(starter)
    else:
        _kill(starter)


def _wait_for_end(starter: subprocess.Popen[bytes]) -> None:
    try:
        starter.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        _kill(starter)


def _kill(starter: subprocess.Popen[bytes]) -> None:
    starter.kill()
    starter.wait()


def _expect(answer: Answer, kind: type[_AnyAnswer]) -> _AnyAnswer:
    if isinstance(answer, messages.Refused):
        raise CommandFailed(answer.reason)
    assert isinstance(answer, kind), f"the keeper answered {answer}"
    return answer
