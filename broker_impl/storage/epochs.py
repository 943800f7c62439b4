"""Which leader epoch began at which offset: what tells a follower where its log parts from the leader's.

(epoch, offset) names one batch for ever, so two logs that agree on an epoch's end agree on everything below it.
The file is written before the first append of an epoch and whenever one is cut away, and synced with the next flush:
until then the batches themselves, which carry their epoch, tell recovery the same.
"""

from bisect import bisect_right
from contextlib import suppress
from itertools import pairwise

from broker_impl.machine.disk import Disk
from broker_impl.storage.checkpoints import Malformed, format_lines, parse_lines

NAME = "leader-epoch-checkpoint"
NO_EPOCH = -1


class LeaderEpochs:
    """Invariant: epochs and start offsets are strictly increasing; `unsaved` while the file lacks the last change,
    `unsynced` while the medium does."""

    __slots__ = ("_disk", "_entries", "_path", "latest", "unsaved", "unsynced")

    def __init__(self, disk: Disk, directory: str, entries: list[tuple[int, int]]) -> None:
        self._disk = disk
        self._path = f"{directory}/{NAME}"
        self._entries = entries
        self.latest = entries[-1][0] if entries else NO_EPOCH
        self.unsaved = self.unsynced = False

    @property
    def path(self) -> str:
        return self._path

    @property
    def entries(self) -> list[tuple[int, int]]:
        return list(self._entries)

    def assign(self, epoch: int, start_offset: int) -> None:
        """From this offset on batches are of this epoch. Entries that cannot be true beside it go."""
        if epoch == self.latest and start_offset >= self._entries[-1][1]:
            return
        kept = [entry for entry in self._entries if entry[0] < epoch and entry[1] < start_offset]
        self._replace([*kept, (epoch, start_offset)])

    def cut_from(self, offset: int) -> None:
        """The log ends here now."""
        self._replace([entry for entry in self._entries if entry[1] < offset])

    def cut_below(self, offset: int) -> None:
        """The log starts here now; the epoch in force stays."""
        index = bisect_right(self._entries, offset, key=lambda entry: entry[1])
        if index:
            self._replace([(self._entries[index - 1][0], offset), *self._entries[index:]])

    def clear(self) -> None:
        self._replace([])

    def start_of(self, epoch: int) -> int | None:
        return next((start for known, start in self._entries if known == epoch), None)

    def epoch_at(self, offset: int) -> int:
        index = bisect_right(self._entries, offset, key=lambda entry: entry[1])
        return self._entries[index - 1][0] if index else NO_EPOCH

    def end_of(self, epoch: int, log_end: int) -> tuple[int, int]:
        """The largest epoch not above this one, and where it ends; (-1, -1) for an epoch that is ahead of ours."""
        if epoch == NO_EPOCH or epoch > self.latest:
            return NO_EPOCH, NO_EPOCH
        if epoch == self.latest:
            return epoch, log_end
        index = bisect_right(self._entries, epoch, key=lambda entry: entry[0])
        return (self._entries[index - 1][0] if index else epoch), self._entries[index][1]

    def save(self) -> None:
        """Raises OSError and stays unsaved where the disk is full."""
        self._disk.write_atomically(self._path, format_lines([f"{epoch} {start}" for epoch, start in self._entries]), sync=False)
        self.unsaved = False
        self.unsynced = True

    def try_save(self) -> None:
        """Where the disk is full the next append must do it, before it may write."""
        if self.unsaved:
            with suppress(OSError):
                self.save()

    def _replace(self, entries: list[tuple[int, int]]) -> None:
        if entries != self._entries:
            self._entries = entries
            self.latest = entries[-1][0] if entries else NO_EPOCH
            self.unsaved = True


def read_epochs(disk: Disk, directory: str) -> LeaderEpochs:
    """Raises Malformed where the file is missing or torn: the batches must be asked then."""
    try:
        data = disk.read(f"{directory}/{NAME}")
    except FileNotFoundError:
        raise Malformed(f"{directory} has no {NAME}") from None
    try:
        entries = [(int(epoch), int(start)) for epoch, start in parse_lines(data, fields=2)]
    except ValueError as problem:
        raise Malformed(f"{directory}/{NAME}: {problem}") from None
    if any(one[0] >= other[0] or one[1] >= other[1] for one, other in pairwise(entries)):
        raise Malformed(f"{directory}/{NAME}: epochs out of order")
    return LeaderEpochs(disk, directory, entries)
