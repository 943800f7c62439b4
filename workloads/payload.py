"""What a message carries: enough to tell, wherever it turns up, which send it was and that it belongs there.

Run, topic, partition, record key and value lie behind a CRC-32C over all that follows it, padding included, so a byte changed, a batch
delivered from another partition and a message of an earlier run are three different findings. The padding does not compress: a run with
compression moves as many bytes as it says.

Hot path, once a message on either side; the part that is the same for every message of a partition is made once.
"""

from __future__ import annotations

import random
import struct
from typing import NamedTuple

from crc32c import crc32c

from harness.history.schema import CORRUPT, MISPLACED

_CRC = struct.Struct(">I")
_SEND = struct.Struct(">Bqq")
_PLACE = struct.Struct(">iBB")
_KEY = struct.Struct(">q")
_PLACE_AT = _CRC.size + _SEND.size
_HAS_KEY = 1
_SHIFTS = 256


class Content(NamedTuple):
    """A sound payload has a value; a bad one only `error`: corrupt or misplaced."""

    key: int | None
    value: int | None
    error: str | None


_CORRUPT, _MISPLACED = Content(None, None, CORRUPT), Content(None, None, MISPLACED)


class Payloads:
    """Makes and verifies the payloads of one run. One that does not fit into `record_bytes` is as long as it must be."""

    def __init__(self, run_id: str, record_bytes: int) -> None:
        self._run = run_id.encode()
        if len(self._run) > 255:
            raise ValueError(f"a run id has at most 255 bytes, not {len(self._run)}")
        self._room = record_bytes - _PLACE_AT
        self._padding = random.Random(run_id).randbytes(record_bytes + _SHIFTS)
        self._places: dict[tuple[str, int], bytes] = {}

    def make(self, topic: str, part: int, key: int | None, value: int) -> bytes:
        place = self._places.get((topic, part)) or self._place(topic, part)
        shift = value % _SHIFTS
        padding = self._padding[shift : shift + max(0, self._room - len(place))]
        body = _SEND.pack(0 if key is None else _HAS_KEY, value, key or 0) + place + padding
        return _CRC.pack(crc32c(body)) + body

    def verify(self, payload: bytes | None, record_key: bytes | None, topic: str, part: int) -> Content:
        """What was polled from a partition, with the record key beside it."""
        if payload is None or len(payload) < _PLACE_AT or crc32c(memoryview(payload)[_CRC.size :]) != _CRC.unpack_from(payload)[0]:
            return _CORRUPT
        place = self._places.get((topic, part)) or self._place(topic, part)
        if not payload.startswith(place, _PLACE_AT):
            return _MISPLACED
        flags, value, number = _SEND.unpack_from(payload, _CRC.size)
        key = number if flags & _HAS_KEY else None
        return Content(key, value, None) if record_key == key_bytes(key) else _CORRUPT

    def value_of(self, payload: bytes) -> int | None:
        """The value in a payload of this run, wherever it lies; nothing in any other bytes."""
        if len(payload) < _PLACE_AT + _PLACE.size or crc32c(memoryview(payload)[_CRC.size :]) != _CRC.unpack_from(payload)[0]:
            return None
        value: int = _SEND.unpack_from(payload, _CRC.size)[1]
        length = payload[_PLACE_AT + 4]
        return value if payload[_PLACE_AT + _PLACE.size :][:length] == self._run else None

    def _place(self, topic: str, part: int) -> bytes:
        name = topic.encode()
        place = self._places[topic, part] = _PLACE.pack(part, len(self._run), len(name)) + self._run + name
        return place


def key_bytes(key: int | None) -> bytes | None:
    """A record key as it is sent."""
    return None if key is None else _KEY.pack(key)
