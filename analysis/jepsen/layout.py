"""One operation to rows of the history: micro-operations, what an assignment keeps and drops, what a rebalance took.

`assign` and `subscribe` replace what a process had. The history says so with a `forget` row for each partition dropped, and a process
forgets what it sent to or read as well, so what it has touched since is remembered here: as much as there are processes and their keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from analysis.jepsen.foreign import Malformed, Place, is_int, items_of, number_of, pairs_of, place_of, text_of
from analysis.jepsen.pairing import Paired
from harness.history.schema import Function, Kind, Outcome

_KINDS = {"send": Kind.SEND, "poll": Kind.POLL, "txn": Kind.TXN}
_ASSIGNING = {"assign": Kind.ASSIGN, "subscribe": Kind.SUBSCRIBE}
_WITHOUT_ROWS = frozenset({"debug-topic-partitions"})


class Row(NamedTuple):
    """What is not the same in all rows of an operation. `place` is None for a poll that returned nothing."""

    f: Function
    place: Place | None = None
    value: int | None = None
    offset: int | None = None


class LaidOut(NamedTuple):
    """`why` is what is wrong with it, `harmless` that nothing is missing by it."""

    kind: Kind
    rows: list[Row]
    why: str = ""
    harmless: bool = False


class Layout:
    def __init__(self) -> None:
        self._touched: dict[int, set[Place]] = {}

    def lay_out(self, op: Paired) -> LaidOut:
        if op.f in _KINDS:
            found = _micro_operations(op)
        elif op.f in _ASSIGNING:
            found = self._assignment(op)
        elif op.f == "crash":
            found = LaidOut(Kind.CRASH, [Row(Function.CRASH)])
        elif op.f in _WITHOUT_ROWS:
            found = LaidOut(Kind.CRASH, [])
        else:
            harmless = not (_has_micro_operations(op.sent) or _has_micro_operations(op.value))
            found = LaidOut(Kind.CRASH, [], f"`{op.f}` is unknown and left out", harmless)
        self._touch(op, found.rows)
        return found

    def _assignment(self, op: Paired) -> LaidOut:
        try:
            keep = list(dict.fromkeys(place_of(key) for key in items_of(op.value if op.value is not None else ())))
        except Malformed as problem:
            return LaidOut(_ASSIGNING[op.f], [], str(problem))
        dropped = sorted(self._touched.get(op.process, set()).difference(keep))
        rows = [Row(Function.KEEP, place) for place in keep] + [Row(Function.FORGET, place) for place in dropped]
        return LaidOut(_ASSIGNING[op.f], rows)

    def _touch(self, op: Paired, rows: list[Row]) -> None:
        if op.outcome is Outcome.INFO:
            self._touched.pop(op.process, None)  # it is never seen again
            return
        touched = self._touched.setdefault(op.process, set())
        if op.f in _ASSIGNING and op.outcome is Outcome.OK:
            touched.clear()
        touched.update(row.place for row in rows if row.place is not None and row.f is not Function.FORGET)


def _micro_operations(op: Paired) -> LaidOut:
    """What can be read of them, and the first that cannot."""
    rows: list[Row] = []
    why = ""
    try:
        for micro in items_of(op.value if op.value is not None else ()):
            try:
                rows.extend(_rows_of(op, items_of(micro)))
            except Malformed as problem:
                why = why or str(problem)
        rebalanced = dict.fromkeys(place_of(key) for key in op.rebalanced)
    except Malformed as problem:
        return LaidOut(_KINDS[op.f], rows, str(problem))
    rows.extend(Row(Function.REBALANCE, place) for place in rebalanced)
    nothing = [Row(Function.POLL)] if op.f != "send" else []
    return LaidOut(_KINDS[op.f], rows or nothing, why)


def _rows_of(op: Paired, micro: Any) -> Iterator[Row]:
    name = text_of(micro[0]) if micro else ""
    if name == "send" and len(micro) == 3 and op.f != "poll":
        yield _sent(micro[1], micro[2])
    elif name == "poll" and len(micro) <= 2 and op.f != "send":
        if len(micro) == 2 and micro[1] is not None:
            yield from _polled(micro[1])
    else:
        raise Malformed(f"has the micro-operation `{text_of(micro)[:60]}`, which is none of a `{op.f}`")


def _sent(key: Any, value: Any) -> Row:
    """The value, or [offset, value] once the offset is known."""
    if isinstance(value, list | tuple) and len(value) == 2 and (value[0] is None or is_int(value[0])):
        return Row(Function.SEND, place_of(key), number_of(value[1]), _offset(value[0]))
    return Row(Function.SEND, place_of(key), number_of(value))


def _polled(messages: Any) -> Iterator[Row]:
    for key, pairs in pairs_of(messages):
        place = place_of(key)
        if not pairs:
            yield Row(Function.POLL, place)
        for pair in items_of(pairs if pairs is not None else ()):
            if len(items_of(pair)) != 2 or pair[0] is None:
                raise Malformed(f"has the polled message `{text_of(pair)[:60]}`, which is not [offset, value]")
            yield Row(Function.POLL, place, number_of(pair[1]), _offset(pair[0]))


def _offset(offset: Any) -> int | None:
    if offset is None:
        return None
    if not is_int(offset) or not 0 <= offset < 2**63:
        raise Malformed(f"has the offset `{text_of(offset)[:60]}`, which is not from 0 to 2^63")
    return int(offset)


def _has_micro_operations(value: Any) -> bool:
    if not isinstance(value, list | tuple):
        return False
    return any(isinstance(one, list | tuple) and one and text_of(one[0]) in ("send", "poll") for one in value)
