"""One night: run after run within the budget, each in a process of its own, its results written down before the next begins.

A run that fails, cannot tell or breaks does not end the night. What failed is kept whole; of what passed only the verdict, the plan and
the report are, because histories are large and nobody looks at them again.
"""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.nightly.agenda import Agenda, Planned
from harness.nightly.index import index_page
from harness.nightly.junit import junit
from harness.nightly.ledger import Entry, Ledger, outcome_of
from harness.nightly.summary import markdown

RESULTS_LINE = "results: "
_ROOT = Path(__file__).resolve().parents[2]
_KEPT_OF_PASSED = {"plan.json", "verdict.json", "report.html"}
_RUN_LIMIT_S = 3600.0

Execute = Callable[[list[str]], "Ended"]


@dataclass(frozen=True, slots=True)
class Ended:
    """A process of ours: `said` is its standard output, `complained` its last words on standard error."""

    code: int
    said: str
    complained: str


class Night:
    """`folder` keeps the ledger and what is made from it, `results` the runs."""

    def __init__(self, name: str, folder: Path, results: Path, agenda: Agenda, ledger: Ledger, tell: Callable[[str], None]) -> None:
        self._name, self._folder, self._results = name, folder, results
        self._agenda, self._ledger, self._tell = agenda, ledger, tell

    def run(self, budget_s: float, execute: Execute | None = None) -> list[Entry]:
        """Until nothing fits into what is left of the budget."""
        ends = time.monotonic() + budget_s
        self.write()
        while (planned := self._agenda.next(ends - time.monotonic())) is not None:
            self._tell(f"{planned.case.key}, seed {planned.seed} ({planned.why})")
            entry = self._one(planned, execute or run_process)
            self._ledger.add(entry)
            self._tell(f"  {entry.outcome} after {entry.seconds:.0f} s" + (f": {entry.why}" if entry.why else ""))
            if entry.outcome == "passed":
                thin_out(Path(entry.folder))
            self.write()
        self.write()
        return self._ledger.of_night(self._name)

    def write(self) -> None:
        entries = self._ledger.of_night(self._name)
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "junit.xml").write_text(junit(self._name, entries))
        (self._folder / "summary.md").write_text(markdown(self._name, entries, self._agenda.passed_over))
        (self._folder / "index.html").write_text(index_page(self._ledger))

    def _one(self, planned: Planned, execute: Execute) -> Entry:
        words = ["run", planned.case.reference, *planned.case.flags, "--seed", str(planned.seed)]
        began, clock = time.time(), time.monotonic()
        ended = execute([*words, "--results", str(self._results), "--quiet"])
        folder = _folder_told(ended.said)
        verdict = _verdict(folder)
        again = ["./highwater", *(["run", "--again", str(folder)] if folder else words)]
        return Entry(
            self._name,
            planned.case.key,
            planned.seed,
            outcome_of(ended.code),
            began,
            time.monotonic() - clock,
            why=_why(ended, verdict),
            first_witness=_first_witness(verdict),
            command=shlex.join(again),
            folder=str(folder or ""),
            **_seen(verdict),
        )


def run_process(words: list[str]) -> Ended:
    """`./highwater WORDS` in a process of its own, which Ctrl-C reaches as well and which then cleans up after itself."""
    command = [sys.executable, "-P", "-m", "harness.cli", *words]
    with subprocess.Popen(
        command, cwd=_ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            said, complained = process.communicate(timeout=_RUN_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            said, complained = process.communicate()
    lines = complained.strip().splitlines()
    return Ended(process.returncode, said, lines[-1] if lines else "")


def thin_out(run: Path) -> None:
    for path in run.iterdir() if run.is_dir() else []:
        if path.name in _KEPT_OF_PASSED:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _folder_told(said: str) -> Path | None:
    told = [line.partition(RESULTS_LINE)[2].strip() for line in said.splitlines() if RESULTS_LINE in line]
    return (_ROOT / told[-1]).resolve() if told else None


def _verdict(folder: Path | None) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / "verdict.json").read_text()) if folder else {}
        return found
    except (OSError, ValueError):
        return {}


def _why(ended: Ended, verdict: dict[str, Any]) -> str:
    if ended.code == 0:
        return ""
    return " ".join(verdict.get("why", ())) or ended.complained or f"exit code {ended.code}"


def _first_witness(verdict: dict[str, Any]) -> str:
    for anomaly in verdict.get("anomalies", {}).values():
        if anomaly["forbidden"] and anomaly["witnesses"]:
            sentence: str = anomaly["witnesses"][0]["sentence"]
            return sentence
    return ""


def _seen(verdict: dict[str, Any]) -> dict[str, Any]:
    """What the ledger keeps of the metrics and the coverage. The recovery of a run is that of its worst fault."""
    states = {name: said["state"] for name, said in verdict.get("coverage", {}).items()}
    effects = verdict.get("metrics", {}).get("faults", ())
    return {
        "recovery_s": max((effect["recovery"] for effect in effects if effect["recovery"] is not None), default=None),
        "reached": tuple(name for name, state in states.items() if state == "reached"),
        "never_reached": tuple(name for name, state in states.items() if state == "not reached"),
    }
