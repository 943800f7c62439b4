"""Clock: a broker's wall clock that is wrong, while its monotonic clock is not touched.

The clock is put off through a file that the broker's own clock library reads about once a second; the proof is what the broker itself
says on its health page, next to its node's true clock. A question takes time, so an answer is an interval: the clock is as far off as
was meant if the interval holds that, and off at all only if it does not hold zero. Drift is made of small steps, because a running rate
does not heal. A strike is not over before it was seen: on a machine that is slow to answer it lasts a little longer than planned, and
what took place is what faults.parquet says.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from harness.systems.system import ClockError
from nemesis.fault import PROOF_TIMEOUT, Evidence, Fault, Strike, until
from nemesis.world import Holds

_SLACK = 0.0015


class Clock(Fault):
    """What all variants have in common: being read, and being put right."""

    def heal(self) -> None:
        for node in self.targets:
            self.world.clocks.release(node, self.strike.id)

    def prove_healed(self) -> Evidence:
        read: dict[str, ClockError] = {}
        ok = until(lambda: self._show(0.0, read) or bool(self.in_the_way()), PROOF_TIMEOUT)
        right = ok and all(node in read and _is(read[node], 0.0) for node in self.targets)
        return Evidence(right, _facts(read), self.covering())

    @property
    def _offset(self) -> float:
        return float(self.strike.planned.parameters["offset"])

    def _put_off(self, offset: float) -> None:
        for node in self.targets:
            self.world.clocks.put_off(node, self.strike.id, offset)

    def _see(self, offset: float) -> tuple[bool, dict[str, ClockError]]:
        """Look until every target's clock is off by this; past the strike's end only while no other fault stands between."""
        read: dict[str, ClockError] = {}
        until(lambda: self._show(offset, read) or self._hopeless(), self.strike.left() + PROOF_TIMEOUT, self.strike.cancelled)
        return self._is_shown(offset, read), read

    def _hopeless(self) -> bool:
        return self.strike.left() <= 0 and bool(self.in_the_way())

    def _show(self, offset: float, read: dict[str, ClockError]) -> bool:
        """Whether every target's clock is off by this; what was read last is left in `read`."""
        doubtful = [node for node in self.targets if node not in read or not _is(read[node], offset)]
        with ThreadPoolExecutor(len(self.targets)) as pool:
            answers = dict(zip(doubtful, pool.map(self.world.system.clock_error, doubtful), strict=True))
        for node, error in answers.items():
            if error is None:
                read.pop(node, None)
            else:
                read[node] = error
        return self._is_shown(offset, read)

    def _is_shown(self, offset: float, read: Mapping[str, ClockError]) -> bool:
        return all(node in read and _is(read[node], offset) for node in self.targets)

    @property
    def holds(self) -> tuple[Holds, ...]:
        """Other faults may put these clocks off themselves."""
        return *super().holds, self.world.clocks.wished


class Bump(Clock):
    def apply(self) -> None:
        self._put_off(self._offset)

    def prove(self) -> Evidence:
        """May wait until the strike ends, for a broker that another fault has silenced to speak again."""
        ok, read = self._see(self._offset)
        return Evidence(ok, {"offset": self._offset} | _facts(read), self.covering())


class Reset(Clock):
    def apply(self) -> None:
        for node in self.targets:
            self.world.clocks.reset(node)

    def prove(self) -> Evidence:
        ok, read = self._see(0.0)
        return Evidence(ok, _facts(read), self.covering())


class _Moving(Clock):
    """A clock that goes on moving while it is proven."""

    @property
    @abstractmethod
    def shown(self) -> bool:
        """Whether all was seen that was to be seen."""

    @abstractmethod
    def move(self) -> tuple[bool, dict[str, object]]:
        """Until the strike ends; whether all was seen that was to be seen, and what it was."""

    def goes_on(self, seconds: float) -> bool:
        """Wait so long; whether the strike is still on: until its end, or until it was seen."""
        if self.strike.wait(seconds):
            return True
        if self.shown or self.in_the_way() or time.monotonic() > self.strike.ends + PROOF_TIMEOUT:
            return False
        return not self.strike.cancelled.wait(seconds)

    def prove(self) -> Evidence:
        ok, facts = self.move()
        return Evidence(ok, facts, self.covering())


class Strobe(_Moving):
    def __init__(self, strike: Strike) -> None:
        super().__init__(strike)
        self._seen: dict[str, dict[str, object]] = {"away": {}, "back": {}}

    @property
    def shown(self) -> bool:
        """Seen away and seen back, once at least."""
        return bool(self._seen["away"] and self._seen["back"])

    def apply(self) -> None:
        self._put_off(self._offset)

    def move(self) -> tuple[bool, dict[str, object]]:
        period = float(self.strike.planned.parameters["period"])
        jumps, away = 1, True
        while True:
            next_jump = time.monotonic() + period
            read: dict[str, ClockError] = {}
            offset = self._offset if away else 0.0
            if until(partial(self._show, offset, read), min(period, self.strike.left()) or period, self.strike.cancelled):
                self._seen["away" if away else "back"] = _facts(read)
            if not self.goes_on(max(next_jump - time.monotonic(), 0.0)):
                return self.shown, {"offset": self._offset, "jumps": jumps, **self._seen}
            away, jumps = not away, jumps + 1
            self._put_off(self._offset if away else 0.0)


class Drift(_Moving):
    def __init__(self, strike: Strike) -> None:
        super().__init__(strike)
        self._first: dict[str, ClockError] = {}
        self._last: dict[str, ClockError] = {}
        self._rate = float(strike.planned.parameters["rate"])

    @property
    def shown(self) -> bool:
        """Each clock was seen at one place, and later further off in the direction meant."""
        return all(node in self._last and _further(self._first[node], self._last[node], self._rate) for node in self.targets)

    def apply(self) -> None:
        self._put_off(0.0)

    def move(self) -> tuple[bool, dict[str, object]]:
        began, offset = time.monotonic(), 0.0
        self._first = self._read()
        while self.goes_on(float(self.strike.planned.parameters["step"])):
            offset = self._rate * (time.monotonic() - began)
            self._put_off(offset)
            read = self._read()
            self._first, self._last = {**read, **self._first}, {**self._last, **read}
        facts = {"rate": self._rate, "offset": round(offset, 6), "first": _facts(self._first), "last": _facts(self._last)}
        return self.shown, facts

    def _read(self) -> dict[str, ClockError]:
        answers = {node: self.world.system.clock_error(node) for node in self.targets}
        return {node: answer for node, answer in answers.items() if answer is not None}


def _is(error: ClockError, offset: float) -> bool:
    """As far off as this; and if this is off at all, surely not right."""
    near = ClockError(error.least - _SLACK, error.most + _SLACK).admits(offset)
    return near and (offset == 0.0 or not error.admits(0.0))


def _further(first: ClockError, last: ClockError, rate: float) -> bool:
    return first.most < last.least if rate > 0 else last.most < first.least


def _facts(read: Mapping[str, ClockError]) -> dict[str, object]:
    return {node: [round(error.least, 6), round(error.most, 6)] for node, error in sorted(read.items())}
