"""Which bucket of the history a topic-partition belongs to.

The rows of one partition meet in one bucket of every file, whoever wrote it, so the function is part of the format: CRC-32C of the
topic in UTF-8 and the partition as a big-endian int32, modulo the number of buckets.
"""

from __future__ import annotations

import struct

from crc32c import crc32c

from harness.history.schema import DEFAULT_BUCKETS, NO_PARTITION

_PARTITION = struct.Struct(">i")


def bucket_of(topic: str | None, part: int | None, buckets: int = DEFAULT_BUCKETS) -> int:
    if topic is None or part is None:
        return NO_PARTITION
    checksum: int = crc32c(topic.encode() + _PARTITION.pack(part))
    return checksum % buckets
