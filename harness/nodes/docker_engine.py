"""A Docker engine of our own, for machines where none answers: started once, and stopped by whoever asks later.

It outlives the command that starts it, so which process it is (pid and start time) is written down in /run, where a reboot forgets it
along with the engine. Its bridge lies in 198.18.0.0/15 like everything we make; Docker's own choice may be a network the machine is in.

Two traps. An engine that is killed leaves its containerd, shims and containers behind: so all that descends from it is known by a mark in
the environment, and is ended too. And another engine may have been started meanwhile: only what is written down is ever struck.
"""

from __future__ import annotations

import os
import secrets
import select
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from harness.errors import EnvironmentFault
from harness.nodes import docker_nodes
from harness.nodes.process_table import find_state, parent_of, start_time

OPTIONS = "HIGHWATER_DOCKERD_OPTIONS"
DEFAULT_OPTIONS = "--bip 198.18.254.1/24"
FOLDER = Path("/run/highwater")
_STATE, _LOG = "engine.json", "engine.log"
_MARK = "HIGHWATER_ENGINE"
_BRIDGE = "docker0"
_START_PATIENCE = 90.0
_PATIENCE = 90.0
_POLL = 0.1


def find_dockerd() -> str | None:
    return shutil.which("dockerd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")


def start_engine(folder: Path = FOLDER) -> None:
    """Returns when it answers. One that does not is stopped again, and its last words are told."""
    program = find_dockerd()
    if program is None:
        raise EnvironmentFault("dockerd is not installed; ./highwater doctor --fix installs it")
    command = [program, *_host_option(), *shlex.split(os.environ.get(OPTIONS, DEFAULT_OPTIONS))]
    folder.mkdir(parents=True, exist_ok=True)
    mark = secrets.token_hex(8)
    bridged = _bridge_exists()
    with open(folder / _LOG, "wb") as log:
        engine = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/", env=os.environ | {_MARK: mark}
        )
    try:
        state = _Started(engine.pid, start_time(engine.pid) or 0, mark, bridged)
        (folder / _STATE).write_bytes(msgspec.json.encode(state))
        _wait_until_it_answers(engine, folder / _LOG)
    except BaseException:
        stop_engine(folder)
        raise


def started_engine(folder: Path = FOLDER) -> int | None:
    """The pid of the engine that was started here and not stopped yet, whether it still lives or not."""
    state = _read(folder)
    return state.pid if state else None


def stop_engine(folder: Path = FOLDER) -> bool:
    """Whether there was one to stop. Nothing of it runs afterwards; images stay."""
    state = _read(folder)
    if state is None:
        return False
    if not _end(state.pid, state.started):
        raise EnvironmentFault(f"the Docker engine (process {state.pid}) does not end; kill it with kill -9 {state.pid} and undo again")
    _sweep(state.mark)
    if not state.bridged and _bridge_exists():
        _remove_bridge()
    (folder / _STATE).unlink(missing_ok=True)
    return True


class _Started(msgspec.Struct, frozen=True):
    """`bridged`: the machine had Docker's bridge before."""

    pid: int
    started: int
    mark: str
    bridged: bool


def _read(folder: Path) -> _Started | None:
    try:
        return msgspec.json.decode((folder / _STATE).read_bytes(), type=_Started)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError:
        raise EnvironmentFault(f"{folder / _STATE} cannot be read; look for dockerd yourself, then remove the file") from None


def _host_option() -> list[str]:
    """Where we look for an engine is where it has to listen."""
    host = os.environ.get("DOCKER_HOST", "")
    if host and not host.startswith("unix://"):
        raise EnvironmentFault(f"DOCKER_HOST is {host}, where no engine answers and none can be started from here; unset it")
    return ["--host", host] if host else []


def _wait_until_it_answers(engine: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_PATIENCE
    while (reason := docker_nodes.available()) is not None:
        if engine.poll() is not None:
            raise EnvironmentFault(f"the Docker engine ended at once: {_last_words(log)} (more in {log}; its options come from {OPTIONS})")
        if time.monotonic() > deadline:
            raise EnvironmentFault(f"the Docker engine did not answer within {_START_PATIENCE:g} s: {reason} (more in {log})")
        time.sleep(_POLL)


def _last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "without a word")


def _end(pid: int, started: int) -> bool:
    """SIGTERM, upon which it stops its containers; whether it ended in time."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        if find_state(pid, started) in (None, "Z", "X"):
            return True
        signal.pidfd_send_signal(handle, signal.SIGTERM)
        return bool(select.select([handle], [], [], _PATIENCE)[0])
    except ProcessLookupError:
        return True
    finally:
        os.close(handle)


def _sweep(mark: str) -> None:
    """Kill what an engine that was killed itself has left. Its shims carry the mark, their containers are below them."""
    deadline = time.monotonic() + _PATIENCE
    while orphans := _family(mark):
        if time.monotonic() > deadline:
            raise EnvironmentFault(f"what the Docker engine left does not end: processes {', '.join(map(str, orphans))}")
        for pid in orphans:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_POLL)


def _family(mark: str) -> list[int]:
    wanted = f"{_MARK}={mark}".encode()
    parents = {pid: parent_of(pid) for pid in map(int, filter(str.isdigit, os.listdir("/proc")))}
    ours = {pid for pid in parents if wanted in _environment(pid)}
    return sorted(pid for pid in parents if ours.intersection(_lineage(pid, parents)))


def _lineage(pid: int, parents: dict[int, int | None]) -> Iterator[int]:
    """It and its ancestors; processes come and go while we look, so a circle is not out of the question."""
    seen: set[int] = set()
    at: int | None = pid
    while at and at not in seen:
        seen.add(at)
        yield at
        at = parents.get(at)


def _environment(pid: int) -> list[bytes]:
    """Empty for a zombie, which nobody has to kill."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _bridge_exists() -> bool:
    return Path("/sys/class/net", _BRIDGE).exists()


def _remove_bridge() -> None:
    from pyroute2 import IPRoute, NetlinkError

    with suppress(NetlinkError), IPRoute() as routes:
        for index in routes.link_lookup(ifname=_BRIDGE):
            routes.link("del", index=index)
