"""Replicas' logs read from their segment files: every batch with its header, every record with its offset and our value.

A reader of our own, so that a broker that writes nonsense is not believed by its own code. The checksum reported is the one of the
bytes found, whatever the header claims, so that two replicas with equal rows hold equal bytes. Only batches of version 2 are read, and
records only of those that are not compressed: the others are counted, never guessed. A walk ends where a batch is cut off.

A run of ten minutes leaves tens of millions of records, so everything is columns. Where a record begins is known only from the one in
front of it; so all batches of a segment are walked abreast, a record of each at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from crc32c import crc32c

from harness.systems.system import ReplicaLog

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
ValueOf = Callable[[bytes], int | None]

_HEADER = 61
_OVERHEAD = 12
_CHECKSUMMED_FROM = 21
_CODEC, _CONTROL = 0x07, 0x20
_MAGIC = 2
_LONGEST_VARINT = 10
# Column of batches.parquet -> where it lies in a batch's header, and how.
_FIELDS = {
    "base_offset": (0, ">i8"), "leader_epoch": (12, ">i4"), "producer_id": (43, ">i8"),
    "producer_epoch": (51, ">i2"), "sequence": (53, ">i4"),
}  # fmt: skip
_LENGTH, _MAGIC_AT, _ATTRIBUTES, _LAST_DELTA, _COUNT = (8, ">i4"), (16, ">i1"), (21, ">i2"), (23, ">i4"), (57, ">i4")


class Segment(NamedTuple):
    """The whole batches of one file, and their records; `value` is missing where a payload is not ours."""

    batches: dict[str, Ints]
    offsets: Ints
    values: list[int | None]
    compressed: int


def read_replica(node: str, topic: str, part: int, segments: Iterable[bytes], high_watermark: int | None, value_of: ValueOf) -> ReplicaLog:
    """`segments` in order. The high watermark is the one the broker wrote down last, or nothing."""
    read = [read_segment(data, value_of) for data in segments]
    batches: dict[str, Sequence[int | None] | Ints] = {
        name: _joined([segment.batches[name] for segment in read]) for name in (*_FIELDS, "last_offset", "crc", "bytes")
    }
    count = len(batches["crc"])
    end = int(batches["last_offset"][-1] or 0) + 1 if count else 0
    batches |= {"high_watermark": [high_watermark] * count, "log_end": [end] * count}
    records = {"offset": _joined([segment.offsets for segment in read]), "value": [value for segment in read for value in segment.values]}
    return ReplicaLog(node, topic, part, batches, records, sum(segment.compressed for segment in read))


def read_segment(data: bytes, value_of: ValueOf) -> Segment:
    raw = np.frombuffer(data + bytes(_LONGEST_VARINT), np.uint8)  # so that nothing looks behind the end
    starts = _batches_in(data, raw)
    ends = starts + _OVERHEAD + _field(raw, starts, *_LENGTH)
    batches = {name: _field(raw, starts, *place) for name, place in _FIELDS.items()}
    batches["last_offset"] = batches["base_offset"] + _field(raw, starts, *_LAST_DELTA)
    view = memoryview(data)
    bounds = zip(starts.tolist(), ends.tolist(), strict=True)
    batches["crc"] = np.array([crc32c(view[start + _CHECKSUMMED_FROM : end]) for start, end in bounds], np.int64)
    batches["bytes"] = ends - starts
    attributes = _field(raw, starts, *_ATTRIBUTES)
    compressed = attributes & _CODEC != 0
    counts = np.where(compressed, 0, _field(raw, starts, *_COUNT))
    owner, bodies, record_ends = _walk(raw, starts + _HEADER, ends, counts)
    deltas, payloads, sizes = _records(raw, bodies, record_ends)
    sizes[attributes[owner] & _CONTROL != 0] = -1
    values = [
        None if size < 0 else value_of(data[start : start + size]) for start, size in zip(payloads.tolist(), sizes.tolist(), strict=True)
    ]
    return Segment(batches, batches["base_offset"][owner] + deltas, values, int(compressed.sum()))


def _batches_in(data: bytes, raw: Bytes) -> Ints:
    """Where each whole batch begins, up to the first that is none."""
    starts, position = [], 0
    while position + _HEADER <= len(data):
        length = int.from_bytes(data[position + _LENGTH[0] : position + _LENGTH[0] + 4], "big", signed=True)
        end = position + _OVERHEAD + length
        if length < _HEADER - _OVERHEAD or end > len(data):
            break
        starts.append(position)
        position = end
    found = np.array(starts, np.int64)
    base, last = _field(raw, found, *_FIELDS["base_offset"]), _field(raw, found, *_LAST_DELTA)
    sound = (_field(raw, found, *_MAGIC_AT) == _MAGIC) & (base >= 0) & (last >= 0)
    return found if sound.all() else found[: int(sound.argmin())]


def _walk(raw: Bytes, positions: Ints, ends: Ints, counts: Ints) -> tuple[Ints, Ints, Ints]:
    """Each record: which batch it lies in, where it begins behind its length, and where it ends. A batch whose rest is damaged is left."""
    positions = positions.copy()
    live = np.arange(len(positions))
    found: list[tuple[Ints, Ints, Ints]] = [(live[:0], live[:0], live[:0])]
    for number in range(int(counts.max(initial=0))):
        live = live[counts[live] > number]
        sizes, bodies = _varints(raw, positions[live])
        record_ends = bodies + sizes
        whole = (sizes > 0) & (record_ends <= ends[live])
        live, bodies, record_ends = live[whole], bodies[whole], record_ends[whole]
        if not len(live):
            break
        positions[live] = record_ends
        found.append((live, bodies, record_ends))
    owner, bodies, record_ends = (np.concatenate(column) for column in zip(*found, strict=True))
    in_order = np.argsort(owner, kind="stable")
    return owner[in_order], bodies[in_order], record_ends[in_order]


def _records(raw: Bytes, bodies: Ints, ends: Ints) -> tuple[Ints, Ints, Ints]:
    """Offset in the batch, where the payload begins and its size (-1: none). A byte of attributes comes first."""
    _, positions = _varints(raw, bodies + 1)
    deltas, positions = _varints(raw, np.minimum(positions, ends))
    keys, positions = _varints(raw, np.minimum(positions, ends))
    sizes, positions = _varints(raw, np.clip(positions + np.maximum(keys, 0), 0, ends))
    return deltas, positions, np.where(positions + sizes <= ends, sizes, -1)


def _varints(raw: Bytes, positions: Ints) -> tuple[Ints, Ints]:
    """The number at each position, and the position behind it."""
    byte = raw[positions].astype(np.int64)
    values, positions = byte & 0x7F, positions + 1
    goes_on = byte >= 0x80
    for shift in range(7, 7 * _LONGEST_VARINT, 7):
        if not goes_on.any():
            break
        byte = np.where(goes_on, raw[np.minimum(positions, len(raw) - 1)], 0).astype(np.int64)
        values |= (byte & 0x7F) << shift
        positions = positions + goes_on
        goes_on = byte >= 0x80
    return (values >> 1) ^ -(values & 1), positions


def _field(raw: Bytes, starts: Ints, at: int, form: str) -> Ints:
    kind = np.dtype(form)
    taken = raw[starts[:, None] + np.arange(at, at + kind.itemsize)]
    return np.ascontiguousarray(taken).view(kind).reshape(-1).astype(np.int64)


def _joined(parts: Sequence[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.array([], np.int64)
