"""What becomes of each send, worked out from its number alone: no state, so any piece of any partition can be made anywhere.

Sends come in blocks of a hundred. In each, one of twenty ends `info` and two of those five landed all the same; one fails. So every full
block stores exactly 96 messages, and where a block's offsets begin is a multiplication. One offset behind each block stays
empty, as a transaction's marker would leave it: places and offsets are not the same thing, and a check that mixes them up is caught.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

BLOCK = 100
STORED = 96
STRIDE = STORED + 1
"""Offsets a block takes."""
HOLE = STORED
"""The empty offset of a block, counted from its first."""

_GROUP = 20
_GROUPS = BLOCK // _GROUP
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def noise(stream: int, numbers: Numbers) -> Bits:
    """64 bits for each number, the same for ever (SplitMix64). `stream` names what they are for."""
    with np.errstate(over="ignore"):
        mixed = (numbers.astype(np.uint64) + np.uint64(1)) * _GOLDEN + np.uint64(stream % 2**64)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
        found: Bits = mixed ^ (mixed >> np.uint64(31))
    return found


def stream_of(seed: int, part: int, purpose: int) -> int:
    """A number for `noise` that no other partition and purpose has."""
    first = int(noise(seed, np.array([part], np.int64))[0])
    return int(noise(first, np.array([purpose], np.int64))[0])


def outcomes(stream: int, first: int, blocks: int) -> tuple[Flags, Flags, Flags]:
    """info, failed and stored, for each send of the blocks."""
    numbers = np.arange(first, first + blocks, dtype=np.int64)
    groups = numbers[:, None] * _GROUPS + np.arange(_GROUPS)
    unsure = _below(noise(stream, groups), _GROUP)
    dice = noise(stream + 1, numbers)
    landed = _below(dice, _GROUPS)
    failing = _below(dice >> np.uint64(8), _GROUPS)
    beside = 1 + _below(dice >> np.uint64(16), _GROUP - 1)

    rows = np.arange(blocks)
    info = np.zeros((blocks, BLOCK), np.bool_)
    stored = np.ones((blocks, BLOCK), np.bool_)
    failed = np.zeros((blocks, BLOCK), np.bool_)
    for group in range(_GROUPS):
        at = group * _GROUP + unsure[:, group]
        info[rows, at] = True
        stored[rows, at] = (landed == group) | ((landed + 2) % _GROUPS == group)
    failed[rows, failing * _GROUP + (unsure[rows, failing] + beside) % _GROUP] = True
    return info.ravel(), failed.ravel(), (stored & ~failed).ravel()


def _below(bits: Bits, limit: int) -> Numbers:
    found: Numbers = (bits % np.uint64(limit)).astype(np.int64)
    return found
