"""A recorded load and its verdict: pairs of loads where clients run (`pairs`), the check on Spark here."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.bench.verified.checking import Checked, check_run
from harness.bench.verified.pairs import RUN, VerifiedLoad
from harness.errors import EnvironmentFault
from harness.nodes.tied import tied_to_this_process
from harness.run.ending import count
from workloads.clients import Acks

_ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True)
class Verified:
    """Rates are acknowledged messages a second, pair by pair; `lost` is in no read of all there is in the end."""

    acks: Acks
    run: str
    sent: int
    acknowledged: int
    lost: int
    recorded_rates: tuple[float, ...]
    bare_rates: tuple[float, ...]
    checked: Checked

    @property
    def cost(self) -> float:
        """What recording takes of the rate, from 0 to 1: the median over the pairs. Below 0 where it was faster by chance."""
        return 1 - statistics.median(self.ratios)

    @property
    def ratios(self) -> list[float]:
        return [recorded / bare for recorded, bare in zip(self.recorded_rates, self.bare_rates, strict=True)]


def run_here(command: Sequence[str]) -> bytes:
    """What it wrote; it ends with us, however we end."""
    done = subprocess.run(tied_to_this_process(command), cwd=_ROOT, capture_output=True)
    if done.returncode != 0:
        raise EnvironmentFault(f"the recorded load failed: {done.stderr.decode(errors='replace').strip() or 'without a word'}")
    return done.stdout


def verify_load(load: VerifiedLoad, bootstrap: str, folder: Path, on_client: Callable[[Sequence[str]], bytes] = run_here) -> Verified:
    """On brokers that run. The folder is made; the run lies in it, verdict and report included.

    `on_client` runs a command to its end where the brokers can be reached, in the project's folder, and returns what it wrote.
    """
    asked = json.dumps({"load": asdict(load), "bootstrap": bootstrap, "folder": str(folder)})
    rates = json.loads(on_client([sys.executable, "-m", "harness.bench.verified.pairs", asked]))
    run = folder / RUN
    counts = count(run)
    return Verified(
        load.acks,
        str(run),
        counts.sends,
        counts.acknowledged,
        counts.never_read,
        tuple(rates["recorded"]),
        tuple(rates["bare"]),
        check_run(run),
    )
