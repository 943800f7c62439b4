"""Locust as a process: in a session of its own, so that a Ctrl-C in the terminal reaches us alone and it ends in order, files written.

Nothing of ours imports it: gevent would patch our sockets and threads. It ends with us, however we end.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness.errors import EnvironmentFault
from harness.nodes.tied import tied_to_this_process

LOG = "locust.log"
_ROOT = Path(__file__).resolve().parents[3]
_AFTER_END_S = 60.0


class LocustProcess:
    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self._log = folder / LOG
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                tied_to_this_process(command), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=_ROOT, start_new_session=True
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait(self, seconds: float | None) -> None:
        """Until it has ended by itself, with its results written. EnvironmentFault tells its last words where it failed."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.end()
            raise EnvironmentFault(f"locust did not end within {seconds:.0f} s; see {self._log}") from None
        if code != 0:
            raise EnvironmentFault(f"locust ended with {code}: {self._last_words()} (all of it: {self._log})")

    def end(self) -> None:
        """Let it stop its users and write its files; killed where it does not within a minute. Does nothing after its end."""
        if self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_AFTER_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _last_words(self) -> str:
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return lines[-1] if lines else "without a word"
