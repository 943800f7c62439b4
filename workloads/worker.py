"""A worker process: `python -m workloads.worker --plan FILE --worker N`.

It begins to send and poll at once, in phase 0. Lines on standard input tell it what comes: `phase 1`, and `stop`, after which it sends
what is queued, closes its part of the history and ends; so it does when its input ends or on SIGTERM. Once a second it writes one line of
JSON: counts by outcome since the beginning. What a worker that was killed has recorded is in its segments (`harness.history.convert`).
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import TextIO

from confluent_kafka import KafkaException

from harness.history.errors import HistoryError
from harness.history.recorder import Recorder
from harness.history.schema import Phase
from harness.history.stalls import StallWatch
from workloads.load import Load, Targets
from workloads.log_workload import LogTargets
from workloads.ordered_workload import KeyTargets
from workloads.polling import Poller
from workloads.reading import Reader
from workloads.session import Session
from workloads.worker_plan import WorkerPlan, load_plan

STATUS_S = 1.0
LATE_S = 0.1
"""Polls give way to a load that is later than this: they share an interpreter, and when to send is the plan's to say."""


class Commands:
    """Lines from a file descriptor, waited for at most so long; its end is a `stop`."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._rest = b""
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    def wait(self, seconds: float) -> list[str]:
        if self._stopped:
            return ["stop"]
        if not select.select([self._source], [], [], max(0.0, seconds))[0]:
            return []
        got = os.read(self._source, 4096)
        *lines, self._rest = (self._rest + got).split(b"\n")
        return [line.decode(errors="replace").strip() for line in lines] + ([] if got else ["stop"])


class Worker:
    """Threads: one sends, one a poller, one a client instance for its delivery reports; the caller's obeys and reports."""

    def __init__(self, session: Session, output: TextIO) -> None:
        plan = session.plan
        self._session, self._output = session, output
        self._targets: Targets = (LogTargets if plan.kind == "log" else KeyTargets)(plan, session.worker)
        self._load = Load(session, self._targets)
        self._pollers = [self._new_poller(number) for number in range(plan.pollers)]
        self._over = Event()
        self._failures: list[BaseException] = []
        self._next_status = time.monotonic() + STATUS_S

    def run(self, commands: Commands) -> None:
        """Until told to stop; every send has ended when this returns."""
        duties = [self._send, *(self._polling(poller) for poller in self._pollers)]
        threads = [Thread(target=self._guarded, args=(duty,), daemon=True) for duty in duties]
        for thread in threads:
            thread.start()
        self._status("running")
        while not self._over.is_set():
            for line in commands.wait(self._next_status - time.monotonic()):
                self._guarded(partial(self._obey, line))
            self._status_if_due("running")
        for thread in threads:
            while thread.is_alive():
                thread.join(max(0.01, self._next_status - time.monotonic()))
                self._status_if_due("stopping")
        if self._failures:
            raise self._failures[0]

    def report_end(self) -> None:
        self._status("ended")

    def _obey(self, line: str) -> None:
        word, _, number = line.partition(" ")
        if word == "phase" and number.isdigit():
            self._session.recorder.phase = Phase(int(number))
        elif word == "stop":
            self._over.set()
        elif line:
            raise ValueError(f"there is no command `{line}`; there are `phase N` and `stop`")

    def _send(self) -> None:
        self._load.run(self._over)

    def _polling(self, poller: Poller) -> Callable[[], None]:
        def run() -> None:
            while not self._over.is_set():
                if self._load.behind_ns > LATE_S * 1e9:
                    self._over.wait(LATE_S)
                poller.step()
            poller.reader.close()

        return run

    def _guarded(self, duty: Callable[[], None]) -> None:
        try:
            duty()
        except BaseException as failure:
            self._failures.append(failure)
            self._over.set()

    def _new_poller(self, number: int) -> Poller:
        rng = self._session.plan.random("poller", self._session.worker, number)
        return Poller(self._session, Reader(self._session), self._targets.readable, rng)

    def _status_if_due(self, state: str) -> None:
        if time.monotonic() >= self._next_status:
            self._status(state)
            self._next_status = max(self._next_status + STATUS_S, time.monotonic())

    def _status(self, state: str) -> None:
        polls: Counter[str] = Counter()
        for poller in self._pollers:
            polls.update(poller.reader.polls)
        line = {
            "worker": self._session.worker,
            "state": state,
            "t": self._session.now(),
            "phase": int(self._session.recorder.phase),
            "sends": self._load.counts(),
            "polls": dict(polls),
            "messages": sum(poller.reader.messages for poller in self._pollers),
            "behind_ms": self._load.behind_ns // 1_000_000,
            "memory_kb": memory_kb(),
        }
        print(json.dumps(line), file=self._output, flush=True)


def memory_kb() -> int:
    """Of this process alone: what is mapped from files, as the history's segments are, does not count."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def run_worker(plan: WorkerPlan, number: int, commands: Commands, output: TextIO) -> None:
    with Recorder(Path(plan.run), number, buckets=plan.buckets) as recorder:
        worker = drive(plan, number, recorder, commands, output)
    worker.report_end()


def drive(plan: WorkerPlan, number: int, recorder: Recorder, commands: Commands, output: TextIO) -> Worker:
    """Until told to stop; the recorder is the caller's to close."""
    session = Session(plan, number, recorder)
    with StallWatch(Path(plan.run), f"worker-{number}", session.now):
        worker = Worker(session, output)
        worker.run(commands)
    return worker


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workloads.worker", description="Send and poll as a plan says, and record it.")
    parser.add_argument("--plan", type=Path, required=True, help="JSON file of the plan")
    parser.add_argument("--worker", type=int, required=True, help="number of this worker, used once in a run")
    given = parser.parse_args(arguments)
    commands = Commands(sys.stdin.fileno())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: commands.stop())
    try:
        run_worker(load_plan(given.plan), given.worker, commands, sys.stdout)
    except (KafkaException, HistoryError, OSError, ValueError) as problem:
        print(f"worker {given.worker}: {problem}", file=sys.stderr)
        return 255
    return 0


if __name__ == "__main__":
    sys.exit(main())
