"""What a row of the history is: columns, types, and the words of the dictionary columns.

A row is one micro-operation: one message sent or received. Words are small integers, and their names lie in each file's
metadata: a reader goes by those, never by the numbers here, for another recorder may know more words. The number 0 is a word
like any other; what is missing is null.
"""

from __future__ import annotations

from enum import IntEnum

import pyarrow as pa  # type: ignore[import-untyped]

VERSION = 1
"""Of the history's files. A reader refuses every other."""

VERDICT_VERSION = 1
"""Of verdict.json."""

METADATA_KEY = b"highwater.history"

DEFAULT_BUCKETS = 32
NO_PARTITION = -1
"""The bucket of rows without a partition."""

MAX_NAMES = 2**15 - 1
"""Names of one dictionary column in one worker."""


class Kind(IntEnum):
    """Of an operation."""

    SEND = 0
    POLL = 1
    TXN = 2
    ASSIGN = 3
    SUBSCRIBE = 4
    SEEK = 5
    LOOKUP = 6
    CRASH = 7


class Function(IntEnum):
    """Of a row, column `f`."""

    SEND = 0
    POLL = 1
    KEEP = 2
    FORGET = 3
    REBALANCE = 4
    END = 5
    SEEK = 6
    LOOKUP = 7
    CRASH = 8


class Outcome(IntEnum):
    """OK took effect, FAIL certainly did not, INFO: nobody knows."""

    OK = 0
    FAIL = 1
    INFO = 2


class Phase(IntEnum):
    WARM_UP = 0
    RUN = 1
    FINAL = 2


CORRUPT = "corrupt"
"""Error name of a polled payload that does not match its checksum."""
MISPLACED = "misplaced"
"""Error name of a sound payload of another partition or run."""

ROWS = pa.schema(
    [
        pa.field("process", pa.int32(), nullable=False),
        pa.field("producer", pa.int32()),
        pa.field("op", pa.int64(), nullable=False),
        pa.field("micro", pa.int32(), nullable=False),
        pa.field("kind", pa.int8(), nullable=False),
        pa.field("f", pa.int8(), nullable=False),
        pa.field("outcome", pa.int8(), nullable=False),
        pa.field("error", pa.int16()),
        pa.field("phase", pa.int8(), nullable=False),
        pa.field("intended", pa.int64()),
        pa.field("invoked", pa.int64(), nullable=False),
        pa.field("completed", pa.int64()),
        pa.field("topic", pa.int32()),
        pa.field("part", pa.int32()),
        pa.field("key", pa.int64()),
        pa.field("value", pa.int64()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.int64()),
        pa.field("leader_epoch", pa.int32()),
        pa.field("group", pa.int16()),
        pa.field("generation", pa.int32()),
    ]
)

FIXED_WORDS: dict[str, list[str]] = {
    column: [word.name.lower() for word in words] for column, words in (("kind", Kind), ("f", Function), ("outcome", Outcome))
}
GROWING_WORDS = ("error", "topic", "group")
DICTIONARIES = (*FIXED_WORDS, *GROWING_WORDS)


def first_number(worker: int) -> int:
    """Operations and values of a worker count up from here, and so are unique in the run."""
    if not 0 <= worker < 2**22:
        raise ValueError(f"there is no worker {worker}")
    return worker << 40
