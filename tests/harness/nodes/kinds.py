"""What this machine can do, asked once; and SSH hosts, for which containers stand in."""

import functools
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import EnvironmentFault
from harness.nodes import available, create


@functools.cache
def missing(kind: str) -> str | None:
    """Why a test with such nodes must be skipped. Where containers can be had their image is made now, which may take minutes:
    tests that are marked `docker` have it asked before the first test begins, and its limit in time."""
    if kind == "namespaces":
        return available(kind)
    return available("docker") or _image_problem()


def new_run_id(name: str) -> str:
    """Another each time: an engine may be in use by several test runs."""
    return f"{name}-{uuid.uuid4().hex[:8]}"


@contextmanager
def inventory_of_docker_nodes(count: int, folder: Path, *, routing: bool = True) -> Iterator[Path]:
    with create("docker", count, new_run_id("hosts"), folder / "hosts") as hosts:
        host_key = (folder / "hosts" / "host_key.pub").read_text().strip()
        path = folder / "inventory.toml"
        path.write_text(
            "\n".join(
                f'[[{"client" if host is hosts.client else "node"}]]\nname = "{host.name}"\naddress = "{host.address}"\n'
                f'user = "root"\nkey = "{folder / "hosts" / "key"}"\nhost_key = "{host_key}"\nallow_routing = {str(routing).lower()}\n'
                for host in hosts.everyone
            )
        )
        yield path


def processes_with(token: str) -> list[int]:
    """Every process of this machine with the word in its command line."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                words = Path("/proc", entry, "cmdline").read_bytes()
            except OSError:
                continue
            if token.encode() in words:
                found.append(int(entry))
    return found


def networks_in_use() -> set[str]:
    """Network namespaces some process of this machine is in."""
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                found.add(os.readlink(f"/proc/{entry}/ns/net"))
            except OSError:
                continue
    return found


def _image_problem() -> str | None:
    from harness.nodes import docker_nodes, node_image

    engine = docker_nodes.connect_engine()
    try:
        node_image.ensure_image(engine)
        return None
    except EnvironmentFault as problem:
        return str(problem)
    finally:
        engine.close()
