"""The bytes of a slot: one micro-operation while it is being recorded.

A slot has two halves, each with a mark as its last byte: `outcome` (plus one) ends the completion, `kind` (plus one) ends the
invocation. `struct.pack_into` clears what it is about to write and then fills it from front to back, so a process killed at any
instruction leaves a mark of zero or a half that is whole. Invoking clears both halves: nothing of a failed attempt shows through.

Words are stored plus one, zero being null. Numbers may be any int64, so whether one is null is a bit in `given` or `answered`.
`origin` is the position (plus one) in the segment before, of a slot that was still open when that segment was full.
"""

from __future__ import annotations

import struct

import numpy as np

_COMPLETION = "completed:q offset:q timestamp:q leader_epoch:i error:H answered:B outcome:B"
_INVOCATION = (
    "op:q intended:q invoked:q key:q value:q process:i producer:i micro:i part:i generation:i origin:i "
    "topic:H group:H given:B f:B phase:b kind:B"
)
_NUMPY = {"q": "i8", "i": "i4", "H": "u2", "B": "u1", "b": "i1"}


def _fields(text: str) -> list[tuple[str, str]]:
    return [(name, code) for name, _, code in (field.partition(":") for field in text.split())]


def _format(text: str) -> str:
    """`origin` is only ever written by a move: left out of the call, it is cleared like padding."""
    return "".join("4x" if name == "origin" else code for name, code in _fields(text))


SLOT = np.dtype([(name, _NUMPY[code]) for name, code in _fields(_COMPLETION) + _fields(_INVOCATION)])
SLOT_SIZE = SLOT.itemsize

COMPLETION = struct.Struct("=" + _format(_COMPLETION))
WHOLE = struct.Struct("=" + _format(_COMPLETION) + _format(_INVOCATION))
INVOCATION = struct.Struct(f"={COMPLETION.size}x" + _format(_INVOCATION))
assert WHOLE.size == INVOCATION.size == SLOT_SIZE

OUTCOME_AT = COMPLETION.size - 1
"""The completion's mark inside a slot."""

GIVEN_PRODUCER, GIVEN_INTENDED, GIVEN_PART, GIVEN_KEY, GIVEN_VALUE, GIVEN_GENERATION = (1 << bit for bit in range(6))
ANSWERED_OFFSET, ANSWERED_TIMESTAMP, ANSWERED_EPOCH = (1 << bit for bit in range(3))
