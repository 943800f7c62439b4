"""What was done to the cluster and what can be said of it, as far as it bears on what is an error.

Nothing here excuses a broker by its own conduct: an election out of the ISR counts only where settings allow one (`promises`). What the
brokers do not tell is None, and then what could have happened counts as having happened. How many replicas lost their tails *together*
decides whether any copy was left: a replica counts as copied anew only some time after it is back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from harness.history.beside import UNPROVEN, Event, Fault, Final

TAIL_LOSING = ("torn-tail", "power-loss")
"""Kinds of faults that take what a broker had written and not flushed."""

COPIED_ANEW_NS = 30_000_000_000
"""From the return of a replica that lost its tail until it is believed to have everything again."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """`operations`: kinds of operations in the history. `unclean_elections`: how many there may have been, None where nobody tells.

    `torn_together`: replicas that lost what they had not flushed before the first of them had it again. `read_to_end`: None where there
    was no final read. `complete`: every file of the history could be read.
    """

    faults: frozenset[str] = frozenset()
    torn_together: int = 0
    unclean_elections: int | None = None
    operations: frozenset[str] = frozenset()
    read_to_end: bool | None = None
    dumped: bool = False
    complete: bool = True


def circumstances_of(
    faults: Sequence[Fault],
    events: Sequence[Event],
    finals: Sequence[Final],
    operations: Iterable[str],
    *,
    dumped: bool,
    complete: bool = True,
) -> Circumstances:
    """`dumped`: there are dumps of the replicas' logs (batches.parquet)."""
    return Circumstances(
        faults=frozenset(kind_of(fault) for fault in faults if fault.start is not None),
        torn_together=torn_together(faults),
        unclean_elections=unclean_elections(events),
        operations=frozenset(operations),
        read_to_end=all(_to_end(final) for final in finals) if finals else None,
        dumped=dumped,
        complete=complete,
    )


def kind_of(fault: Fault) -> str:
    """`partition` of `partition:halves`."""
    return fault.fault.partition(":")[0]


def torn_together(faults: Sequence[Fault]) -> int:
    """The most nodes that had lost their tails at one time. One that nobody saw healed never has it again.

    A strike without a proof may have taken place all the same: it excuses, it does not accuse.
    """
    strikes = [
        (fault.start, _whole_again(fault), fault.targets) for fault in faults if kind_of(fault) in TAIL_LOSING and fault.start is not None
    ]
    moments = [start for start, _, _ in strikes]
    return max((len({node for start, end, nodes in strikes if start <= now < end for node in nodes}) for now in moments), default=0)


def unclean_elections(events: Sequence[Event]) -> int | None:
    """Leaders whose ISR shares nobody with the one before, as their brokers told; after an epoch that nobody told of it may be one."""
    told = [event for event in events if event.event in ("leader-changed", "isr-shrunk", "isr-grown") and event.epoch is not None]
    if not any(event.event == "leader-changed" for event in told):
        return None
    found = 0
    isrs: dict[tuple[str | None, int | None], dict[int, tuple[set[int], set[int]]]] = {}
    for event in sorted(told, key=lambda event: -1 if event.t is None else event.t):
        isr = set(json.loads(event.detail or "{}").get("isr", ()))
        assert event.epoch is not None
        epochs = isrs.setdefault((event.topic, event.part), {})
        first, _ = epochs.get(event.epoch, (isr, isr))
        epochs[event.epoch] = (first, isr)
    for epochs in isrs.values():
        known = sorted(epochs)
        for before, after in pairwise(known):
            found += after > before + 1 or not epochs[before][1] & epochs[after][0]
    return found


def _whole_again(fault: Fault) -> int:
    never = 2**63
    return never if fault.end is None or fault.state == UNPROVEN else fault.end + COPIED_ANEW_NS


def _to_end(final: Final) -> bool:
    if final.completed is None:
        return False
    return final.end <= final.log_start or (final.last_read is not None and final.last_read >= final.end - 1)
