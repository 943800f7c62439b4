"""One broker of a local cluster: its directory, its process, its words.

The process may have been started by us, by an earlier command or by another terminal; only in the first case is its exit code known.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness.nodes.tied import tied_to_this_process
from harness.systems.cluster_plan import NodePlan
from harness.systems.health import Health, ask_health
from harness.systems.process import ProcessName

ROOT = Path(__file__).resolve().parents[2]


class LocalNode:
    """Invariant: `process` names the process last started for this node, or nothing after it was seen to have been stopped."""

    def __init__(self, plan: NodePlan, home: Path, process: ProcessName | None) -> None:
        self.plan = plan
        self.process = process
        self.settings_path = home / "broker.toml"
        self.log_path = home / "broker.log"
        self.data_path = home / "data"
        self._child: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    def start(self, broker: Sequence[str], *, detached: bool) -> None:
        """In a session of its own, so that a Ctrl-C in the terminal reaches us alone and we decide how it stops."""
        assert not self.alive()
        command = [*broker, "--config", str(self.settings_path)]
        with open(self.log_path, "ab") as log:
            self._log_start = log.tell()
            self._child = subprocess.Popen(
                command if detached else tied_to_this_process(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                start_new_session=True,
            )
        self.process = ProcessName.of(self._child.pid)

    def alive(self) -> bool:
        self.exit_code()
        return self.process is not None and self.process.alive()

    def exit_code(self) -> int | None:
        """Of a broker this very process started and that has ended; negative: the signal that ended it."""
        return self._child.poll() if self._child else None

    def health(self) -> Health | None:
        return ask_health(self.plan.http_port)

    def signal(self, number: signal.Signals) -> None:
        if self.process:
            self.process.send(number)

    def ended(self, timeout: float) -> bool:
        """Whether it has ended, after at most so many seconds."""
        ended = self.process is None or self.process.wait(max(timeout, 0.0))
        self.exit_code()
        return ended

    def last_words(self) -> str:
        """The last line written since the last start."""
        with open(self.log_path, "rb") as log:
            log.seek(self._log_start)
            lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
        return lines[-1] if lines else f"without a word, exit code {self.exit_code()}"
