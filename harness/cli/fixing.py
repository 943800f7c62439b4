"""`doctor --fix` and `doctor --undo`: what the tests need of this machine beyond the lock file, and back.

That is a Docker engine that answers and the image of a node, so that containers and SSH hosts can be tested, and the programs that judge
what we make: a browser for reports, systemd's own judgement of our timer. Namespaces need nothing.
Each step is said before it is done and left out where it is not needed, so a second call has nothing to do. Packages and images stay
when all is undone: they are slow to make and do nothing by themselves.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.cli import packages
from harness.errors import EnvironmentFault
from harness.nodes import docker_engine, docker_nodes, node_image

_DEBOOTSTRAP = ("debootstrap", "debian-archive-keyring")
_JUDGES = {"chromium": "chromium", "systemd-analyze": "systemd"}
"""Programs that tests ask for a judgement, and the Debian packages that have them."""


def fix(folder: Path = docker_engine.FOLDER) -> None:
    if _is_ready():
        _say(f"nothing to fix: a Docker engine answers and has the image of a node; {' and '.join(_JUDGES)} are there")
        return
    _require_root(
        "--fix",
        "a Docker engine is installed where there is none, started where none answers, and given the image of a node; "
        f"{' and '.join(_JUDGES)} are installed where they are missing",
    )
    with _alone(folder):
        for package in _missing_judges():
            _say(f"installing {package} (apt-get)")
            packages.install([package])
        if docker_nodes.available() is not None:
            _ensure_engine(folder)
        engine = docker_nodes.connect_engine()
        try:
            if not node_image.has_image(engine):
                if node_image.find_base(engine) is None and shutil.which("debootstrap") is None:
                    _say(f"installing {', '.join(_DEBOOTSTRAP)} (apt-get), for a base image where none can be pulled")
                    packages.install(_DEBOOTSTRAP)
                _say("making the image of a node (some minutes where its base has to be made)")
                node_image.ensure_image(engine)
        finally:
            engine.close()
    _say("done")


def undo(folder: Path = docker_engine.FOLDER) -> None:
    pid = docker_engine.started_engine(folder)
    if pid is None:
        _say("nothing to undo: no Docker engine was started here")
        return
    _require_root("--undo", f"the Docker engine that --fix started (process {pid}) is stopped")
    with _alone(folder):
        _say(f"stopping the Docker engine that --fix started (process {pid})")
        docker_engine.stop_engine(folder)
    _say("done; packages, images and Docker's own iptables chains are left")


def _ensure_engine(folder: Path) -> None:
    docker_engine.stop_engine(folder)  # one of ours that does not answer any more
    if docker_engine.find_dockerd() is None:
        _say("installing docker.io (apt-get)")
        packages.install(["docker.io"])
    if docker_nodes.available() is not None:
        options = os.environ.get(docker_engine.OPTIONS, docker_engine.DEFAULT_OPTIONS)
        _say(f"starting a Docker engine: dockerd {options} (options from {docker_engine.OPTIONS})")
        docker_engine.start_engine(folder)


def _missing_judges() -> list[str]:
    return [package for program, package in _JUDGES.items() if shutil.which(program) is None]


def _is_ready() -> bool:
    if _missing_judges() or docker_nodes.available() is not None:
        return False
    engine = docker_nodes.connect_engine()
    try:
        return node_image.has_image(engine)
    finally:
        engine.close()


def _require_root(option: str, what: str) -> None:
    if os.geteuid() != 0:
        raise EnvironmentFault(f"doctor {option} needs root, nothing was done; as root {what}")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two at once would start two engines."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _say(text: str) -> None:
    print(f"doctor: {text}", flush=True)
