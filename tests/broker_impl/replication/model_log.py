"""A log as a list of (leader epoch, value), with what is asked of a log to find where two of them part."""

from typing import NamedTuple


class Entry(NamedTuple):
    epoch: int
    value: int


class ModelLog:
    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.flushed = 0

    @property
    def end(self) -> int:
        return len(self.entries)

    def last_epoch(self) -> int:
        return self.entries[-1].epoch if self.entries else -1

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        """The largest epoch up to `epoch`, and where the next larger one begins."""
        end = next((offset for offset, entry in enumerate(self.entries) if entry.epoch > epoch), self.end)
        return (self.entries[end - 1].epoch if end else epoch), end

    def truncate(self, end: int) -> None:
        del self.entries[end:]
        self.flushed = min(self.flushed, self.end)

    def flush(self) -> None:
        self.flushed = self.end
