"""Walks over the batches of a segment file, the only way to find out what an index does not say.

A walk over headers reads little where batches are large (it jumps from header to header) and in big pieces where
they are small. A walk over whole batches is for recovery: it hands out the bytes, so that they can be checked.
Both end without an error where the file stops making sense; the caller compares positions if it cares.
"""

from collections.abc import Iterator

from broker_impl.machine.disk import File
from broker_impl.storage.batch import HEADER_SIZE, BatchHeader, is_plausible, parse_header

_NEAR = 4 << 10
_FAR = 256 << 10
_WHOLE = 1 << 20


def headers(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of the batches in [position, end). Starts with a small read: look-ups want one or two."""
    chunk_size = _NEAR
    while position + HEADER_SIZE <= end:
        chunk = file.pread(min(chunk_size, end - position), position)
        at, last = 0, len(chunk) - HEADER_SIZE
        if last < 0:
            return
        while at <= last:
            header = parse_header(chunk, at)
            if not is_plausible(header) or position + at + header.size > end:
                return
            yield position + at, header
            at += header.size
        position += at
        chunk_size = _FAR if at < chunk_size * 2 else _NEAR


def whole_batches(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """(position, header, bytes) of the batches in [position, end), in file order."""
    while position + HEADER_SIZE <= end:
        chunk = memoryview(file.pread(min(_WHOLE, end - position), position))
        at = 0
        while at + HEADER_SIZE <= len(chunk):
            header = parse_header(chunk, at)
            if not is_plausible(header) or position + at + header.size > end:
                return
            if at + header.size > len(chunk):
                break
            yield position + at, header, chunk[at : at + header.size]
            at += header.size
        if at == 0:
            batch = memoryview(file.pread(header.size, position)) if len(chunk) >= HEADER_SIZE else chunk
            if len(chunk) < HEADER_SIZE or len(batch) < header.size:
                return
            yield position, header, batch
            at = header.size
        position += at
