"""What this machine can do, asked once; and SSH hosts, for which containers stand in."""

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.nodes import available, create


@functools.cache
def missing(kind: str) -> str | None:
    return available("docker" if kind == "ssh" else kind)


@contextmanager
def inventory_of_docker_nodes(count: int, folder: Path, *, routing: bool = True) -> Iterator[Path]:
    with create("docker", count, f"hosts-{routing}", folder / "hosts") as hosts:
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
