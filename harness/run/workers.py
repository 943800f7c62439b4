"""The workers of a run, as processes on the clients' node: started, told what comes, listened to, ended.

Each has a pipe as its standard input, through which it is told, and writes a line of counts a second, of which the last is looked at. One
that ends before it was told to is a finding about us, not about the broker.
"""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.nodes import Process
from harness.run.client_node import ClientNode
from workloads.worker_plan import WorkerPlan

PLAN = "worker-plan.json"
_LAST_BYTES = 2000
_AFTER_FLUSH = 60.0


@dataclass(frozen=True, slots=True)
class LoadCounts:
    """Of all workers together, since they began. `behind`: seconds the load is late."""

    sends: Counter[str] = field(default_factory=Counter)
    polls: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    behind: float = 0.0


class Workers:
    """Invariant: `_processes` has every worker that was started, by number."""

    def __init__(self, client: ClientNode, plan: WorkerPlan, work: Path) -> None:
        self._client, self._plan = client, plan
        self._processes: dict[int, Process] = {}
        plan.save(work / PLAN)
        client.node.put(PLAN, work / PLAN)

    @property
    def logs(self) -> list[str]:
        return [PLAN, *(f"worker-{number}.{kind}" for number in range(self._plan.workers) for kind in ("out", "err"))]

    def start(self) -> None:
        for number in range(self._plan.workers):
            arguments = ["--plan", PLAN, "--worker", str(number)]
            self._processes[number] = self._client.start_module(
                "workloads.worker", arguments, out=f"worker-{number}.out", err=f"worker-{number}.err", commands=f"worker-{number}.in"
            )

    def tell(self, line: str) -> None:
        """All that live."""
        for number in self._living():
            script = 'echo "$1" 1<>"$0"'
            self._client.node.run(["sh", "-c", script, f"worker-{number}.in", line]).require(f"telling worker {number} `{line}`")

    def counts(self) -> LoadCounts:
        sends: Counter[str] = Counter()
        polls: Counter[str] = Counter()
        messages, behind = 0, 0.0
        for status in self._statuses():
            sends.update(status["sends"])
            polls.update(status["polls"])
            messages += status["messages"]
            behind = max(behind, status["behind_ms"] / 1000)
        return LoadCounts(sends, polls, messages, behind)

    def ended(self) -> dict[int, str]:
        """Workers that have ended, and their last words."""
        return {number: self._last_words(number) for number in self._processes if number not in self._living()}

    def stop(self) -> dict[int, str]:
        """Let them send what is queued and end. What those said that did not end well; these are gone, too, when this returns."""
        flush = self._plan.clients.delivery_timeout_ms / 1000
        self.tell("stop")
        return self._await_end(time.monotonic() + flush + _AFTER_FLUSH)

    def kill(self) -> None:
        for number in self._living():
            self._client.node.signal(self._processes[number], signal.SIGKILL)
            self._client.node.wait(self._processes[number], _AFTER_FLUSH)

    def _await_end(self, deadline: float) -> dict[int, str]:
        wrong: dict[int, str] = {}
        for number, process in self._processes.items():
            code = self._client.node.wait(process, max(deadline - time.monotonic(), 0.001))
            if code is None:
                wrong[number] = "did not end when told to, and was killed"
            elif code != 0:
                wrong[number] = f"ended with {code}: {self._last_words(number)}"
        self.kill()
        return wrong

    def _living(self) -> list[int]:
        return [number for number, process in self._processes.items() if self._client.node.alive(process)]

    def _statuses(self) -> list[dict[str, Any]]:
        files = [f"worker-{number}.out" for number in self._processes]
        said = self._client.node.run(["tail", "-q", "-c", str(_LAST_BYTES), *files]).out.decode(errors="replace")
        return list(_last_of_each(said.splitlines()).values())

    def _last_words(self, number: int) -> str:
        try:
            lines = self._client.node.get(f"worker-{number}.err").decode(errors="replace").strip().splitlines()
        except FileNotFoundError:
            lines = []
        return lines[-1] if lines else "without a word"


def _last_of_each(lines: Sequence[str]) -> dict[int, dict[str, Any]]:
    """The last whole line of each worker: a first one may be cut off, a last one may be half written."""
    found = {}
    for line in lines:
        try:
            status = json.loads(line)
            found[status["worker"]] = status
        except (ValueError, KeyError, TypeError):
            continue
    return found
