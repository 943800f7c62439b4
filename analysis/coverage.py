"""Which *sometimes* states a run reached: a green run in which nothing interesting happened proves little.

A state is seen in what the brokers told, in the rows of the history, or in the faults. What a system does not tell is *not observable*,
which is not the same as not reached. The first leader of a partition is no change, nor is the first controller.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from analysis.circumstances import unclean_elections
from analysis.columns import OF_A_CALL, Calls, Mask, Numbers, Rows
from analysis.log import Log
from analysis.partition import MISSING
from harness.history.beside import Event, Fault
from harness.history.schema import Function, Outcome
from harness.history.stalls import EVENT as STALLED

Reach = Literal["reached", "not reached", "not observable"]
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class State:
    """`source` is where it is seen: events, history or faults."""

    name: str
    sentence: str
    source: Literal["events", "history", "faults"]
    seen: str


STATES: Mapping[str, State] = {
    state.name: state
    for state in (
        State("leader-changed", "A partition got a new leader, or its leader a new epoch.", "events", "`leader-changed` after the first"),
        State(
            "leader-changed-in-flight",
            "A leader changed while sends to its partition were under way.",
            "history",
            "a send that was open when its partition's `leader-changed` was told",
        ),
        State(
            "unclean-election", "A replica outside the ISR became leader, or may have.", "events", "an ISR that shares nobody with the last"
        ),
        State("epoch-fenced", "Somebody with an old epoch was turned away.", "events", "`epoch-fenced`"),
        State("isr-shrunk", "A replica fell out of an ISR.", "events", "`isr-shrunk`"),
        State("isr-alone", "An ISR was down to one replica.", "events", "`isr-shrunk` or `leader-changed` with an ISR of one"),
        State("isr-grown", "A replica came back into an ISR.", "events", "`isr-grown`"),
        State(
            "isr-change-refused",
            "A leader wished for another ISR on a state that was no more, and was refused.",
            "events",
            "`isr-change-refused`",
        ),
        State("truncated", "A follower cut off what its leader did not have.", "events", "`truncated`"),
        State("duplicate-batch", "A batch was sent again after it had been stored.", "events", "`duplicate-batch`"),
        State("session-lapsed", "The controller gave up a broker.", "events", "`session-lapsed`"),
        State("controller-changed", "The quorum got another controller.", "events", "`controller-changed` after the first"),
        State("send-refused", "A send certainly had no effect.", "history", "a send that ended `fail`"),
        State("send-unknown", "Nobody knows whether a send had effect.", "history", "a send that ended `info`"),
        State("late-landing", "A send that nobody knew of was read all the same.", "history", "a value polled whose send ended `info`"),
        State(
            "retry-answered", "A retry was answered as stored before.", "history", "an acknowledgement without an offset (acks 1 or all)"
        ),
        State(
            "client-replaced",
            "A client was closed after a fatal error and another took its place.",
            "history",
            "a process with two producers",
        ),
        State(
            "two-epochs-read",
            "A reader got messages of several leader epochs from one partition.",
            "history",
            "the epochs of polled messages",
        ),
        State("reader-jumped", "A reader went to an offset of its choice.", "history", "a `seek`"),
        State("time-looked-up", "An offset was looked up by time.", "history", "a `lookup` that was answered"),
        State("leader-struck", "A fault struck a leader because it led.", "faults", "a fault aimed at leaders"),
        State("controller-struck", "A fault struck the controller because it was that.", "faults", "a fault aimed at the controller"),
        State("faults-overlapped", "Two faults were at work at the same time.", "faults", "their times"),
    )
}

COLUMNS = (*OF_A_CALL, "producer", "topic", "part", "offset", "leader_epoch")
"""What `extract` needs of the rows."""

_MOST_CHANGES = 50
"""Changes of one partition's leader that are looked at."""
_MOST_PROCESSES = 1 << 24
"""Numbers of processes between which a table is made."""


def leader_changes(events: Sequence[Event]) -> dict[Place, list[int]]:
    """When a partition's leader changed, for `extract`; where only the node's own clock knows, it cannot be laid beside the history."""
    first: dict[Place, int] = {}
    times: dict[Place, list[tuple[int, int]]] = {}
    for event in events:
        if event.event == "leader-changed" and event.topic is not None and event.part is not None and event.epoch is not None:
            place = event.topic, event.part
            first[place] = min(first.get(place, event.epoch), event.epoch)
            if event.t is not None:
                times.setdefault(place, []).append((event.epoch, event.t))
    return {place: sorted(t for epoch, t in found if epoch > first[place])[:_MOST_CHANGES] for place, found in times.items()}


def extract(columns: Rows, changes: Mapping[Place, Sequence[int]]) -> Counter[str]:
    """How often the rows show each state that is seen in rows, but for late landings; those of several tasks add up. Hot path."""
    sends, polls = (columns["f"] == f for f in (Function.SEND, Function.POLL))
    ended = _endings(columns.calls)
    untold = np.flatnonzero(columns["offset"] == MISSING)
    epoch_known = polls & (columns["leader_epoch"] != MISSING)
    found = {
        "send-refused": ended[Function.SEND, Outcome.FAIL],
        "send-unknown": ended[Function.SEND, Outcome.INFO],
        "retry-answered": int((sends[untold] & (columns["outcome"][untold] == Outcome.OK)).sum()),
        "client-replaced": _replaced(columns.calls),
        "two-epochs-read": _several_epochs(columns, epoch_known),
        "epochs-known": int(epoch_known.sum()),
        "reader-jumped": ended[Function.SEEK, Outcome.OK],
        "time-looked-up": ended[Function.LOOKUP, Outcome.OK],
        "leader-changed-in-flight": _in_flight(columns, sends, changes),
    }
    return Counter({name: count for name, count in found.items() if count})


