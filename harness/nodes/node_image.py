"""The image of a node, built once for each state of its recipe, without network inside the build.

The wheels are fetched on the host by the hashes of docker/node.lock and copied in. The base is taken from this machine, from a
registry, or, where none can be reached, made of Debian's packages (docker/make-base.sh); in this order.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from docker.errors import APIError, BuildError, DockerException, ImageNotFound

import docker
from harness.errors import EnvironmentFault

BASE = "highwater-base"
PUBLIC_BASE = "debian:bookworm-slim"
PYTHON = "3.11"  # of that Debian
_RECIPE = Path(__file__).resolve().parents[2] / "docker"
_FILES = ("Dockerfile", "node.lock")
_PATIENCE = 900.0


def image_name() -> str:
    digest = hashlib.sha256(b"".join((_RECIPE / name).read_bytes() for name in _FILES)).hexdigest()
    return f"highwater-node:{digest[:12]}"


def has_image(client: docker.DockerClient) -> bool:
    return _exists(client, image_name())


def ensure_image(client: docker.DockerClient) -> str:
    """Its name, after it was built if it had to be. The newest is `highwater-node`, too, for people (docker/compose.yaml).

    Who comes while another builds it waits for that."""
    name = image_name()
    with open(Path(tempfile.gettempdir(), f"highwater-image-{os.getuid()}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not has_image(client):
            _build(client, name, find_base(client) or _make_base())
    return name


def find_base(client: docker.DockerClient) -> str | None:
    """One that is here or can be pulled; nothing where it has to be made, which takes debootstrap."""
    if _exists(client, BASE):
        return BASE
    try:
        client.images.pull(PUBLIC_BASE)
        return PUBLIC_BASE
    except APIError:
        return None


def _build(client: docker.DockerClient, name: str, base: str) -> None:
    with tempfile.TemporaryDirectory(prefix="highwater-image-") as context:
        for file in _FILES:
            shutil.copy(_RECIPE / file, context)
        _fetch_wheels(Path(context, "wheels"))
        try:
            image, _ = client.images.build(path=context, tag=name, buildargs={"BASE": base}, rm=True, forcerm=True)
            image.tag("highwater-node")
        except (BuildError, DockerException) as problem:
            raise EnvironmentFault(f"the image of a node cannot be built: {problem}") from None


def _fetch_wheels(folder: Path) -> None:
    machine = os.uname().machine
    platforms = [f"--platform={kind}_{machine}" for kind in ("manylinux_2_34", "manylinux_2_28", "manylinux_2_17", "manylinux2014")]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:"]
    command += [f"--python-version={PYTHON}", "--implementation=cp", *platforms]
    command += [f"--dest={folder}", f"--requirement={_RECIPE / 'node.lock'}"]
    _run(command, "the wheels for nodes cannot be fetched; is PyPI reachable?")


def _make_base() -> str:
    """Tried twice, for it fetches a hundred packages."""
    command = [str(_RECIPE / "make-base.sh"), BASE]
    complaint = f"{PUBLIC_BASE} cannot be pulled, and no base can be made here instead"
    try:
        _run(command, complaint)
    except EnvironmentFault:
        _run(command, complaint)
    return BASE


def _exists(client: docker.DockerClient, name: str) -> bool:
    try:
        client.images.get(name)
        return True
    except ImageNotFound:
        return False


def _run(command: list[str], complaint: str) -> None:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise EnvironmentFault(f"{complaint}: {problem}") from None
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise EnvironmentFault(f"{complaint}: {words[-1] if words else f'exit code {done.returncode}'}")
