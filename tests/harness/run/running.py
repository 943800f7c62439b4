"""`./highwater run` as a process, the smallest load that shows something, and eyes for what a run leaves on the machine."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MINUTE = 60.0

_LOAD = "--topics 2 --partitions 2 --rate 300 --workers 2 --senders 2 --pollers 1 --live-partitions 3 --writes-per-partition 1000"
SMALL = [*_LOAD.split(), *["--warm-up", "1", "--recovery", "100", "--seed", "7"]]
UNCHECKED = [*SMALL, "--no-check"]


class RunProcess:
    """A run in a process of its own, its words taken line by line."""

    def __init__(self, results: Path, *arguments: str, command: Sequence[str] = ("run",)) -> None:
        program = [sys.executable, "-m", "harness.cli", *command, *arguments, "--results", str(results)]
        self.results, self.arguments = results, arguments
        self.process = subprocess.Popen(
            program, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        self.said: list[str] = []
        self._ended = False

    def until(self, words: str) -> None:
        """Until a line has these words, if none had before; a process that ended instead is shown."""
        if words in self.text:
            return
        assert self.process.stdout
        for line in self.process.stdout:
            self.said.append(line)
            if words in line:
                return
        raise AssertionError(f"it ended without `{words}`: {''.join(self.said)}")

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self, patience: float = 4 * MINUTE) -> int:
        if not self._ended:
            self._ended = True
            self.said.append(self.process.communicate(timeout=patience)[0])
        return self.process.returncode

    def __enter__(self) -> "RunProcess":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    @property
    def text(self) -> str:
        return "".join(self.said)

    @property
    def folder(self) -> Path:
        return (self.results / "latest").resolve()


def processes_in(folder: Path) -> list[str]:
    """Every process that works in a folder or names it in its command line, but ours and the harness's own."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            place = os.readlink(f"/proc/{entry}/cwd")
        except OSError:
            continue
        if words and "harness.cli" not in words and int(entry) != os.getpid() and (str(folder) in words or place.startswith(str(folder))):
            found.append(f"{entry}: {words}")
    return found


def mounts_in(folder: Path) -> list[str]:
    return [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(folder) in line]


def eventually(holds: Callable[[], bool]) -> None:
    """Within a minute."""
    deadline = time.monotonic() + MINUTE
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.1)
