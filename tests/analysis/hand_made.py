"""A partition's history written by hand: a row a call, times in seconds, everything else as plain as a case needs it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from analysis import families
from analysis.context import Context, FinalRead
from analysis.findings import Finding, merge
from analysis.log import Log
from analysis.partition import MISSING, Partition
from harness.history.schema import FIXED_WORDS, ROWS, Function, Kind, Outcome, Phase

OK, FAIL, INFO = Outcome
ERRORS = ["corrupt", "misplaced"]
READ_TO_THE_END = Context(final=FinalRead(True, 0, 100, 99, 9_000_000_000))


class Hand:
    """Operations count up from 1 unless one is named; an operation at n is invoked in second n and takes half of one."""

    def __init__(self, topic: str = "t", part: int = 0) -> None:
        self.topic, self.part = topic, part
        self._rows: list[dict[str, int | None]] = []
        self._op = 0

    def send(self, value, offset=None, outcome=OK, *, process=1, producer=1, key=None, op=None, kind=Kind.SEND, **more):
        return self.row(Function.SEND, kind, outcome, op, process=process, producer=producer, key=key, value=value, offset=offset, **more)

    def poll(self, *messages, outcome=OK, process=2, op=None, kind=Kind.POLL, phase=Phase.RUN, **more):
        """`messages` are (offset, value) or (offset, None, error)."""
        op = self._next(op)
        for offset, value, *error in messages:
            number = ERRORS.index(error[0]) if error else None
            self.row(Function.POLL, kind, outcome, op, process=process, offset=offset, value=value, error=number, phase=phase, **more)
        return op

    def final(self, *messages, process=9, **more):
        return self.poll(*messages, process=process, phase=Phase.FINAL, **more)

    def row(
        self, f, kind, outcome=OK, op=None, *, at=None, completed: float | None = MISSING, process=1, micro=None, phase=Phase.RUN, **more
    ):
        op = self._next(op)
        at = op if at is None else at
        over = at + 0.5 if completed == MISSING else completed
        own = [row for row in self._rows if row["op"] == op]
        self._rows.append(
            {name: None for name in ROWS.names}
            | {"op": op, "micro": len(own) if micro is None else micro, "f": f, "kind": kind, "outcome": outcome, "process": process}
            | {"phase": phase, "invoked": round(at * 1e9), "completed": None if over is None else round(over * 1e9)}
            | {"topic": 0, "part": self.part}
            | more
        )
        return op

    def partition(self) -> Partition:
        rows = sorted(self._rows, key=lambda row: (row["op"], row["micro"]))
        columns = {name: np.array([MISSING if row[name] is None else row[name] for row in rows], np.int64) for name in ROWS.names}
        return Partition(self.topic, self.part, columns, FIXED_WORDS | {"topic": [self.topic], "error": ERRORS, "group": []})

    def log(self, context: Context = Context()) -> Log:  # noqa: B008
        return Log(self.partition(), context)

    def find(self, context: Context = Context(), names: Collection[str] = families.ALL) -> dict[str, Finding]:  # noqa: B008
        return merge(families.find(self.partition(), context, names))

    def _next(self, op: int | None) -> int:
        self._op = self._op + 1 if op is None else max(op, self._op)
        return self._op if op is None else op


def identities(found: dict[str, Finding], name: str) -> list[tuple[int, ...]]:
    """Of the witnesses, all of them where there are few."""
    return [witness.identity for witness in found[name].witnesses] if name in found else []


def sentence(found: dict[str, Finding], name: str) -> str:
    """Of the only witness."""
    (witness,) = found[name].witnesses
    return witness.sentence


def names(found: dict[str, Finding], among: Sequence[str]) -> set[str]:
    return found.keys() & set(among)