def late_landings(log: Log) -> Counter[str]:
    """The state that needs sends and polls of a value together, which a log has."""
    landed = int(((log.outcome == Outcome.INFO) & log.read_ok[: log.sent_count]).sum())
    return Counter({"late-landing": landed} if landed else {})


def assess(
    extracts: Iterable[Mapping[str, int]], events: Sequence[Event], faults: Sequence[Fault], acks: str, until: int | None = None
) -> dict[str, dict[str, Any]]:
    """For verdict.json: of every state what became of it, and how often where it was reached.

    `until`: when the load was over; what brokers tell while they are being shut down is no state of the run.
    """
    events = [event for event in events if until is None or event.t is None or event.t <= until]
    counts: Counter[str] = Counter()
    for each in extracts:
        counts.update(each)
    counts.update(_of_events(events))
    counts.update(_of_faults(faults))
    hidden = _hidden(events, counts, acks)
    found: dict[str, dict[str, Any]] = {}
    for name in STATES:
        reach: Reach = "not observable" if name in hidden else "reached" if counts[name] else "not reached"
        found[name] = {"state": reach} | ({"count": counts[name]} if reach == "reached" else {})
    return found


def _hidden(events: Sequence[Event], counts: Mapping[str, int], acks: str) -> set[str]:
    """What this history cannot show."""
    hidden = set()
    if all(event.event == STALLED for event in events):
        hidden |= {state.name for state in STATES.values() if state.source == "events"}
    if not any(event.event == "leader-changed" and event.t is not None for event in events):
        hidden.add("leader-changed-in-flight")
    if acks == "0":
        hidden.add("retry-answered")
    if not counts.get("epochs-known"):
        hidden.add("two-epochs-read")
    return hidden


def _of_events(events: Sequence[Event]) -> Counter[str]:
    found = Counter(event.event for event in events if event.event in STATES)
    found["leader-changed"] -= len({(event.topic, event.part) for event in events if event.event == "leader-changed"})
    found["controller-changed"] = max(len({event.epoch for event in events if event.event == "controller-changed"}) - 1, 0)
    found["isr-alone"] = sum(_isr_size(event) == 1 for event in events if event.event in ("isr-shrunk", "leader-changed"))
    found["unclean-election"] = unclean_elections(events) or 0
    return found


def _of_faults(faults: Sequence[Fault]) -> Counter[str]:
    struck = sorted((fault for fault in faults if fault.start is not None), key=lambda fault: fault.start or 0)
    found: Counter[str] = Counter()
    latest_end = -1
    for fault in struck:
        assert fault.start is not None
        found["leader-struck"] += fault.selector in ("leader", "leaders")
        found["controller-struck"] += fault.selector == "controller"
        found["faults-overlapped"] += fault.start < latest_end
        latest_end = max(latest_end, 2**63 if fault.end is None else fault.end)
    return found


def _isr_size(event: Event) -> int:
    return len(json.loads(event.detail or "{}").get("isr", ()))


def _endings(calls: Calls) -> Counter[tuple[int, int]]:
    """Rows by function and outcome."""
    outcomes = len(Outcome)
    rows = np.bincount(calls["f"].astype(np.int64) * outcomes + calls["outcome"], calls.lengths)
    return Counter({divmod(number, outcomes): int(count) for number, count in enumerate(rows.tolist())})


def _replaced(calls: Calls) -> int:
    """Processes of which not all sends have the producer of the last one."""
    sends = (calls["f"] == Function.SEND) & (calls["producer"] != MISSING)
    if not sends.any():
        return 0
    process, producer = calls["process"][sends], calls["producer"][sends]
    spread = int(process.max()) - int(process.min())
    process = process - process.min() if spread < _MOST_PROCESSES else np.unique(process, return_inverse=True)[1]
    last = np.empty(process.max() + 1, np.int64)
    last[process] = producer
    return len(np.unique(process[last[process] != producer]))


def _several_epochs(columns: Rows, polls: Mask) -> int:
    epochs = columns["leader_epoch"]
    if not len(epochs) or epochs.max() == MISSING or epochs.max() == epochs.view(np.uint64).min():  # as which MISSING is above all others
        return 0
    epochs = epochs[polls]
    if not len(epochs):
        return 0
    places = _places(columns)[polls]
    lowest, highest = np.full(places.max() + 1, np.iinfo(np.int64).max), np.full(places.max() + 1, -1)
    np.minimum.at(lowest, places, epochs)
    np.maximum.at(highest, places, epochs)
    return int((highest > lowest).sum())


def _in_flight(columns: Rows, sends: Mask, changes: Mapping[Place, Sequence[int]]) -> int:
    if not changes:
        return 0
    places, sends = _places(columns), sends & (columns["topic"] != MISSING)
    found = 0
    for place in np.unique(places[sends]):
        here = np.flatnonzero(sends & (places == place))
        times = changes.get((columns.names["topic"][columns["topic"][here[0]]], int(columns["part"][here[0]])), ())
        invoked, completed = columns["invoked"][here], columns["completed"][here]
        found += sum(bool(((invoked <= t) & ((completed > t) | (completed == MISSING))).any()) for t in times)
    return found


def _places(columns: Rows) -> Numbers:
    """A small number for each partition; rows without one have that of the first."""
    topic, part = (np.maximum(columns[name], 0) for name in ("topic", "part"))
    places: Numbers = topic * (part.max(initial=0) + 1) + part
    return places
