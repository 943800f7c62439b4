"""Every anomaly by name: what it is, what counts as one of it, and by which numbers one is told from another.

Two checkers that share no code must agree, so what is counted cannot be left to either of them. `identity` names the numbers that
make one instance: a checker that finds the same instance twice has found it once. Topic and partition always belong to it, except where
`across` says that the anomaly has no single partition. The names of part 1 are Jepsen's, with Jepsen's meaning.

**What lies where.** A value lies at an offset if a poll of any outcome gave it there, or a send of a committed operation was told that
offset. Committed is an ok operation, and an info one of which an ok operation read a value in the partition it was sent to. All rows of an
operation have its outcome. A value sent twice in one partition belongs to the smaller operation. A value belongs to its partition: polled
in another one, it was not sent there.

**Places.** Offsets with a known value, sorted, without holes, are a partition's places 0, 1, 2…; an offset with several values belongs to
the smallest of them, the others do not lie there as something sent. Where a value lies at several offsets, its first place stands
for it as something sent, and a poll is judged by the offset polled, whatever came with it. Jepsen's rules (`--rules jepsen`) take the
last place of the value for both, and know no poll without a value. A pair in which one place is unknown is never an instance.

**Reading.** A poll without an offset is a partition polled as empty: it reads nothing and moves nobody. The final read of a partition is
what ok polls of the final phase gave of it, whoever polled; it is complete where a row of finals.parquet about it is completed. Its log
start and end are the largest of all rows about it (none: 0 and unknown). Dumped is a partition that has a row in records.parquet; all
replicas together are one read.

**Doubt.** Only `nonmonotonic-send` and `reordered` can be doubtful; all others are what they are, whoever took part.
"""

from __future__ import annotations

from dataclasses import dataclass

METADATA_TOPIC = "__cluster_metadata"
"""Dumps under this name are the controllers' metadata logs, their high watermark is the commit index."""

LONGEST_GAP_NS = 15_000_000_000
"""A gap of service has to be longer to be `unavailable`."""
PAUSE_NS = 1_000_000_000
"""Without a send under way for longer, nobody asked for service."""

TAKES_NOBODY = frozenset({"clock:bump", "clock:strobe", "clock:drift", "clock:reset"})
TAKES_ITS_TARGETS = frozenset(
    {"kill", "stop", "pause", "rolling-restart", "torn-tail", "deleted-index", "partition:one", "partition:halves"}
)
"""Faults under which service is still promised by the nodes not struck. Every other fault suspends the promise for its whole length."""


@dataclass(frozen=True, slots=True)
class Anomaly:
    """`family` is the module that looks for it. `definition` is one sentence for people; `exactly` decides where that leaves room."""

    name: str
    family: str
    definition: str
    identity: tuple[str, ...]
    across: bool = False
    exactly: str = ""


def _table(*rows: Anomaly) -> dict[str, Anomaly]:
    return {row.name: row for row in rows}


_PAIR = "Pairs are neighbours in the order of `micro`, one partition's rows only; `micro` is that of the second. Any outcome."
_EXCUSED = " A partition with a `rebalance` row in the operation is excused in it."
_POSITION = (
    "The first poll now, of any outcome, against the position: the last poll of the process's last ok operation that read the "
    "partition. An ok seek puts the position just before the first place at or behind the offset sought; a `forget` row or a seek that "
    "ended info makes it unknown, a `forget` that failed does not. The order of a process is that of `op`; an operation counts once."
)
_COMPONENT = (
    "One a strongly connected component of the graph of the kinds of edges it may have, if all those it needs are inside; its smallest "
    "`op` that has a ww, wr or rw edge inside it (who lies in it by real time alone does not count). Operations of any outcome; no edge "
    "leads to oneself. ww: from the writer of a value to the writer of the next, over the places in order without those at which a "
    "value lies again (Jepsen's rules: all places); a value without a writer breaks the chain. wr: from a value's writer to everyone "
    "who polled it; one that is ww as well is ww only. realtime: the one completed, ok, before the other was invoked, also where "
    "another edge is; equal times are no edge."
)

