"""Frames for a broker to choke on: honest messages of every API and version, then bent, cut and lied about, all from one seed."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

from broker_impl.protocol.frames import frame_request
from broker_impl.protocol.registry import APIS, FETCH, PRODUCE, Api
from broker_impl.protocol.schema import encode
from tests.broker_impl.protocol import declared, judge
from tests.clients.wire import batch_of, fetch_body, produce_body

LIES = (b"\xff\xff\xff\xff\x0f", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff", b"\x80\0", b"\0", b"\xff")
STRANGE_KEYS = (4, 7, 11, 27, 68, 1000, 20_000, 20_001, 20_002, 20_003, -1)


def mutated_frames(seed: int, count: int, topic: str) -> Iterator[bytes]:
    """Lengths included, and most of them right: what lies is usually further in."""
    rng = random.Random(seed)
    apis = list(APIS.values())
    for _ in range(count):
        api = rng.choice(apis)
        version = rng.randint(api.served_since, api.max_version)
        key = rng.choice(STRANGE_KEYS) if rng.random() < 0.03 else api.key
        frame = bytearray(frame_request(key, version, rng.getrandbits(31), "fuzz", _body(api, version, topic, rng))[4:])
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            _bend(frame, rng)
        size = rng.choice((0, -1, 1 << 20, 99 << 20, 0x7FFF_FFFF)) if rng.random() < 0.02 else len(frame)
        yield struct.pack(">i", size) + frame


def _body(api: Api, version: int, topic: str, rng: random.Random) -> bytes:
    """Half of what carries data is about a topic that exists, so that mutations reach the log."""
    if api.key == PRODUCE and rng.random() < 0.5:
        batch = batch_of(b"value" * rng.randint(1, 50), producer=(rng.randint(0, 5), 0), sequence=rng.randint(0, 3))
        return produce_body({topic: [(0, batch)]}, acks=rng.choice((-1, 0, 1, 1)), version=version, timeout_ms=rng.choice((0, 1000, -1)))
    if api.key == FETCH and version < 13 and rng.random() < 0.5:
        return fetch_body(topic, rng.choice((0, 1, 5, -1, 1 << 62)), 0, -1, -1, rng.choice((0, 100, -1)), rng.choice((0, 1, -5)), version)
    kind = api.request or getattr(declared, f"{api.name}Request")
    return encode(judge.random_message(kind, version, rng), version, api.is_flexible(version))


def _bend(frame: bytearray, rng: random.Random) -> None:
    at = rng.randint(0, len(frame)) if rng.random() < 0.3 else rng.randint(min(8, len(frame)), len(frame))
    match rng.randrange(5):
        case 0:
            del frame[at:]
        case 1:
            frame[at : at + 1] = rng.randbytes(1)
        case 2:
            lie = rng.choice(LIES)
            frame[at : at + len(lie)] = lie
        case 3:
            frame[at:at] = rng.randbytes(rng.randint(1, 8))
        case 4:
            del frame[at : at + rng.randint(1, 6)]
