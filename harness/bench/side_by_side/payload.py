"""What messages are made of: lines of JSON logs, so that they compress as logs do. Pure.

Zeros would compress a thousandfold and random bytes not at all, and either would make a nonsense of a table about compression. Logs repeat
their keys, words and services, while their times, ids and numbers differ: lz4 makes about a fifth of them, gzip and zstd a seventh.
"""

from __future__ import annotations

import json
import random

_SERVICES = ("checkout", "payments", "catalogue", "search", "identity", "shipping", "inventory", "gateway")
_LEVELS = ("INFO", "INFO", "INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR")
_PATHS = ("/api/v2/orders", "/api/v2/orders/{}", "/api/v2/users/{}/basket", "/health", "/api/v2/items/{}", "/api/v2/search?q={}")
_MESSAGES = (
    "request completed",
    "cache miss, loading from the database",
    "retrying after a connection was reset by peer",
    "payment authorised",
    "slow query took longer than expected",
    "session refreshed for an existing user",
)
POOL_BYTES = 4 << 20
_BEGIN_MS = 1_700_000_000_000


def log_lines(size: int = POOL_BYTES, seed: int = 1) -> bytes:
    """At least so many bytes of them, the same ones for the same seed."""
    chance = random.Random(seed)
    lines, length, at = [], 0, _BEGIN_MS
    while length < size:
        at += chance.randrange(1, 40)
        lines.append(json.dumps(_entry(chance, at)).encode() + b"\n")
        length += len(lines[-1])
    return b"".join(lines)


def _entry(chance: random.Random, at: int) -> dict[str, object]:
    number = chance.randrange(1_000_000)
    return {
        "ts": at,
        "level": chance.choice(_LEVELS),
        "service": chance.choice(_SERVICES),
        "host": f"node-{chance.randrange(40):02d}.eu-west",
        "trace": f"{chance.getrandbits(64):016x}",
        "path": chance.choice(_PATHS).format(number),
        "status": chance.choice((200, 200, 200, 201, 204, 304, 404, 500)),
        "took_ms": round(chance.expovariate(1 / 30), 3),
        "bytes": chance.randrange(50_000),
        "message": chance.choice(_MESSAGES),
    }
