"""How an instance is told: short sentences that name process, operation, time, offset and value, so that a person can look each of them up.

Of thousands of instances only those that are shown are told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from analysis.findings import SHOWN, Finding, Witness
from analysis.log import Log, Mask
from analysis.partition import MISSING, Column
from harness.history.schema import Function, Outcome


def finding(name: str, identity: Sequence[Column], tell: Callable[[int], Witness], doubtful: Mask | None = None) -> Finding:
    """One instance a position of the `identity` columns, each once. `tell(position)` is asked for the smallest, errors first."""
    count = len(identity[0])
    doubt = np.zeros(count, np.bool_) if doubtful is None else doubtful
    shown = np.lexsort((*reversed(identity), doubt))[:SHOWN]
    return Finding(name, count, tuple(tell(int(position)) for position in shown), int(doubt.sum()))


def witness(
    log: Log, sentence: str, identity: Sequence[int], rows: Sequence[int], *, offset: int | None = None, doubtful: bool = False
) -> Witness:
    """`rows` are those the sentence speaks of."""
    ops = dict.fromkeys(int(log.rows["op"][row]) for row in rows)
    found = None if offset is None or offset == MISSING else int(offset)
    return Witness(sentence, tuple(int(one) for one in identity), tuple(ops), log.rows.topic, log.rows.part, found, doubtful)


def seconds(time: int) -> str:
    return f"{time / 1e9:.3f} s"


def who(log: Log, row: int) -> str:
    """The process with operation and time: a send's is when it was invoked, any other's when it was over."""
    rows = log.rows
    over = int(rows["completed"][row])
    time = int(rows["invoked"][row]) if over == MISSING or rows["f"][row] == Function.SEND else over
    return f"process {int(rows['process'][row])} (op {int(rows['op'][row])}, {seconds(time)})"


def fate(log: Log, row: int) -> str:
    """What became of a send."""
    outcome, offset = log.rows["outcome"][row], int(log.rows["offset"][row])
    if outcome == Outcome.FAIL:
        return "failed"
    if outcome == Outcome.INFO:
        return "has no known outcome" if offset == MISSING else f"has no known outcome but was told offset {offset}"
    return "was acknowledged" if offset == MISSING else f"was acknowledged at offset {offset}"


def sent(log: Log, number: int) -> str:
    """A value's send, as the beginning of a sentence without its end."""
    row = log.writer[number]
    return f"Value {int(log.values[number])} was sent by {who(log, row)} and {fate(log, row)}"


def listed(texts: Sequence[str], most: int = 3) -> str:
    """a, b and c; of many the first few."""
    shown = list(texts[:most])
    if len(texts) > most:
        shown.append(f"{len(texts) - most} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def polls_of(log: Log, pair: int) -> Column:
    """The rows that polled a pair."""
    found: Column = log.polls[log.pairs.of_poll == pair]
    return found


def acks_of(log: Log, pair: int) -> Column:
    """The rows that were told a pair's offset for its value."""
    found: Column = log.acks[log.pairs.of_ack == pair]
    return found


def how_known(log: Log, pair: int, *, polled_first: bool = False) -> tuple[str, int]:
    """Who says that a value lies at an offset, with the row."""
    acks, polls = acks_of(log, pair), polls_of(log, pair)
    value = int(log.values[log.pairs.number[pair]])
    if len(acks) and not (polled_first and len(polls)):
        return f"value {value} was acknowledged there to {who(log, acks[0])}", int(acks[0])
    return f"value {value} was polled there by {who(log, polls[0])}", int(polls[0])
