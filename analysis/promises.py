"""What is an error: one table from what was promised, and what was done to the cluster, to the anomalies that may not be.

An anomaly is a fact; whether it is an error depends. acks=1 promises nothing about a leader's death, and a sound broker may then lose
what it acknowledged; with acks=all it may not, unless every copy lost its tail. The rows below say for each anomaly what must have been
promised for it to be an error, and what excuses it; the report and `./highwater checks` print them. The trap is to excuse too much: an
excuse is something the settings allow or the nemesis did, never something that the broker did by itself.

Duplicates are the one place where the client can be at fault: librdkafka that gives up a producer epoch sends again, under the next, what
may be stored already, and no broker can tell. The evidence is in the dumps of the logs: two copies under different producer ids or epochs
are the client's (`own_retries` finds them, and they count as doubtful), two under the same are the broker's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from analysis.anomalies import ANOMALIES
from analysis.circumstances import Circumstances
from analysis.settled import Settled

Rules = Literal["highwater", "jepsen"]


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether an anomaly is an error here, and why."""

    forbidden: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Condition:
    """`short` heads a cell of the table; `sentence` is said where this decides that an anomaly is none to blame the broker for."""

    short: str
    sentence: str
    holds: Callable[[Settled, Circumstances], bool]


@dataclass(frozen=True, slots=True)
class Row:
    """An error if all of `needs` hold and none of `unless`, because of `reason`. Without `ever` it never is, for that reason."""

    anomaly: str
    reason: str
    needs: tuple[Condition, ...] = ()
    unless: tuple[Condition, ...] = ()
    ever: bool = True

    def rule(self, settled: Settled, seen: Circumstances) -> Ruling:
        if not self.ever:
            return Ruling(False, self.reason)
        for need in self.needs:
            if not need.holds(settled, seen):
                return Ruling(False, need.sentence)
        for excuse in self.unless:
            if excuse.holds(settled, seen):
                return Ruling(False, excuse.sentence)
        return Ruling(True, self.reason)

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Anomaly, forbidden when, unless, why: a line of the printed table."""
        when = " and ".join(need.short for need in self.needs) or "always"
        return self.anomaly, when if self.ever else "never", " or ".join(excuse.short for excuse in self.unless), self.reason


def forbidden(settled: Settled, seen: Circumstances, rules: Rules = "highwater") -> dict[str, Ruling]:
    """For every anomaly there is, in the order of their table."""
    by_name = {row.anomaly: row for row in TABLES[rules]}
    return {name: by_name[name].rule(settled, seen) for name in ANOMALIES}


ACKS_ALL = Condition(
    "acks=all",
    "acks=0 and acks=1 wait for no copy: what was acknowledged may go with its leader.",
    lambda settled, seen: settled["acks"] == "all",
)
IDEMPOTENCE = Condition(
    "idempotence",
    "Without idempotence a retry may store a message twice.",
    lambda settled, seen: settled["idempotence"] is True,
)
IN_ORDER = Condition(
    "idempotence or one request in flight",
    "With several requests in flight and no idempotence a retry may overtake.",
    lambda settled, seen: settled["idempotence"] is True or settled["in_flight"] == 1,
)
ASSIGNED = Condition(
    "clients assign",
    "Clients subscribe: a rebalance may move a reader at any time.",
    lambda settled, seen: settled["assignment"] == "assign",
)
COMMITTED_ONLY = Condition(
    "isolation=read_committed",
    "At read_uncommitted the values of unfinished and aborted transactions may be read.",
    lambda settled, seen: settled["isolation"] == "read_committed",
)
COMMITTED_OR_PLAIN = Condition(
    "isolation=read_committed or no transactions",
    COMMITTED_ONLY.sentence,
    lambda settled, seen: settled["isolation"] == "read_committed" or "txn" not in seen.operations,
)
PROGRESS = Condition("progress", "Progress was not promised.", lambda settled, seen: settled["progress"] is True)

UNCLEAN = Condition(
    "an unclean election was allowed and may have taken place",
    "Unclean election is allowed, and a replica outside the ISR led or may have: it lacks what the others had.",
    lambda settled, seen: settled["unclean"] is True and seen.unclean_elections != 0,
)
TAILS_TORN = Condition(
    "as many replicas as min_insync lost un-flushed tails together",
    "So many replicas lost what they had not flushed, at the same time, that no copy need be left.",
    lambda settled, seen: settled["flush"] is not True and seen.torn_together >= settled.number("min_insync"),
)
NO_DUMPS = Condition(
    "idempotence was not stated and there is no dump of the logs",
    "A client that opens a new producer epoch may store a message twice by itself, and without dumps of the logs nobody can tell.",
    lambda settled, seen: not seen.dumped and settled.source("idempotence") != "stated",
)
NOT_READ = Condition(
    "readers seek and the final reads did not reach the end",
    "Readers jump about and the final reads did not reach the end: nobody may have looked there.",
    lambda settled, seen: "seek" in seen.operations and seen.read_to_end is not True,
)
INCOMPLETE = Condition(
    "a part of the history is missing",
    "A part of the history could not be read: what is absent from the rest may be there.",
    lambda settled, seen: not seen.complete,
)

_REWRITTEN = (UNCLEAN, TAILS_TORN)
_GONE = (*_REWRITTEN, INCOMPLETE)
_ORDER_OF_SENDS = (IN_ORDER, ACKS_ALL)
_ISOLATION_OF_WRITES = "Transactions that write are not isolated from each other: their messages may interleave."
_HW = "What consumers were shown was below the high watermark, on every in-sync replica: it may not change under any acks."
_OFFSET_ORDER = "A log is read in the order of its offsets, without holes."
_SEND_ORDER = "What one client sent in order is stored in order."

HIGHWATER: tuple[Row, ...] = (
    Row("inconsistent-offsets", "It is judged by its halves, ack-conflict and read-conflict.", ever=False),
    Row(
        "duplicate",
        "With idempotence a retry is stored once; copies under two producer epochs are the client's own.",
        (IDEMPOTENCE,),
        (*_REWRITTEN, NO_DUMPS),
    ),
    Row("G1a", "What certainly failed may not be seen.", (COMMITTED_OR_PLAIN,)),
    Row("lost-write", "What acks=all acknowledged is on min.insync replicas and stays readable.", (ACKS_ALL,), (*_GONE, NOT_READ)),
    Row("unseen", "Loss and delay look alike where nobody read to the end; `lost` is what a complete final read lacks.", ever=False),
    Row("precommitted-read", "A transaction's own messages are not committed while it reads.", (COMMITTED_ONLY,)),
    Row("int-poll-skip", _OFFSET_ORDER, (), _GONE),
    Row("int-nonmonotonic-poll", _OFFSET_ORDER, (), _REWRITTEN),
    Row("int-send-skip", "Other clients write to the same partition: their messages may lie between.", ever=False),
    Row("int-nonmonotonic-send", _SEND_ORDER, _ORDER_OF_SENDS, _REWRITTEN),
    Row("poll-skip", _OFFSET_ORDER, (ASSIGNED,), _GONE),
    Row("nonmonotonic-poll", _OFFSET_ORDER, (ASSIGNED,), _REWRITTEN),
    Row("nonmonotonic-send", _SEND_ORDER, _ORDER_OF_SENDS, _REWRITTEN),
    Row("G0", _ISOLATION_OF_WRITES, ever=False),
    Row("G0-realtime", _ISOLATION_OF_WRITES, ever=False),
    Row("G1c", _ISOLATION_OF_WRITES, ever=False),
    Row("G1c-realtime", _ISOLATION_OF_WRITES, ever=False),
    Row("phantom", "Nobody sent it.", (), (INCOMPLETE,)),
    Row("corrupt", "Damage is to be found before a consumer is given it, whatever was done to files."),
    Row("misplaced", "A message belongs to the partition and the run it was sent to."),
    Row("lost", "What acks=all acknowledged is on min.insync replicas and stays readable.", (ACKS_ALL,), _GONE),
    Row("lost-after-read", _HW, (), _GONE),
    Row("ack-conflict", "An offset that acks=all acknowledged belongs to that message for ever.", (ACKS_ALL,), _REWRITTEN),
    Row("read-conflict", _HW, (), _REWRITTEN),
    Row("reordered", _SEND_ORDER, _ORDER_OF_SENDS, _REWRITTEN),
    Row("stale-time-index", "A look-up by time answers from the log below the high watermark, also when indexes are lost.", (), _REWRITTEN),
    Row("replica-divergence", "Below the high watermark all replicas have the same bytes once the cluster is whole, under any acks."),
    Row("metadata-divergence", "The controllers' log is a consensus log: what is committed is the same everywhere, always."),
    Row("G1b", "A committed transaction is seen whole.", (COMMITTED_ONLY,), _GONE),
    Row("torn-transaction", "A transaction is committed whole or not at all.", (ACKS_ALL,), _GONE),
    Row("G-single", "An anti-dependency is what a poll did not see; Kafka does not promise that it sees the newest.", ever=False),
    Row("G2", "An anti-dependency is what a poll did not see; Kafka does not promise that it sees the newest.", ever=False),
    Row("unavailable", "Progress is promised while a quorum and min.insync replicas reach each other and the clients.", (PROGRESS,)),
)

_JEPSEN_ALWAYS = "Jepsen calls it an error under all settings."
_JEPSEN_NOT = "Jepsen does not look for it."
_JEPSEN_ALLOWED = "Jepsen allows it: writes of transactions interleave."
_JEPSEN_WW = "Jepsen allows it where write-write edges are used, as they are here."

JEPSEN: tuple[Row, ...] = (
    *(Row(name, _JEPSEN_ALWAYS) for name in ("inconsistent-offsets", "duplicate", "G1a", "lost-write", "unseen", "precommitted-read")),
    *(Row(name, _JEPSEN_ALWAYS) for name in ("int-poll-skip", "int-nonmonotonic-poll", "int-nonmonotonic-send", "nonmonotonic-send")),
    *(Row(name, "Jepsen calls it an error where clients assign.", (ASSIGNED,)) for name in ("poll-skip", "nonmonotonic-poll")),
    *(Row(name, _JEPSEN_ALLOWED, ever=False) for name in ("int-send-skip", "G0", "G0-realtime")),
    *(Row(name, _JEPSEN_WW, ever=False) for name in ("G1c", "G1c-realtime")),
    Row("phantom", "Jepsen gives up on a value that nobody sent; here it is an error."),
    *(Row(name, _JEPSEN_NOT, ever=False) for name in ("corrupt", "misplaced", "lost", "lost-after-read", "ack-conflict", "read-conflict")),
    *(Row(name, _JEPSEN_NOT, ever=False) for name in ("reordered", "stale-time-index", "replica-divergence", "metadata-divergence")),
    *(Row(name, _JEPSEN_NOT, ever=False) for name in ("G1b", "torn-transaction", "G-single", "G2", "unavailable")),
)

TABLES: Mapping[Rules, Sequence[Row]] = {"highwater": HIGHWATER, "jepsen": JEPSEN}
