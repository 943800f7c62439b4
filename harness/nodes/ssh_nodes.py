"""Nodes as hosts reached over SSH: machines the user has, named in an inventory, and the containers of the docker kind.

    [[node]]
    name = "n1"
    address = "10.0.0.11"
    user = "tester"
    key = "~/.ssh/id_ed25519"
    allow_routing = true          # cuts by routing rules; without it by iptables
    [[client]] ...                # exactly one, which may not be the machine the harness runs on

A host has no keeper that takes all with it. A started process gets a supervisor that notes how it ended, and everything we start
carries the run's id in its environment, by which the end of the run finds and kills it.
"""

from __future__ import annotations

import shlex
import signal
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from harness.errors import EnvironmentFault, UserMistake
from harness.nodes.node import COMMAND_TIMEOUT, CommandFailed, CommandTimedOut, Node, Nodes, Process, Result
from harness.nodes.process_table import start_time_in, state_in
from harness.nodes.ssh_connection import PATIENCE, Host, SshConnection, shell_words
from harness.nodes.ssh_network import FilterNetwork, RoutingNetwork, SshNetwork

MARK = "HIGHWATER_RUN"
_NO_FOLDER, _NOT_FOUND, _NO_FILE = 126, 127, 44


class SshNodes(Nodes):
    """Hosts of an inventory, used for one run."""

    kind = "ssh"

    def __init__(self, run_id: str, nodes: Sequence[SshNode], client: SshNode) -> None:
        self.run_id = run_id
        self.nodes: Sequence[SshNode] = nodes
        self.client: SshNode = client

    @classmethod
    def create(cls, count: int, run_id: str, inventory: Path) -> SshNodes:
        hosts, client = read_inventory(inventory)
        if not 1 <= count <= len(hosts):
            raise UserMistake(f"{inventory} has {len(hosts)} nodes, not {count}; ask for 1 to {len(hosts)} or add more")
        made = cls(run_id, [SshNode(host, run_id) for host in hosts[:count]], SshNode(client, run_id))
        try:
            for node in [*made.nodes, made.client]:
                node.open()
            return made
        except BaseException:
            made.close()
            raise

    def close(self) -> None:
        """Each host on its own: one that is gone keeps no other from being tidied, but is reported at the end."""
        problems = []
        for node in [*self.nodes, self.client]:
            try:
                node.close()
            except EnvironmentFault as problem:
                problems.append(str(problem))
        if problems:
            raise EnvironmentFault("; ".join(problems))


