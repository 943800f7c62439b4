"""What a follower takes from its leader: batches that verify, follow its own end, and are of no older epoch.

The checksum does not cover offset and epoch, so all three are compared. Good batches in front of a bad one are
taken; the bad one is an error when it comes first, which it does in the next answer. An answer begins with a whole
batch, so only its last one may be cut off: a first one that is longer than the answer has a length that lies.

Hot path: producers that send single messages make every batch a message. What is wrong with one is asked only when something is.
"""

from crc32c import crc32c

from broker_impl.storage.batch import CHECKSUMMED_FROM, HEADER_SIZE, MAGIC, OVERHEAD, BatchHeader, is_plausible, parse_header


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
        base_offset, length, its_epoch, magic, crc, _attributes, last_delta, *_rest = header
        end = position + length + OVERHEAD
        if not (
            base_offset == expected_offset
            and its_epoch >= epoch
            and magic == MAGIC
            and last_delta >= 0
            and position + HEADER_SIZE <= end <= size
            and crc32c(batches[position + CHECKSUMMED_FROM : end]) == crc
        ):
            if not accepted:
                raise CorruptBatch(expected_offset, _problem(header, size - position, expected_offset, epoch))
            break
        accepted.append((position, header))
        position, expected_offset, epoch = end, base_offset + last_delta + 1, its_epoch
    return accepted


def group(accepted: list[tuple[int, BatchHeader]], start: int, room: int, last_offset: int) -> tuple[int, int]:
    """From `start` on: how far batches are of one epoch, fit into `room` and end at or below the offset; and their size.
    The first always belongs to it."""
    position, first = accepted[start]
    last_position, last = accepted[-1]
    whole = last_position + last.size - position
    if last.leader_epoch == first.leader_epoch and whole <= room and last.last_offset <= last_offset:
        return len(accepted), whole
    stop, size = start + 1, first.size
    for _position, header in accepted[start + 1 :]:
        if header.leader_epoch != first.leader_epoch or size + header.size > room or header.last_offset > last_offset:
            break
        stop, size = stop + 1, size + header.size
    return stop, size


def _problem(header: BatchHeader, sent: int, expected_offset: int, epoch: int) -> str:
    """Why the first batch cannot be taken. `sent`: how many bytes came from its beginning on."""
    if not is_plausible(header):
        return "not a record batch"
    if header.size > sent:
        return f"it claims {header.size} bytes, {sent} were sent"
    if header.base_offset != expected_offset:
        return f"its offset is {header.base_offset}"
    if header.leader_epoch < epoch:
        return f"its epoch {header.leader_epoch} is older than {epoch}"
    return "the checksum does not match"
