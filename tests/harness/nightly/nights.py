"""Entries of nights that never were."""

from typing import Any

from harness.nightly.ledger import Entry
from harness.nightly.suite import Case


def entry(case: str = "calm/highwater/namespaces/3", seed: int = 1, outcome: Any = "passed", **more: Any) -> Entry:
    said: dict[str, Any] = {
        "night": "2026-11-18",
        "began": 100.0,
        "seconds": 60.0,
        "why": "",
        "first_witness": "",
        "command": "./highwater run",
        "folder": "results/x",
    }
    return Entry(case=case, seed=seed, outcome=outcome, **(said | more))


def case(name: str, least_s: float = 10.0, seeds: int = 1) -> Case:
    return Case(f"{name}/highwater/namespaces/3", name, (), least_s, seeds)