class SshNode(Node):
    """One host. Its folder is made at the start of a run and removed at the end."""

    def __init__(self, host: Host, run_id: str, folder: str = "") -> None:
        self.name = host.name
        self.address = host.address
        self.folder = folder or f"/tmp/highwater-{run_id}-{host.name}"
        self._connection = SshConnection(host)
        self._mark = {MARK: f"{run_id}-{host.name}"}
        self.network: SshNetwork = (RoutingNetwork if host.allow_routing else FilterNetwork)(self._connection, self.folder)
        self._opened = False

    def open(self, patience: float = 0.0) -> None:
        """So long may it refuse us, as a host does that is just starting."""
        self._connection.wait_up(patience)
        self._opened = True
        self._script(f"mkdir -p {shlex.quote(self.folder)}").require(f"making a folder on node {self.name}")

    def close(self) -> None:
        """Cuts, processes and the folder, in this order: a folder may not be removed under a process that writes there."""
        if not self._opened:
            return
        self._opened = False
        mark = shlex.quote(f"{MARK}={self._mark[MARK]}")
        sweep = (
            f"of_run() {{ grep -lzsx {mark} /proc/[0-9]*/environ | cut -d / -f 3; }}\n"
            'while pids=$(of_run) && [ -n "$pids" ]; do kill -9 $pids 2>/dev/null; sleep 0.05; done\n'
            f"rm -rf {shlex.quote(self.folder)}"
        )
        try:
            self.network.undo()
            self._script(sweep).require(f"tidying node {self.name}")
        finally:
            self._connection.close()

    def hang_up(self) -> None:
        """Close the connection and leave the host as it is: for hosts that are thrown away."""
        self._opened = False
        self._connection.close()

    def run(
        self,
        command: Sequence[str],
        *,
        timeout: float = COMMAND_TIMEOUT,
        input: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> Result:
        script = f"cd {self._quoted(cwd or '')} || exit {_NO_FOLDER}\n{shell_words(command, self._mark | dict(env or {}))}\nexit $?"
        return self._connection.run(script, timeout=timeout, input=input)

    def start(
        self,
        command: Sequence[str],
        *,
        out: str,
        err: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> Process:
        """The supervisor is the parent, in another session; it tells which process it is, closes our channel and waits for the end."""
        started = shell_words(command, self._mark | dict(env or {}))
        errors = f"2>>{self._quoted(err)}" if err else "2>&1"
        ended = self._quoted(".ended-")
        supervisor = (
            f"setsid {started} </dev/null >>{self._quoted(out)} {errors} &\n"
            "read -r stat </proc/$!/stat\n"
            f'rm -f {ended}$!\necho "$stat"\nexec >&- 2>&-\n'
            f'wait $!\ncode=$?\nprintf "%s\\n%s\\n" "$code" "$stat" >{ended}$!.new\nmv {ended}$!.new {ended}$!'
        )
        script = (
            f"cd {self._quoted(cwd or '')} || exit {_NO_FOLDER}\n"
            f"command -v {shlex.quote(command[0])} >/dev/null || {{ echo {shlex.quote(command[0])}: not found >&2; exit {_NOT_FOUND}; }}\n"
            f"setsid sh -c {shlex.quote(supervisor)} </dev/null &"
        )
        stat = self._script(script).require(f"starting {command[0]} on node {self.name}").decode()
        started_at = start_time_in(stat)
        if started_at is None:
            raise CommandFailed(f"{command[0]} on node {self.name} ended before it could be seen")
        return Process(int(stat.split()[0]), started_at)

    def signal(self, process: Process, number: signal.Signals, *, group: bool = False) -> bool:
        """Looked at and struck in one script, so that hardly anything can come between."""
        target = f"-{process.pid}" if group else str(process.pid)
        script = (
            f"read -r stat 2>/dev/null </proc/{process.pid}/stat || exit 1\n"
            f'set -- ${{stat##*) }}\n[ "${{20}}" = {process.started} ] && [ "$1" != Z ] && kill -{int(number)} {target}'
        )
        return self._script(script).code == 0

    def state(self, process: Process) -> str | None:
        done = self._script(f"cat /proc/{process.pid}/stat 2>/dev/null || true")
        return state_in(done.out.decode(), process.started)

    def wait(self, process: Process, timeout: float) -> int | None:
        ended = self._quoted(f".ended-{process.pid}")
        try:
            done = self._connection.run(f"while ! cat {ended} 2>/dev/null; do sleep 0.05; done", timeout=timeout)
        except CommandTimedOut:
            return None
        code, _, stat = done.out.decode().partition("\n")
        if start_time_in(stat) != process.started:
            raise CommandFailed(f"process {process.pid} was not started here, or ended long ago")
        return 128 - int(code) if int(code) > 128 else int(code)

    def put(self, path: str, content: bytes | Path, *, mode: int = 0o644) -> None:
        target = self._quoted(path)
        script = f'set -e\nmkdir -p "$(dirname {target})"\ncat >{target}.new\nchmod {mode:o} {target}.new\nmv {target}.new {target}'
        data = content if isinstance(content, bytes) else content.read_bytes()
        self._connection.run(script, timeout=PATIENCE, input=data).require(f"putting {path} on node {self.name}")

    def get(self, path: str) -> bytes:
        done = self._script(f"[ -e {self._quoted(path)} ] || exit {_NO_FILE}\nexec cat {self._quoted(path)}")
        if done.code == _NO_FILE:
            raise FileNotFoundError(f"{path} on node {self.name}")
        return done.require(f"getting {path} from node {self.name}")

    def _script(self, script: str) -> Result:
        return self._connection.run(script, timeout=PATIENCE)

    def _quoted(self, path: str) -> str:
        return shlex.quote(path if path.startswith("/") else f"{self.folder}/{path}".rstrip("/"))


class _InventoryHost(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    address: str
    user: str
    key: str
    name: str = ""
    port: int = 22
    host_key: str = ""
    allow_routing: bool = False


class _Inventory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    node: list[_InventoryHost]
    client: list[_InventoryHost]


def read_inventory(path: Path) -> tuple[list[Host], Host]:
    """The nodes and the client; a mistake is named with the file and the field."""
    try:
        found = msgspec.convert(tomllib.loads(path.read_text()), _Inventory)
    except OSError as problem:
        raise UserMistake(f"the inventory {path} cannot be read: {problem.strerror}") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as problem:
        raise UserMistake(f"the inventory {path} is not right: {problem}") from None
    if len(found.client) != 1 or not found.node:
        raise UserMistake(f"the inventory {path} needs one [[client]] and at least one [[node]]")
    nodes = [_host(host, host.name or f"n{number}") for number, host in enumerate(found.node, 1)]
    client = _host(found.client[0], found.client[0].name or "client")
    if len({host.name for host in [*nodes, client]}) <= len(nodes):
        raise UserMistake(f"the inventory {path} gives two hosts one name")
    return nodes, client


def _host(host: _InventoryHost, name: str) -> Host:
    return Host(name, host.address, host.user, Path(host.key).expanduser(), host.port, host.host_key, host.allow_routing)
