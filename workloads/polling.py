"""A reader with a will of its own: what the polling clients of a run do, step by step, out of one seed.

Mostly it polls. About one step in 64 is an assign, and a third of those keep what has not been read to its end; now and then it
seeks to an offset that is known to exist, or looks one up by time. Who only follows the end sees nothing of what recovery did to the past.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from workloads.reading import Reader
from workloads.rotation import Place
from workloads.session import Session

ASSIGN = 1 / 64
SEEK = 1 / 48
LOOKUP = 1 / 48
UNREAD_STAY = 1 / 3
PARTITIONS = 4
MAX_PARTITIONS = 16
MOST = 1000
TIMEOUT_S = 0.1


class Poller:
    """Invariant: what is sought or looked up is assigned and was polled before."""

    def __init__(self, session: Session, reader: Reader, readable: Callable[[], tuple[Place, ...]], rng: random.Random) -> None:
        self._session, self.reader, self._readable, self._random = session, reader, readable, rng
        self._times: dict[Place, tuple[int, int]] = {}
        self._nowhere: set[Place] = set()

    def step(self) -> None:
        """One operation."""
        draw = self._random.random()
        if self._nowhere or not self.reader.position or draw < ASSIGN:
            self._assign()
        elif draw < ASSIGN + SEEK:
            self._seek()
        elif draw < ASSIGN + SEEK + LOOKUP:
            self._look_up()
        else:
            self._poll()

    def _assign(self) -> None:
        readable = self._readable()
        chosen = set(self._random.sample(readable, min(PARTITIONS, len(readable))))
        if self._random.random() < UNREAD_STAY:
            unread = [place for place, at in self.reader.position.items() if at <= self._session.known.get(place, -1)]
            chosen.update(unread[: MAX_PARTITIONS - len(chosen)])
        elsewhere = chosen - self._nowhere or chosen
        if lost := elsewhere & self._nowhere:
            self.reader.assign({place: 0 for place in self.reader.position if place not in lost})
        self._nowhere = set()
        self.reader.assign({place: self._beginning(place) for place in sorted(elsewhere)})

    def _poll(self) -> None:
        result = self.reader.poll(MOST, TIMEOUT_S)
        self._nowhere = result.nowhere
        for topic, part, _, _, _, timestamp, *_ in result.messages:
            if timestamp is not None:
                first, last = self._times.get((topic, part), (timestamp, timestamp))
                self._times[topic, part] = min(first, timestamp), max(last, timestamp)

    def _seek(self) -> None:
        if places := [place for place in self.reader.position if place in self._session.known and place in self._times]:
            place = self._random.choice(places)
            self.reader.seek(place, self._random.randint(0, self._session.known[place]))
        else:
            self._poll()

    def _look_up(self) -> None:
        if places := [place for place in self.reader.position if place in self._times]:
            place = self._random.choice(places)
            self.reader.lookup(place, self._random.randint(*self._times[place]))
        else:
            self._poll()

    def _beginning(self, place: Place) -> int:
        """The start as often as anywhere else. The log's own start is not asked for: retention is off in runs."""
        return self._random.choice((0, self._random.randint(0, max(0, self._session.known.get(place, 0)))))
