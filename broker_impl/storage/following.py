"""What a follower takes from its leader: batches that verify, follow its own end, and are of no older epoch.

The checksum does not cover offset and epoch, so all three are compared. Good batches in front of a bad one are
taken; the bad one is an error when it comes first, which it does in the next answer. An answer begins with a whole
batch, so only its last one may be cut off: a first one that is longer than the answer has a length that lies.
"""

from broker_impl.storage.batch import HEADER_SIZE, BatchHeader, crc_matches, is_plausible, parse_header


class CorruptBatch(Exception):
    """The leader sent a batch that cannot be taken."""

    def __init__(self, offset: int, why: str) -> None:
        super().__init__(f"batch at offset {offset}: {why}")
        self.offset = offset
        self.why = why


def acceptable(batches: memoryview, expected_offset: int, epoch: int) -> list[tuple[int, BatchHeader]]:
    """(position, header) of the batches to take; raises CorruptBatch."""
    accepted: list[tuple[int, BatchHeader]] = []
    position, size = 0, len(batches)
    while position + HEADER_SIZE <= size:
        header = parse_header(batches, position)
        problem = _problem(batches[position:], header, expected_offset, epoch, first=position == 0)
        if problem is not None:
            if not accepted and problem:
                raise CorruptBatch(expected_offset, problem)
            break
        accepted.append((position, header))
        position += header.size
        expected_offset = header.last_offset + 1
        epoch = header.leader_epoch
    return accepted


def group(accepted: list[tuple[int, BatchHeader]], start: int, room: int, last_offset: int) -> tuple[int, int]:
    """From `start` on: how far batches are of one epoch, fit into `room` and end at or below the offset; and their size.
    The first always belongs to it."""
    _position, first = accepted[start]
    stop, size = start + 1, first.size
    for _position, header in accepted[start + 1 :]:
        if header.leader_epoch != first.leader_epoch or size + header.size > room or header.last_offset > last_offset:
            break
        stop, size = stop + 1, size + header.size
    return stop, size


def _problem(rest: memoryview, header: BatchHeader, expected_offset: int, epoch: int, *, first: bool) -> str | None:
    """None: take it. Empty: it is only cut off."""
    if not is_plausible(header):
        return "not a record batch"
    if header.size > len(rest):
        return f"it claims {header.size} bytes, {len(rest)} were sent" if first else ""
    if header.base_offset != expected_offset:
        return f"its offset is {header.base_offset}"
    if header.leader_epoch < epoch:
        return f"its epoch {header.leader_epoch} is older than {epoch}"
    if not crc_matches(rest[: header.size], header):
        return "the checksum does not match"
    return None
