"""Where an anomaly is injected, and what can be done there: the tools of `injections`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.partition import MISSING
from analysis.synth.pattern import BLOCK, HOLE, STRIDE, Numbers, noise, stream_of
from analysis.synth.piece import BLOCK_NS, POLL_NS, READ_AFTER_NS, Piece
from harness.history.schema import Function, Kind, Outcome

CHANGES_READER = "G1a"
"""The kind behind which another process goes on reading."""

_SITES_STREAM = 2
_AFTER_READER_NS = 2 * READ_AFTER_NS


@dataclass(frozen=True, slots=True)
class Site:
    """Where anomaly number `number` of the history is: in this block of this partition."""

    number: int
    kind: str
    part: int
    block: int


class Place:
    """A site in its piece. `a`, `b`, `c` are three sends in a row, all ok and stored, in the middle of the block."""

    def __init__(self, piece: Piece, site: Site) -> None:
        self.piece, self.site = piece, site
        self.sends, self.log = piece.sends, piece.log
        start = (site.block - piece.blocks.first) * BLOCK
        ok = piece.sends["outcome"][start : start + BLOCK] == Outcome.OK
        middle = np.flatnonzero(ok[:-2] & ok[1:-1] & ok[2:])
        middle = middle[(middle >= BLOCK // 5) & (middle < BLOCK * 4 // 5)]
        dice = noise(stream_of(piece.blocks.seed, site.part, _SITES_STREAM), np.array([site.block], np.int64))[0]
        self.a = start + int(middle[int(dice) % len(middle)])
        self.b, self.c = self.a + 1, self.a + 2
        self.failed = start + int(np.flatnonzero(piece.sends["outcome"][start : start + BLOCK] == Outcome.FAIL)[0])
        self.hole = site.block * STRIDE + HOLE

    def at(self, send: int) -> int:
        """Its row in the log."""
        return int(self.piece.log_at[send])

    def odd_sender(self, send: int, which: int = 0) -> None:
        process = self.odd(which)
        self.sends["process"][send] = self.sends["producer"][send] = process

    def odd(self, which: int = 0) -> int:
        return self.piece.blocks.numbering.odd_process(self.site.number, which)

    def never_answered(self, send: int) -> None:
        self.sends["outcome"][send] = Outcome.INFO
        for column in ("completed", "offset", "timestamp"):
            self.sends[column][send] = MISSING

    def append(self, value: int, key: int, *, error: int = MISSING, is_live: int = 1) -> None:
        """Something at the empty offset behind the block."""
        last = self.at(self.c)
        row = {"offset": self.hole, "live": value, "final": value, "key": key, "error": error, "is_live": is_live, "is_final": 1}
        self.piece.appended.append(row | {"timestamp": int(self.log["timestamp"][last])})

    def read(self, send: int, *, operation: int = 0, micro: int = 0) -> None:
        """A reader that comes after the others polls it."""
        at = self.at(send)
        row = self._extra(Kind.POLL, Function.POLL, operation) | {"micro": micro}
        self.piece.extra.append(row | {name: int(self.log[name][at]) for name in ("offset", "key", "timestamp")})
        self.piece.extra[-1]["value"] = int(self.log["live"][at])

    def look_up(self, asked: int, answered: int) -> None:
        row = self._extra(Kind.LOOKUP, Function.LOOKUP, 0) | {"offset": int(self.log["offset"][self.at(answered)])}
        self.piece.extra.append(row | {"timestamp": int(self.log["timestamp"][self.at(asked)]), "key": MISSING, "value": MISSING})

    def _extra(self, kind: Kind, f: Function, operation: int) -> dict[str, int]:
        invoked = (self.site.block + 1) * BLOCK_NS + _AFTER_READER_NS + operation * 2 * POLL_NS
        op = self.piece.blocks.numbering.first_odd_operation(self.site.number) + operation
        times = {"invoked": invoked, "completed": invoked + POLL_NS}
        return {"process": self.odd(), "op": op, "micro": 0, "kind": kind, "f": f} | times


def live_readers(sites: Sequence[Site], piece: Piece, block: Numbers) -> Numbers:
    """The process that reads each of these blocks live."""
    numbering, part = piece.blocks.numbering, piece.blocks.part
    changes = [site for site in sites if site.kind == CHANGES_READER]
    readers = np.array([numbering.live_reader(part), *(numbering.odd_process(site.number, 1) for site in changes)], np.int64)
    found: Numbers = readers[np.searchsorted(np.array([site.block for site in changes], np.int64), block, "left")]
    return found
