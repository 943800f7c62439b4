"""Histories from a model: a sound cluster and its clients, made at random; and the same with anomalies put in, each known exactly.

The model is strictly serial: every operation takes effect at one moment between its invocation and its completion, alone. So whatever
clients do (pipeline, abort, go unanswered, seek, begin anew), a checker that finds anything in a `sound` history is wrong, by either
rules. `injected` goes on where that ends: each anomaly is a little scene on the logs there are, which tells what is to be found, and then
comes the final read. It is judged by the default rules.

Any checker's test can use it: write the story, check, compare with `story.expected`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from harness.history.schema import CORRUPT, MISPLACED, Outcome
from tests.analysis.corpus.story import FAIL, INFO, OK, Micro, Story, empty, ended, got, sent

STEP = 0.01
BASES = (0, 0, 7, 2**33, 2**62)
NODES = ("n1", "n2", "n3")


@dataclass(frozen=True, slots=True)
class Entry:
    offset: int
    value: int
    timestamp: int

    def polled(self, part: int) -> Micro:
        return got(self.offset, self.value, part, timestamp=self.timestamp)


@dataclass
class Log:
    """`entries` is what readers may see, in order; `end` is the next offset, behind markers and aborted messages too."""

    base: int
    end: int
    entries: list[Entry] = field(default_factory=list)

    def append(self, value: int, timestamp: int) -> Entry:
        self.entries.append(Entry(self.end, value, timestamp))
        self.end += 1
        return self.entries[-1]

    def from_offset(self, offset: int, most: int) -> list[Entry]:
        return [entry for entry in self.entries if entry.offset >= offset][:most]


@dataclass
class Reader:
    """`position` has the next offset of each partition it reads."""

    process: int
    position: dict[int, int] = field(default_factory=dict)


class Cluster:
    """Tells a story. Operations are told in the order in which they take effect."""

    def __init__(self, random: Random, parts: int) -> None:
        self.random = random
        self.story = Story(idempotence=True, isolation="read_committed", progress=True, replicas=3, min_insync=2)
        self.story.settings["nodes"] = len(NODES)
        self.logs = [Log(base, base) for base in (random.choice(BASES) for _ in range(parts))]
        self.moment = 1.0
        self.failed: set[int] = set()
        self._values = iter(range(1000, 10**9))
        self._processes = iter(range(10, 900))
        self._begun: dict[int, float] = {}
        self.damaged: set[tuple[int, int]] = set()
        self.readers = [Reader(self.new_process()) for _ in range(2)]

    def next_value(self) -> int:
        return next(self._values)

    def new_process(self) -> int:
        return next(self._processes)

    def tick(self) -> float:
        self.moment += STEP
        return self.moment

    def timestamp(self) -> int:
        """Clocks of clients are a little wrong."""
        return 1_000_000 + round(self.moment * 1000) + self.random.randint(-40, 40)

    # What clients do.

    def send(self, process: int, part: int) -> None:
        log, value, now = self.logs[part], self.next_value(), self.tick()
        fate = self.random.choice(("ok",) * 8 + ("no offset", "landed", "vanished", "open", "open and landed", "fail"))
        offset = log.append(value, self.timestamp()).offset if fate in ("ok", "no offset", "landed", "open and landed") else None
        at = self._begun[process] = max(self._begun.get(process, 0.0), now - self.random.random() / 20)
        until = now + self.random.random() / 20 if fate in ("ok", "no offset", "fail") else at + self.random.random() / 20
        outcome = OK if fate in ("ok", "no offset") else FAIL if fate == "fail" else INFO
        told = offset if fate == "ok" else None
        self.story.send(process, value, told, outcome, part=part, at=at, until=until, never_ends=fate.startswith("open"))

    def poll(self, reader: Reader) -> None:
        """Up to a few messages of each partition; at an end the reader may be told so."""
        micros, after = self._take(reader)
        outcome = self.random.choice((OK,) * 8 + (FAIL, INFO))
        self.tell_poll(reader, micros, outcome)
        self._settle(reader, after, outcome)

    def transaction(self, reader: Reader) -> None:
        """Polls, then sends to some partitions, all at one moment. Each partition gets a marker; what is aborted leaves holes."""
        now = self.tick()
        micros, after = self._take(reader) if self.random.random() < 0.5 else ([], {})
        outcome, lands = self.random.choice(((OK, True),) * 5 + ((FAIL, False), (INFO, True), (INFO, False)))
        for part in self.random.sample(range(len(self.logs)), self.random.randint(1, len(self.logs))):
            for _ in range(self.random.randint(1, 3)):
                value, log = self.next_value(), self.logs[part]
                if lands:
                    offset = log.append(value, self.timestamp()).offset
                    micros.append(sent(value, offset if outcome is OK else None, part))
                else:
                    log.end += 1
                    micros.append(sent(value, None, part))
            self.logs[part].end += 1
        self.story.txn(reader.process, *micros, outcome=outcome, at=now - STEP / 3, until=now + STEP / 3)
        self._settle(reader, after, outcome)

    def seek(self, reader: Reader) -> None:
        part = self.random.choice(sorted(reader.position))
        log = self.logs[part]
        reader.position[part] = self.random.randint(max(log.base, log.end - 30), log.end)
        self.tick_and_freeze(lambda: self.story.seek(reader.process, reader.position[part], part=part))

    def assign(self, reader: Reader) -> None:
        chosen = self.random.sample(range(len(self.logs)), self.random.randint(1, len(self.logs)))
        reader.position = {part: reader.position.get(part, self._somewhere(part)) for part in chosen}
        self.tick_and_freeze(lambda: self.story.assign(reader.process, *chosen))

    def look_up(self, reader: Reader) -> None:
        part = self.random.randrange(len(self.logs))
        asked = self.timestamp() - self.random.randint(-50, 500)
        answer = next((entry.offset for entry in self.logs[part].entries if entry.timestamp >= asked), None)
        self.tick_and_freeze(lambda: self.story.lookup(reader.process, asked, answer, part=part))

    def step(self) -> None:
        reader = self.random.choice(self.readers)
        draw = self.random.random()
        if not reader.position:
            self.assign(reader)
        elif draw < 0.4:
            self.send(self.random.randint(1, 3), self.random.randrange(len(self.logs)))
        elif draw < 0.55:
            self.transaction(reader)
        elif draw < 0.85:
            self.poll(reader)
        else:
            self.random.choice((self.seek, self.assign, self.look_up))(reader)

    def end(self, hidden: set[int]) -> None:
        """The final reads and the dumps. `hidden` values are not in the logs any more."""
        for part, log in enumerate(self.logs):
            entries = [entry for entry in log.entries if entry.value not in hidden]
            self.tick()
            op = self.story.final_read(*(entry.polled(part) for entry in entries), part=part, log_start=log.base, end=log.end)
            if op is not None:
                self._note_failed(op, [entry.polled(part) for entry in entries])
            for node in NODES if entries else ():
                self.story.dump(node, *((entry.offset, entry.value) for entry in entries), part=part)
                bad = [node == NODES[1] and (part, entry.offset) in self.damaged for entry in entries]
                batches = [(entry.offset, entry.offset, 0, 1 + wrong) for entry, wrong in zip(entries, bad, strict=True)]
                self.story.replica(node, *batches, high_watermark=log.end, part=part)

    def tell_poll(self, reader: Reader, micros: list[Micro], outcome: Outcome = OK) -> int:
        now = self.tick()
        op = self.story.poll(reader.process, *micros, outcome=outcome, at=now - STEP / 3, until=now + STEP / 3)
        if outcome is OK:
            self._note_failed(op, micros)
        return op

    def tick_and_freeze(self, tell: Callable[[], int]) -> int:
        """For operations whose times the story gives."""
        self.story.now(self.tick())
        return tell()

    def _take(self, reader: Reader) -> tuple[list[Micro], dict[int, int]]:
        """Rows, and where the reader stands afterwards."""
        micros: list[Micro] = []
        after: dict[int, int] = {}
        for part in self.random.sample(sorted(reader.position), len(reader.position)):
            log = self.logs[part]
            entries = log.from_offset(reader.position[part], self.random.randint(0, 6))
            micros += [entry.polled(part) for entry in entries]
            if entries:
                after[part] = entries[-1].offset + 1
            elif self.random.random() < 0.1:
                micros.append(empty(part))
            if not log.from_offset(after.get(part, reader.position[part]), 1) and self.random.random() < 0.3:
                micros.append(ended(log.end, part))
        return micros, after

    def _settle(self, reader: Reader, after: dict[int, int], outcome: Outcome) -> None:
        if outcome is OK:
            reader.position.update(after)
        elif outcome is INFO:
            reader.process, reader.position = self.new_process(), {}

    def _somewhere(self, part: int) -> int:
        log = self.logs[part]
        return self.random.choice((log.base, self.random.choice(log.entries).offset if log.entries else log.base))

    def _note_failed(self, op: int, micros: list[Micro]) -> None:
        for number, micro in enumerate(micros):
            if micro.value in self.failed:
                assert micro.value is not None
                self.story.expect("G1a", micro.value, op, number, part=micro.part)


def sound(seed: int, steps: int = 60, parts: int = 2) -> Story:
    """Nothing is to be found in it."""
    cluster = Cluster(Random(seed), parts)
    for _ in range(steps):
        cluster.step()
    cluster.end(hidden=set())
    return cluster.story


def injected(seed: int, kinds: Mapping[str, int], steps: int = 60, parts: int = 2) -> Story:
    """So many of each of INJECTIONS are in it; what that makes in all is in `expected`."""
    cluster = Cluster(Random(seed), parts)
    for _ in range(steps):
        cluster.step()
    hidden: set[int] = set()
    scenes = [name for name in INJECTIONS for _ in range(kinds.get(name, 0))]
    for name in scenes:
        hidden |= INJECTIONS[name](cluster, cluster.random.randrange(parts))
    cluster.end(hidden)
    return cluster.story


Scene = Callable[[Cluster, int], set[int]]
"""Puts one anomaly into a partition and tells what is to be found; answers the values that are gone when all is read in the end."""


def _stored(cluster: Cluster, part: int) -> Entry:
    """A sound send."""
    entry = cluster.logs[part].append(cluster.next_value(), cluster.timestamp())
    _acknowledged(cluster, part, entry.value, entry.offset)
    return entry


def _acknowledged(cluster: Cluster, part: int, value: int, offset: int | None) -> int:
    now = cluster.tick()
    return cluster.story.send(cluster.new_process(), value, offset, part=part, at=now - STEP / 3, until=now + STEP / 3)


def _read(cluster: Cluster, part: int, *polls: list[Micro]) -> list[int]:
    """By a new process."""
    reader = Reader(cluster.new_process())
    return [cluster.tell_poll(reader, micros) for micros in polls]


def _phantom(cluster: Cluster, part: int) -> set[int]:
    entry = cluster.logs[part].append(cluster.next_value(), cluster.timestamp())
    cluster.story.expect("phantom", entry.value, part=part)
    return set()


def _aborted_read(cluster: Cluster, part: int) -> set[int]:
    """Each read of it is one: that of the final reader, and one before."""
    value, now = cluster.next_value(), cluster.tick()
    cluster.story.send(cluster.new_process(), value, outcome=FAIL, part=part, at=now - STEP / 3, until=now)
    cluster.failed.add(value)
    entry = cluster.logs[part].append(value, cluster.timestamp())
    _read(cluster, part, [entry.polled(part)])
    return set()


def _bad_message(error: str) -> Scene:
    def scene(cluster: Cluster, part: int) -> set[int]:
        entry = _stored(cluster, part)
        _read(cluster, part, [got(entry.offset, None, part, error=error)])
        cluster.story.expect(error, entry.offset, part=part)
        return set()

    return scene


def _duplicate(cluster: Cluster, part: int) -> set[int]:
    entry = _stored(cluster, part)
    cluster.logs[part].append(entry.value, cluster.timestamp())
    cluster.story.expect("duplicate", entry.value, part=part)
    return set()


def _skip_inside(cluster: Cluster, part: int) -> set[int]:
    first, _, third = (_stored(cluster, part).polled(part) for _ in range(3))
    (op,) = _read(cluster, part, [first, third])
    cluster.story.expect("int-poll-skip", op, 1, part=part)
    return set()


def _back_inside(cluster: Cluster, part: int) -> set[int]:
    first, second = (_stored(cluster, part).polled(part) for _ in range(2))
    (op,) = _read(cluster, part, [first, second, first])
    cluster.story.expect("int-nonmonotonic-poll", op, 2, part=part)
    return set()


def _skip(cluster: Cluster, part: int) -> set[int]:
    first, _, third = (_stored(cluster, part).polled(part) for _ in range(3))
    _, op = _read(cluster, part, [first], [third])
    cluster.story.expect("poll-skip", op, part=part)
    return set()


def _back(cluster: Cluster, part: int) -> set[int]:
    first, second = (_stored(cluster, part).polled(part) for _ in range(2))
    _, op = _read(cluster, part, [first, second], [second])
    cluster.story.expect("nonmonotonic-poll", op, part=part)
    return set()


def _swapped_sends(cluster: Cluster, part: int) -> set[int]:
    """Pipelined by one client, stored the other way round."""
    early, late, process, now = cluster.next_value(), cluster.next_value(), cluster.new_process(), cluster.tick()
    stored = {value: cluster.logs[part].append(value, cluster.timestamp()).offset for value in (late, early)}
    _, op = (
        cluster.story.send(process, value, stored[value], part=part, at=now - STEP / 3, until=now + STEP / 3) for value in (early, late)
    )
    cluster.story.expect("reordered", late, part=part)
    cluster.story.expect("nonmonotonic-send", op, part=part)
    return set()


def _conflicting_read(cluster: Cluster, part: int) -> set[int]:
    """A reader finds there what nobody sent."""
    entry, other = _stored(cluster, part), cluster.next_value()
    _read(cluster, part, [got(entry.offset, other, part)])
    for name in ("read-conflict", "inconsistent-offsets", "ack-conflict"):
        cluster.story.expect(name, entry.offset, part=part)
    cluster.story.expect("phantom", other, part=part)
    cluster.story.expect("lost-after-read", other, part=part)
    return set()


def _conflicting_acknowledgement(cluster: Cluster, part: int) -> set[int]:
    entry, other = _stored(cluster, part), cluster.next_value()
    _acknowledged(cluster, part, other, entry.offset)
    for name in ("inconsistent-offsets", "ack-conflict"):
        cluster.story.expect(name, entry.offset, part=part)
    for name in ("lost", "unseen"):
        cluster.story.expect(name, other, part=part)
    return set()


def _stale_time_index(cluster: Cluster, part: int) -> set[int]:
    first, second = _stored(cluster, part), _stored(cluster, part)
    op = cluster.tick_and_freeze(lambda: cluster.story.lookup(cluster.new_process(), first.timestamp, second.offset, part=part))
    cluster.story.expect("stale-time-index", op, part=part)
    return set()


def _lost(cluster: Cluster, part: int) -> set[int]:
    value = cluster.next_value()
    _acknowledged(cluster, part, value, None)
    for name in ("lost", "unseen"):
        cluster.story.expect(name, value, part=part)
    return set()


def _torn(cluster: Cluster, part: int) -> set[int]:
    """The half that is not there may be of the same partition."""
    here, there, now = cluster.next_value(), cluster.next_value(), cluster.tick()
    other = cluster.random.randrange(len(cluster.logs))
    offset = cluster.logs[part].append(here, cluster.timestamp()).offset
    rows = (sent(here, offset, part), sent(there, None, other))
    op = cluster.story.txn(cluster.new_process(), *rows, at=now - STEP / 3, until=now + STEP / 3)
    cluster.story.expect("torn-transaction", op)
    for name in ("lost", "unseen"):
        cluster.story.expect(name, there, part=other)
    return set()


def _read_too_early(cluster: Cluster, part: int) -> set[int]:
    value = cluster.next_value()
    entry = cluster.logs[part].append(value, cluster.timestamp())
    (op,) = _read(cluster, part, [entry.polled(part)])
    _acknowledged(cluster, part, value, entry.offset)
    cluster.story.expect("G1c-realtime", op)
    return set()


def _stored_too_early(cluster: Cluster, part: int) -> set[int]:
    early, late = cluster.next_value(), cluster.next_value()
    stored = {value: cluster.logs[part].append(value, cluster.timestamp()).offset for value in (late, early)}
    op, _ = (_acknowledged(cluster, part, value, stored[value]) for value in (early, late))
    cluster.story.expect("G0-realtime", op)
    return set()


def _damaged_replica(cluster: Cluster, part: int) -> set[int]:
    entry = _stored(cluster, part)
    cluster.damaged.add((part, entry.offset))
    cluster.story.expect("replica-divergence", entry.offset, part=part)
    return set()


def _no_service(cluster: Cluster, part: int) -> set[int]:
    entry = cluster.logs[part].append(cluster.next_value(), cluster.timestamp())
    start = cluster.moment + 5.0
    cluster.moment += 30.0
    cluster.story.send(cluster.new_process(), entry.value, entry.offset, part=part, at=start, until=start + 20.0)
    cluster.story.expect("unavailable", round(start * 1e9), part=part)
    return set()


def _gone_after_read(cluster: Cluster, part: int) -> set[int]:
    """At the end of the log: nobody reads on behind it."""
    entry = _stored(cluster, part)
    _read(cluster, part, [entry.polled(part)])
    for name in ("lost", "lost-after-read"):
        cluster.story.expect(name, entry.value, part=part)
    return {entry.value}


INJECTIONS: Mapping[str, Scene] = {
    "phantom": _phantom,
    "G1a": _aborted_read,
    "corrupt": _bad_message(CORRUPT),
    "misplaced": _bad_message(MISPLACED),
    "duplicate": _duplicate,
    "int-poll-skip": _skip_inside,
    "int-nonmonotonic-poll": _back_inside,
    "poll-skip": _skip,
    "nonmonotonic-poll": _back,
    "reordered": _swapped_sends,
    "read-conflict": _conflicting_read,
    "ack-conflict": _conflicting_acknowledgement,
    "stale-time-index": _stale_time_index,
    "lost": _lost,
    "torn-transaction": _torn,
    "G1c-realtime": _read_too_early,
    "G0-realtime": _stored_too_early,
    "replica-divergence": _damaged_replica,
    "unavailable": _no_service,
    "lost-after-read": _gone_after_read,
}
"""In this order; what takes away the end of a log comes last."""
