"""A file of slots, mapped into memory: what a worker records survives its own death, without a system call a row.

The pages belong to the kernel, so SIGKILL loses nothing. The room is allocated when the file is made: a full disk is an error
there and not a SIGBUS in the middle of a run. A slot still open when the file is full moves to the next file, which notes where it
came from: if both files are found after a crash, the newer one counts.
"""

from __future__ import annotations

import mmap
import os
import struct
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from harness.history.errors import MalformedFile
from harness.history.files import unfinished
from harness.history.schema import VERSION
from harness.history.slots import SLOT, SLOT_SIZE

HEADER_SIZE = 4096
_MAGIC = b"HWSLOTS\n"
_HEADER = struct.Struct("=8sIIqqqI")

Rows = npt.NDArray[np.void]
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Header:
    worker: int
    number: int
    capacity: int
    buckets: int

    @property
    def file_size(self) -> int:
        return HEADER_SIZE + self.capacity * SLOT_SIZE


class Segment:
    """Slots are filled from the front, none twice: the first with a `kind` of zero is empty, and so are all behind it."""

    def __init__(self, path: Path, header: Header, mapped: mmap.mmap) -> None:
        self.path = path
        self.header = header
        self.mapped = mapped
        self.slots: Rows = np.frombuffer(mapped, SLOT, header.capacity, HEADER_SIZE)

    @classmethod
    def create(cls, path: Path, header: Header) -> Segment:
        with open(unfinished(path), "wb+") as file:
            os.posix_fallocate(file.fileno(), 0, header.file_size)
            mapped = mmap.mmap(file.fileno(), header.file_size)
        fields = (_MAGIC, VERSION, SLOT_SIZE, header.worker, header.number, header.capacity, header.buckets)
        _HEADER.pack_into(mapped, 0, *fields)
        os.replace(unfinished(path), path)
        return cls(path, header, mapped)

    @classmethod
    def open(cls, path: Path) -> Segment:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size < HEADER_SIZE:
                raise MalformedFile(path, "is too short to be a segment of slots")
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return cls(path, _read_header(path, mapped), mapped)

    def filled(self) -> Rows:
        """Found by halving: looking at every slot would bring the whole file into memory."""
        kinds = self.slots["kind"]
        return self.slots[: bisect_left(range(len(kinds)), True, key=lambda position: bool(kinds[position] == 0))]

    def open_slots(self) -> Positions:
        """Positions of what was invoked and not completed."""
        return np.flatnonzero(self.filled()["outcome"] == 0)

    def take_over(self, older: Segment, positions: Positions) -> None:
        """Move another segment's open slots to the front of this empty one. Each counts here from the moment its mark is set."""
        moved = older.slots[positions]
        marks = moved["kind"].copy()
        moved["origin"] = positions + 1
        moved["kind"] = 0
        self.slots[: len(moved)] = moved
        self.slots["kind"][: len(moved)] = marks

    def taken_over(self) -> Positions:
        """Positions, in the segment before, of the slots that count here instead."""
        origin = self.filled()["origin"]
        positions: Positions = origin[origin > 0].astype(np.int64) - 1
        return positions

    def close(self) -> None:
        del self.slots
        self.mapped.close()

    def remove(self) -> None:
        self.close()
        self.path.unlink(missing_ok=True)


def _read_header(path: Path, mapped: mmap.mmap) -> Header:
    magic, version, slot_size, worker, number, capacity, buckets = _HEADER.unpack_from(mapped)
    if magic != _MAGIC:
        raise MalformedFile(path, "is not a segment of slots")
    if (version, slot_size) != (VERSION, SLOT_SIZE):
        raise MalformedFile(path, f"has version {version} with slots of {slot_size} bytes; this is {VERSION} with {SLOT_SIZE}")
    header = Header(worker, number, capacity, buckets)
    if len(mapped) < header.file_size:
        raise MalformedFile(path, f"was cut off: {len(mapped)} bytes instead of {header.file_size}")
    return header
