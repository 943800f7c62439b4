"""Every anomaly by name: what it is, what counts as one of it, and by which numbers one is told from another.

Two checkers that share no code must agree, so what is counted cannot be left to either of them. `identity` names the numbers that
make one instance: a checker that finds the same instance twice has found it once. Topic and partition always belong to it, except where
`across` says that the anomaly has no single partition. The names of part 1 are Jepsen's, with Jepsen's meaning.

Order is judged by *places*. Offsets with a known value, sorted, without holes, are a partition's places 0, 1, 2…; where a value
lies at several offsets, its first place stands for it as something sent, and a poll is judged by the offset polled. (Jepsen's rules
take the last place for both: `--rules jepsen`.) A pair in which one place is unknown is never an instance.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Anomaly:
    """`family` is the module that looks for it. `definition` is one sentence for people."""

    name: str
    family: str
    definition: str
    identity: tuple[str, ...]
    across: bool = False


def _table(*rows: Anomaly) -> dict[str, Anomaly]:
    return {row.name: row for row in rows}


ANOMALIES = _table(
    # Part 1: Jepsen's.
    Anomaly("inconsistent-offsets", "offsets", "one offset has two or more values", ("offset",)),
    Anomaly("duplicate", "offsets", "one value lies at two or more offsets", ("value",)),
    Anomaly("G1a", "delivery", "an ok operation read a value whose send failed", ("value", "op", "micro")),
    Anomaly("lost-write", "delivery", "a committed value at or below the highest place read, that no ok operation read", ("value",)),
    Anomaly("unseen", "delivery", "an acknowledged value that no ok operation had polled when the history ended", ("value",)),
    Anomaly("precommitted-read", "transactions", "an operation polled a value it sent itself", ("op",), across=True),
    Anomaly("int-poll-skip", "order", "inside one operation, two polls in a row skip a place", ("op", "micro")),
    Anomaly("int-nonmonotonic-poll", "order", "inside one operation, a poll does not go forward", ("op", "micro")),
    Anomaly("int-send-skip", "order", "inside one operation, two sends in a row leave room for another's", ("op", "micro")),
    Anomaly("int-nonmonotonic-send", "order", "inside one operation, a later send lies before an earlier one", ("op", "micro")),
    Anomaly("poll-skip", "order", "a process went on reading behind the place that follows its last one", ("op",)),
    Anomaly("nonmonotonic-poll", "order", "a process went on reading at or before its last place", ("op",)),
    Anomaly("nonmonotonic-send", "order", "a process's later send lies before its earlier one", ("op",)),
    Anomaly("G0", "cycles", "operations that overwrite each other in a circle", ("op",), across=True),
    Anomaly("G0-realtime", "cycles", "the same, with real time as a part of the circle", ("op",), across=True),
    Anomaly("G1c", "cycles", "operations that read from or overwrite each other in a circle", ("op",), across=True),
    Anomaly("G1c-realtime", "cycles", "the same, with real time as a part of the circle", ("op",), across=True),
    # Part 2: beyond it.
    Anomaly("phantom", "delivery", "a value was polled that no operation sent", ("value",)),
    Anomaly("corrupt", "delivery", "a message was polled whose bytes do not match their checksum", ("offset",)),
    Anomaly("misplaced", "delivery", "a sound message of another partition or run was polled", ("offset",)),
    Anomaly("lost", "delivery", "acknowledged, and absent from a complete final read", ("value",)),
    Anomaly("lost-after-read", "delivery", "an ok operation read a value that a later complete read has not got", ("value",)),
    Anomaly("ack-conflict", "offsets", "an offset was acknowledged for one value and polled with another", ("offset",)),
    Anomaly("read-conflict", "offsets", "one offset was polled with two values", ("offset",)),
    Anomaly("reordered", "order", "of one client instance and record key: sent later, stored earlier", ("value",)),
    Anomaly("stale-time-index", "order", "a look-up by time did not answer the first message of that time or later", ("op",)),
    Anomaly("replica-divergence", "replicas", "two replicas' logs differ below their high watermarks", ("offset",)),
    Anomaly("metadata-divergence", "replicas", "two controllers' metadata logs differ below the commit index", ("offset",), across=True),
    Anomaly("G1b", "transactions", "an operation read some of a transaction's values and not the last", ("reader", "writer")),
    Anomaly("torn-transaction", "transactions", "a committed transaction of which only a part is in the log", ("op",), across=True),
    Anomaly("G-single", "cycles", "a circle with one anti-dependency", ("op",), across=True),
    Anomaly("G2", "cycles", "a circle with anti-dependencies", ("op",), across=True),
    Anomaly("unavailable", "availability", "no send was acknowledged for too long though progress was promised", ("start",)),
)