ANOMALIES = _table(
    # Part 1: Jepsen's.
    Anomaly("inconsistent-offsets", "offsets", "one offset has two or more values", ("offset",)),
    Anomaly("duplicate", "offsets", "one value lies at two or more offsets", ("value",)),
    Anomaly("G1a", "delivery", "an ok operation read a value whose send failed", ("value", "op", "micro"), exactly="`op`: the reader's."),
    Anomaly(
        "lost-write",
        "delivery",
        "a committed value at or below the highest place read, that no ok operation read",
        ("value",),
        exactly="The bound is the highest first place of a value that an ok operation read; the value's last place is at or below it. "
        "Values that have no place as something sent neither count nor make the bound.",
    ),
    Anomaly(
        "unseen",
        "delivery",
        "an acknowledged value that no ok operation had polled when the history ended",
        ("value",),
        exactly="Acknowledged is an ok send, with or without an offset. Polled in the partition it was sent to.",
    ),
    Anomaly(
        "precommitted-read", "transactions", "an operation polled a value it sent itself", ("op",), across=True, exactly="Any outcome."
    ),
    Anomaly("int-poll-skip", "order", "inside one operation, two polls in a row skip a place", ("op", "micro"), exactly=_PAIR + _EXCUSED),
    Anomaly(
        "int-nonmonotonic-poll", "order", "inside one operation, a poll does not go forward", ("op", "micro"), exactly=_PAIR + _EXCUSED
    ),
    Anomaly("int-send-skip", "order", "inside one operation, two sends in a row leave room for another's", ("op", "micro"), exactly=_PAIR),
    Anomaly(
        "int-nonmonotonic-send", "order", "inside one operation, a later send lies before an earlier one", ("op", "micro"), exactly=_PAIR
    ),
    Anomaly("poll-skip", "order", "a process went on reading behind the place that follows its last one", ("op",), exactly=_POSITION),
    Anomaly("nonmonotonic-poll", "order", "a process went on reading at or before its last place", ("op",), exactly=_POSITION),
    Anomaly(
        "nonmonotonic-send",
        "order",
        "a process's later send lies before its earlier one",
        ("op",),
        exactly="The first send of an ok or info operation against the last send of the process's ok or info operation before, to the "
        "same partition; a `forget` row that did not fail parts the two. Doubtful where one of the two ended info or they are "
        "of two `producer`s.",
    ),
    Anomaly("G0", "cycles", "operations that overwrite each other in a circle", ("op",), True, f"May have ww. {_COMPONENT}"),
    Anomaly(
        "G0-realtime",
        "cycles",
        "the same, with real time as a part of the circle",
        ("op",),
        True,
        "May have ww and realtime, needs realtime.",
    ),
    Anomaly(
        "G1c", "cycles", "operations that read from or overwrite each other in a circle", ("op",), True, "May have ww and wr, needs wr."
    ),
    Anomaly(
        "G1c-realtime",
        "cycles",
        "the same, with real time as a part of the circle",
        ("op",),
        True,
        "May have ww, wr and realtime, needs wr and realtime.",
    ),
    # Part 2: beyond it.
    Anomaly("phantom", "delivery", "a value was polled that no operation sent", ("value",), exactly="Polled with any outcome."),
    Anomaly(
        "corrupt",
        "delivery",
        "a message was polled whose bytes do not match their checksum",
        ("offset",),
        exactly="Polled with any outcome.",
    ),
    Anomaly(
        "misplaced", "delivery", "a sound message of another partition or run was polled", ("offset",), exactly="Polled with any outcome."
    ),
    Anomaly(
        "lost",
        "delivery",
        "acknowledged, and absent from a complete final read",
        ("value",),
        exactly="Not one whose last offset is before the log start.",
    ),
    Anomaly(
        "lost-after-read",
        "delivery",
        "an ok operation read a value that a later complete read has not got",
        ("value",),
        exactly="Read before the final phase and absent from the complete final read; or read in any phase and in no replica's dump, "
        "where the partition is dumped. Not one whose last offset is before the log start.",
    ),
    Anomaly(
        "ack-conflict",
        "offsets",
        "an offset was acknowledged for one value and polled with another",
        ("offset",),
        exactly="Acknowledged: a send of a committed operation was told it. Polled with any outcome.",
    ),
    Anomaly("read-conflict", "offsets", "one offset was polled with two values", ("offset",), exactly="Polled with any outcome."),
    Anomaly(
        "reordered",
        "order",
        "of one client instance and record key: sent later, stored earlier",
        ("value",),
        exactly="A value of an ok or info send whose place is before that of one sent earlier (by `op`, then `micro`) by the same "
        "`producer` with the same key, ok or info. Without a producer's number the process stands for it; no key is a key like "
        "others. Doubtful unless it is ok and one of those earlier is ok.",
    ),
    Anomaly(
        "stale-time-index",
        "order",
        "a look-up by time did not answer the first message of that time or later",
        ("op",),
        exactly="Of an ok look-up, against what ok polls of the whole history gave with a timestamp, from the log start on: the message "
        "at the offset answered is older than asked for; or one before it is not; or the answer was none though one of that "
        "time or later was polled by an operation that had completed when it was invoked. An offset polled with two timestamps "
        "counts with the one that accuses nobody. An answer of which nothing is known is judged by the second alone.",
    ),
    Anomaly(
        "replica-divergence",
        "replicas",
        "two replicas' logs differ below their high watermarks",
        ("offset",),
        exactly="A base offset from the log start on, below the smallest high watermark known of the replicas dumped (where none is "
        "known: the end of the final read), at which not all of them have a batch with the same last offset, epoch and crc.",
    ),
    Anomaly(
        "metadata-divergence",
        "replicas",
        "two controllers' metadata logs differ below the commit index",
        ("offset",),
        across=True,
        exactly="As replica-divergence, of METADATA_TOPIC, and from the largest first base offset on: snapshots replace what is before.",
    ),
    Anomaly(
        "G1b",
        "transactions",
        "an operation read some of a transaction's values and not the last",
        ("reader", "writer"),
        exactly="An ok reader, another than the writer; an ok or info transaction that sent several values to the partition; of them "
        "the reader read one and not the last sent, though it polled in this operation a place behind that of the last.",
    ),
    Anomaly(
        "torn-transaction",
        "transactions",
        "a committed transaction of which only a part is in the log",
        ("op",),
        across=True,
        exactly="Of its sends to partitions with a complete final read, some are in it and some are not. One that was told an offset "
        "before the log start or at or behind the end is not asked about.",
    ),
    Anomaly(
        "G-single",
        "cycles",
        "a circle with one anti-dependency",
        ("op",),
        True,
        "A component of ww, wr and rw in which an rw edge closes a circle with ww and wr alone. rw: from an ok operation that was told "
        "that a partition ends (a row `end`, the offset is the next one) to the writer of the value at the first place at or behind "
        "that offset, by the places that ww goes by; also where another edge is.",
    ),
    Anomaly(
        "G2",
        "cycles",
        "a circle with anti-dependencies",
        ("op",),
        True,
        "A component of ww, wr and rw with an rw edge inside that is no G-single.",
    ),
    Anomaly(
        "unavailable",
        "availability",
        "no send was acknowledged for too long though progress was promised",
        ("start",),
        exactly="Where the plan promises progress. A send is under way from invoked to completed (one without an end: at its invocation "
        "only). Times with a send under way, joined over pauses up to PAUSE_NS and cut at every acknowledgement (an ok send's "
        "completion), are gaps. From them is taken away when faults.parquet suspends the promise: from start to end (none: for "
        "good) of a fault that is in neither list above, and while the targets of TAKES_ITS_TARGETS together leave no majority "
        "of the nodes (`settings.nodes` of the plan's scenario, else `replicas`, else none) or fewer than `min_insync` (else 1) "
        "of `replicas` (else the nodes). A piece left longer than LONGEST_GAP_NS is an instance, `start` where it begins, "
        "unless a harness-stalled event of more than 500 ms overlaps it.",
    ),
)
