"""What acks=all and idempotence promise, held against what clients saw and what lies on the disks. Pure, but for reading files.

A failed message may be stored or not, but never twice. An acknowledged one is stored once, where the acknowledgement says (a client that
concludes from a later acknowledgement that an earlier message is stored does not know where). What a consumer
was shown stays. Messages of one producer to one partition keep their order. Replicas hold the same bytes.

A message stored twice under two epochs of its producer was sent twice by the client, but something made it: a patient client begins no
new epoch unless a broker tells it that the two disagree. So that is a broken promise of its own, and names what the double came from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.cluster.load import Placed, Seen

SHOWN = 10


def broken_promises(seen: Seen, final: Sequence[Placed]) -> list[str]:
    """One sentence for each promise that was broken; `final` is the log at the end."""
    stored = {(partition, offset): value for partition, offset, value in final}
    values = set(stored.values())
    return [
        *_sentences("lost", [placed for placed in seen.acked if placed[2] not in values]),
        *_sentences(
            "stored elsewhere", [(at, offset, value) for at, offset, value in seen.acked if _is_elsewhere(stored, at, offset, value)]
        ),
        *_sentences("stored twice", [value for value, times in Counter(value for _, _, value in final).items() if times > 1]),
        *_sentences("acknowledged twice", [value for value, times in Counter(value for _, _, value in seen.acked).items() if times > 1]),
        *_sentences("read, but not there any more", [placed for placed in seen.read if stored.get(placed[:2]) != placed[2]]),
        *_sentences("out of order", _disorder(final)),
        *_sentences("with a gap before it", _gaps(final)),
        *_sentences("times a producer lost agreement with a broker", seen.epochs),
        *seen.fatal,
    ]


def differing_replicas(directories: Iterable[Path], topic: str, partitions: int) -> list[str]:
    """Each partition whose logs are not the same bytes in all these data directories, which must be at rest."""
    found = list(directories)
    sentences = []
    for partition in range(partitions):
        logs = {str(path.parent.name): log_bytes(path, topic, partition) for path in found if (path / f"{topic}-{partition}").is_dir()}
        if len(set(logs.values())) != 1:
            sizes = {name: len(content) for name, content in logs.items()}
            alike = _common(list(logs.values()))
            sentences.append(f"{topic}-{partition} differs between replicas; sizes {sizes}, alike up to byte {alike}")
    return sentences


def log_bytes(data: Path, topic: str, partition: int) -> bytes:
    """All segments in one piece, for replicas need not roll at the same places."""
    return b"".join(path.read_bytes() for path in sorted((data / f"{topic}-{partition}").glob("*.log")))


def log_size(data: Path, topic: str, partition: int) -> int:
    return sum(path.stat().st_size for path in (data / f"{topic}-{partition}").glob("*.log"))


def _is_elsewhere(stored: Mapping[tuple[int, int], str], partition: int, offset: int | None, value: str) -> bool:
    return offset is not None and stored.get((partition, offset)) != value


def _disorder(final: Sequence[Placed]) -> list[str]:
    last: dict[tuple[str, int], str] = {}
    disorder = []
    for partition, offset, value in sorted(final):
        producer = (value.split(":")[0], partition)
        if value <= last.get(producer, ""):
            disorder.append(f"{value} at {partition}/{offset} after {last[producer]}")
        last[producer] = value
    return disorder


def _gaps(final: Sequence[Placed]) -> list[Placed]:
    """No transaction and no compaction takes part here, so offsets are consecutive."""
    expected: Counter[int] = Counter()
    gaps = []
    for placed in sorted(final):
        if placed[1] != expected[placed[0]]:
            gaps.append(placed)
        expected[placed[0]] = placed[1] + 1
    return gaps


def _sentences(what: str, found: Sequence[object]) -> list[str]:
    if not found:
        return []
    return [f"{len(found)} {what}: {', '.join(str(one) for one in found[:SHOWN])}"]


def _common(contents: Sequence[bytes]) -> int:
    shortest = min(len(content) for content in contents)
    low, high = 0, shortest
    while low < high:
        middle = (low + high + 1) // 2
        if len({content[:middle] for content in contents}) == 1:
            low = middle
        else:
            high = middle - 1
    return low
