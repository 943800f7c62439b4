"""Ports nobody uses, for brokers that keep theirs across restarts.

They are chosen below the range from which the kernel takes the near ends of outgoing connections: a client's connection would otherwise
take a broker's port while that broker is down, and it could not come back.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Sequence
from contextlib import ExitStack

LOOPBACK = "127.0.0.1"
_LOWEST = 10_000


def free_ports(count: int) -> list[int]:
    """So many different ports, each proven free by binding it; all are held until the last is found."""
    candidates = list(range(_LOWEST, _ephemeral_start()))
    random.SystemRandom().shuffle(candidates)
    found: list[int] = []
    with ExitStack() as held:
        for port in candidates:
            if len(found) == count:
                return found
            holder = held.enter_context(socket.socket())
            if _binds(holder, port):
                found.append(port)
    raise OSError(f"fewer than {count} free ports between {_LOWEST} and {_ephemeral_start()}")


def ports_in_use(ports: Sequence[int]) -> list[int]:
    """Those a broker could not listen on; connections that are merely fading away do not hinder it."""
    taken = []
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if not _binds(probe, port):
                taken.append(port)
    return taken


def _binds(candidate: socket.socket, port: int) -> bool:
    try:
        candidate.bind((LOOPBACK, port))
        candidate.listen()
    except OSError:
        return False
    return True


def _ephemeral_start() -> int:
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
            return max(int(file.read().split()[0]), _LOWEST + 1000)
    except OSError:
        return 32_768
