"""The arms without a cluster, each a process of its own (`tests/defects/arms`): the broker's insides are its tests' business, not ours."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from harness.errors import EnvironmentFault
from harness.prove.attempts import SOUND, Attempt
from harness.prove.defects import Defect

PATIENCE_S = 600.0
_ROOT = Path(__file__).resolve().parents[2]


def try_defect(defect: Defect, seed: int) -> Attempt:
    """One that does not load, or does not fit the broker any more, is an error and never a pass."""
    found, tried, seconds = _run(defect.arm, seed, defect.path)
    by = next((words for words in defect.anomalies if words in (found or "")), "")
    return Attempt(defect.name, defect.arm, defect.plan, seed, bool(by), by, found or "", 1, 0, seconds, tried=tried)


def try_sound(arm: str, seed: int) -> Attempt:
    found, tried, seconds = _run(arm, seed, None)
    return Attempt(SOUND, arm, arm, seed, found is not None, found or "", found or "", 1, 0, seconds, tried=tried)


def _run(arm: str, seed: int, defect: Path | None) -> tuple[str | None, str, float]:
    """What was found, how much was tried, and how long it took."""
    command = [sys.executable, "-m", f"tests.defects.arms.{arm}", "--seed", str(seed), *(["--defect", str(defect)] if defect else [])]
    began = time.monotonic()
    try:
        ended = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise EnvironmentFault(f"{' '.join(command)} did not end within {PATIENCE_S:g} s") from None
    if ended.returncode != 0:
        words = ended.stderr.strip().splitlines()
        raise EnvironmentFault(f"{defect or arm} could not be tried: {words[-1] if words else 'it said nothing'}")
    said = json.loads(ended.stdout)
    return said["found"], said["tried"], time.monotonic() - began
