"""Small text files that a person can read: a version, a count, then one line an entry.

The count and the last newline are the protection: a file that lost its tail does not parse, and whoever reads it
takes the safe default instead of half a truth.
"""

from collections.abc import Mapping

from broker_impl.machine.disk import Disk

VERSION = "0"


class Malformed(ValueError):
    """Not a whole checkpoint."""


def format_lines(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in (VERSION, str(len(lines)), *lines)).encode()


def parse_lines(data: bytes, *, fields: int) -> list[list[str]]:
    try:
        version, count, *lines = data.decode().splitlines()
        expected = int(count)
    except ValueError:
        raise Malformed("not a checkpoint") from None
    if not data.endswith(b"\n"):
        raise Malformed("the end is missing")
    if version != VERSION:
        raise Malformed(f"version {version!r} is not known")
    rows = [line.split() for line in lines if line]
    if len(rows) != expected or any(len(row) != fields for row in rows):
        raise Malformed(f"expected {expected} lines of {fields} fields")
    return rows


class OffsetCheckpoint:
    """One offset a partition, for all logs of a directory. Written only when something changed."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        self._written: bytes | None = None

    def read(self) -> dict[tuple[str, int], int]:
        """Empty where there is no such file yet; raises Malformed."""
        try:
            data = self._disk.read(self._path)
        except FileNotFoundError:
            return {}
        try:
            return {(topic, int(partition)): int(offset) for topic, partition, offset in parse_lines(data, fields=3)}
        except ValueError as problem:
            raise Malformed(f"{self._path}: {problem}") from None

    def write(self, offsets: Mapping[tuple[str, int], int]) -> None:
        """Blocks until it is on the medium."""
        data = format_lines([f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items())])
        if data != self._written:
            self._disk.write_atomically(self._path, data)
            self._written = data
