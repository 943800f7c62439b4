"""Some blocks of one partition, without any anomaly: what was sent to it, and what its log holds and who reads it. Pure numpy.

Sends follow each other every 100 us and are answered 2 to 10 ms later, so neighbours overlap. One process reads each block when it is
complete; long after the last send one final reader reads all. Nothing here depends on how a partition is cut into pieces.

Columns are int64 and what is null is MISSING; `injections` changes them before they become rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from analysis.partition import MISSING, Column
from analysis.synth.numbering import SENDERS, Numbering
from analysis.synth.pattern import BLOCK, STRIDE, Flags, noise, outcomes, stream_of
from harness.history.schema import Kind, Outcome

STEP_NS = 100_000
BLOCK_NS = BLOCK * STEP_NS
READ_AFTER_NS = 20_000_000
"""From the end of a block to the poll that reads it."""
POLL_NS = 3_000_000
FINAL_AFTER_NS = 30_000_000_000
"""From the last send to the final reads: every send that timed out has ended."""
TIMED_OUT_NS = 10_000_000_000
FINAL_BLOCKS = 5
"""Blocks that one final poll reads."""
EPOCH_MS = 1_700_000_000_000
"""What the wall clock shows when a synthetic history begins."""

TIMED_OUT, QUEUE_FULL, CORRUPT_PAYLOAD, MISPLACED_PAYLOAD = range(4)
"""Numbers of the error names in the files."""

KEYS = 16
"""Record keys of one sender."""

_SENDS_STREAM, _OUTCOMES_STREAM = 0, 1


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks `first` up to, not including, `last` of a partition that has `sends` sends; the last block of all may be cut short."""

    seed: int
    numbering: Numbering
    part: int
    sends: int
    first: int
    last: int

    @property
    def length(self) -> int:
        return min(self.last * BLOCK, self.sends) - self.first * BLOCK


@dataclass(slots=True)
class Piece:
    """`sends` has a row a send. `log` has a row an offset with, in `live` and `final`, whether those readers got it, and as which value.

    `log_at[i]` is the row in `log` of a stored send `i`. `appended` are further rows of `log`; `extra` has rows of the history, of clients
    that are there for an anomaly only.
    """

    blocks: Blocks
    sends: dict[str, Column]
    log: dict[str, Column]
    log_at: Column
    extra: list[dict[str, int]] = field(default_factory=list)
    appended: list[dict[str, int]] = field(default_factory=list)


def stored_flags(blocks: Blocks) -> tuple[Flags, Flags, Flags]:
    """info, failed, stored of the sends there are."""
    stream = stream_of(blocks.seed, blocks.part, _OUTCOMES_STREAM)
    info, failed, stored = outcomes(stream, blocks.first, blocks.last - blocks.first)
    return info[: blocks.length], failed[: blocks.length], stored[: blocks.length]


def clean_piece(blocks: Blocks) -> Piece:
    info, failed, stored = stored_flags(blocks)
    number = blocks.first * BLOCK + np.arange(blocks.length, dtype=np.int64)
    dice = noise(stream_of(blocks.seed, blocks.part, _SENDS_STREAM), number).astype(np.int64)
    sender = dice & (SENDERS - 1)
    intended = number * STEP_NS
    invoked = intended + (dice >> 8 & 0xFFFF)
    answered = invoked + 2_000_000 + (dice >> 24 & 0x7FFFFF)
    offset = np.where(stored, _offsets(blocks, stored), MISSING)
    process = blocks.numbering.sender(blocks.part) + sender
    sends = {
        "process": process,
        "producer": process.copy(),
        "op": blocks.numbering.first_send(blocks.part) + number,
        "micro": np.zeros(len(number), np.int64),
        "kind": np.full(len(number), Kind.SEND, np.int64),
        "outcome": np.where(info, Outcome.INFO, np.where(failed, Outcome.FAIL, Outcome.OK)).astype(np.int64),
        "error": np.where(failed, QUEUE_FULL, MISSING),
        "intended": intended,
        "invoked": invoked,
        "completed": np.where(failed, invoked, answered),
        "key": sender * KEYS + (dice >> 4 & KEYS - 1),
        "value": blocks.numbering.first_send(blocks.part) + number,
        "offset": np.where(info, MISSING, offset),
        "timestamp": EPOCH_MS + invoked // 1_000_000,
    }
    _end_unsure(sends, info, dice)
    return Piece(blocks, sends, _log(sends, offset, stored), np.cumsum(stored) - 1)


def _offsets(blocks: Blocks, stored: Flags) -> Column:
    """Of each send, if it is stored."""
    before = np.concatenate(([0], np.cumsum(stored)))
    block = np.arange(blocks.length) // BLOCK
    inside = before[1:] - 1 - before[block * BLOCK]
    found: Column = (blocks.first + block) * STRIDE + inside
    return found


def _end_unsure(sends: dict[str, Column], info: Flags, dice: Column) -> None:
    """Half of those of which nobody knows timed out, the others never ended."""
    timed_out = info & (dice >> 48 & 1 == 1)
    sends["error"][timed_out] = TIMED_OUT
    sends["completed"][info] = np.where(timed_out[info], sends["invoked"][info] + TIMED_OUT_NS, MISSING)
    sends["timestamp"][sends["offset"] == MISSING] = MISSING


def _log(sends: dict[str, Column], offset: Column, stored: Flags) -> dict[str, Column]:
    value = sends["value"][stored]
    return {
        "offset": offset[stored],
        "live": value,
        "final": value.copy(),
        "key": sends["key"][stored],
        "timestamp": EPOCH_MS + sends["invoked"][stored] // 1_000_000,
        "error": np.full(len(value), MISSING, np.int64),
        "is_live": np.ones(len(value), np.int64),
        "is_final": np.ones(len(value), np.int64),
    }
