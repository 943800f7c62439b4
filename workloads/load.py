"""The sends of a worker: which client makes the next one, and when.

Open loop: as the rate says, whatever the cluster does; a client whose queue is full refuses, and that is recorded. Closed loop: as
fast as it goes, with a bounded number of messages under way in each client.

Many logical senders share a bounded number of client instances. An instance that met a fatal error is replaced once it is flushed and
closed; until then the others carry the load, or the load waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import cycle
from threading import Event
from typing import Protocol

from workloads.pace import Pace
from workloads.rotation import Place
from workloads.sending import SendingClient
from workloads.session import Session

_SHORT_S = 0.001
_LONG_S = 0.05


class Targets(Protocol):
    """What is sent, and what is worth reading."""

    def next(self, instance: int) -> tuple[Place, int | None]:
        """Partition and record key of the next send of an instance."""
        ...

    def readable(self) -> tuple[Place, ...]:
        """Called by other threads than `next`."""
        ...


class Load:
    """All sending clients of a worker, driven by one thread."""

    def __init__(self, session: Session, targets: Targets, make: Callable[[], SendingClient] | None = None) -> None:
        self._session, self._targets = session, targets
        self._make = make or (lambda: SendingClient(session))
        instances = session.plan.instances
        processes = [next(session.processes) for _ in range(session.plan.senders)]
        self._processes = [cycle(processes[instance::instances]) for instance in range(instances)]
        self._clients = [self._make() for _ in range(instances)]
        self._replaced: Counter[str] = Counter()
        self._turn = 0
        self.behind_ns = 0
        """How late the next send of the open loop is."""

    def run(self, over: Event) -> None:
        """Until told that it is over, then flush; every send has ended when this returns."""
        plan = self._session.plan
        try:
            if plan.rate:
                share = plan.rate / plan.workers
                self._run_open(Pace(share, self._session.now(), self._session.worker % plan.workers / plan.workers), over)
            else:
                self._run_closed(over)
        finally:
            for client in self._clients:
                client.stop()
        for client in self._clients:
            client.join()

    def counts(self) -> dict[str, int]:
        """By outcome; `open` are under way."""
        total = Counter(self._replaced)
        for client in tuple(self._clients):
            total.update(_counts(client))
        return {name: total[name] for name in ("sent", "ok", "fail", "info", "open")}

    def _run_open(self, pace: Pace, over: Event) -> None:
        while not over.is_set():
            now = self._session.now()
            self.behind_ns = max(0, now - pace.due)
            if pace.due > now:
                over.wait(min(_LONG_S, max(_SHORT_S, (pace.due - now) / 1e9)))
            elif (instance := self._next_usable()) is None:
                over.wait(_LONG_S)
            else:
                self._send(instance, pace.take(now))

    def _run_closed(self, over: Event) -> None:
        window = self._session.plan.clients.window
        waited = 0
        while not over.is_set():
            instance = self._next_usable()
            if instance is not None and self._clients[instance].outstanding < window:
                self._send(instance, None)
                waited = 0
            elif (waited := waited + 1) >= len(self._clients):
                over.wait(_SHORT_S)

    def _send(self, instance: int, intended: int | None) -> None:
        place, key = self._targets.next(instance)
        self._clients[instance].send(next(self._processes[instance]), place, key, intended)

    def _next_usable(self) -> int | None:
        """In turn; replaces on its way what has ended."""
        for _ in self._clients:
            self._turn = (self._turn + 1) % len(self._clients)
            client = self._clients[self._turn]
            if client.usable:
                return self._turn
            if client.ended:
                client.check()
                self._replaced.update(_counts(client))
                self._clients[self._turn] = self._make()
                return self._turn
        return None


def _counts(client: SendingClient) -> dict[str, int]:
    fail = client.failed + client.refused
    counted = {"ok": client.acknowledged, "fail": fail, "info": client.unknown}
    sent = client.sent
    return {"sent": sent, **counted, "open": max(0, sent - sum(counted.values()))}
