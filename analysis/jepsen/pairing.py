"""Invocations and completions to operations, by process: a process does one thing at a time.

What is illegal is told and still used as far as it goes: a completion that nothing invoked, an invocation while another is open,
an end before its beginning. What is open when the file ends has ended `info`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from analysis.jepsen.foreign import ForeignOp
from analysis.jepsen.sources import Line
from harness.history.schema import Outcome

_OUTCOMES = {"ok": Outcome.OK, "fail": Outcome.FAIL, "info": Outcome.INFO}


@dataclass(frozen=True, slots=True)
class Paired:
    """`number`: the place of its invocation among all operations of the file. `sent` is the value as invoked, `value` as completed."""

    number: int
    line: int
    process: int
    f: str
    outcome: Outcome
    invoked: int
    completed: int | None
    sent: Any
    value: Any
    error: str | None = None
    rebalanced: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Illegal:
    line: int
    why: str


@dataclass(frozen=True, slots=True)
class _Open:
    """One line: an invocation, mostly."""

    number: int
    line: int
    time: int
    op: ForeignOp


class Pairing:
    """`_open`: process -> what it is doing. It holds no more than there are processes."""

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}

    def take(self, line: Line) -> Iterator[Paired | Illegal]:
        """What is complete by this line."""
        op = line.op
        if op is None:
            yield Illegal(line.number, line.why)
        elif op.process is None:
            return
        elif op.type == "invoke":
            if (open_one := self._open.get(op.process)) is not None:
                yield Illegal(line.number, f"process {op.process} begins before its operation of line {open_one.line} has ended")
                yield _unfinished(op.process, open_one)
            self._open[op.process] = _Open(line.position, line.number, line.time, op)
        elif op.type in _OUTCOMES:
            yield from self._complete(_Open(line.position, line.number, line.time, op), op.process)
        else:
            yield Illegal(line.number, f"has the type `{op.type}`; there is: invoke, {', '.join(_OUTCOMES)}")

    def rest(self) -> Iterator[Paired]:
        """What never ended."""
        for process, open_one in sorted(self._open.items(), key=lambda item: item[1].number):
            yield _unfinished(process, open_one)

    def _complete(self, completion: _Open, process: int) -> Iterator[Paired | Illegal]:
        line, time, op = completion.line, completion.time, completion.op
        invocation = self._open.pop(process, None)
        if invocation is None:
            yield Illegal(line, f"process {process} completes `{op.f}` that nothing invoked")
            invocation = completion
        elif invocation.op.f != op.f:
            yield Illegal(line, f"process {process} completes `{op.f}`, but it had invoked `{invocation.op.f}` in line {invocation.line}")
        if time < invocation.time:
            yield Illegal(line, f"process {process} completes {invocation.time - time} ns before it began in line {invocation.line}")
        yield Paired(
            invocation.number,
            line,
            process,
            op.f,
            _OUTCOMES[op.type],
            invocation.time,
            max(time, invocation.time),
            invocation.op.value,
            invocation.op.value if op.value is None else op.value,
            op.error,
            op.rebalanced,
        )


def _unfinished(process: int, one: _Open) -> Paired:
    return Paired(one.number, one.line, process, one.op.f, Outcome.INFO, one.time, None, one.op.value, one.op.value, None)
