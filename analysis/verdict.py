"""The verdict: whether the promises were kept, what was seen, and what that rests on. verdict.json is this, both ways.

Three answers: kept, broken, cannot tell. `why` has a sentence for each thing that decided it. Written whole or not at all; a file of
another version is refused by name rather than misread.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from analysis.findings import Finding, Witness
from analysis.promises import Ruling
from analysis.settled import Setting, Settled
from harness.history.errors import MalformedFile
from harness.history.files import write_atomically
from harness.history.schema import VERDICT_VERSION

VERDICT_FILE = "verdict.json"
UNKNOWN: Literal["unknown"] = "unknown"
Valid = bool | Literal["unknown"]
Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Judged:
    """An anomaly that was found. `doubtful` of the `count` are reported and never an error; `reason` is the ruling's."""

    count: int
    doubtful: int
    forbidden: bool
    reason: str
    witnesses: tuple[Witness, ...] = ()

    @property
    def errors(self) -> int:
        return self.count - self.doubtful if self.forbidden else 0


@dataclass(frozen=True, slots=True)
class Promised:
    """What the verdict was measured by: settings with their sources, and the ruling on every anomaly, found or not."""

    rules: str
    settled: Settled
    rulings: Mapping[str, Ruling]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`coverage`, `faults` and `metrics` are plain data as their modules give it; `checked_by` names the checkers that agree."""

    valid: Valid
    why: tuple[str, ...]
    promises: Promised
    anomalies: Mapping[str, Judged] = field(default_factory=dict)
    coverage: Data = field(default_factory=dict)
    faults: tuple[Data, ...] = ()
    metrics: Data = field(default_factory=dict)
    checked_by: tuple[str, ...] = ()


def judge(findings: Mapping[str, Finding], rulings: Mapping[str, Ruling]) -> dict[str, Judged]:
    """What was found, each with its ruling, errors first."""
    judged = {
        name: Judged(found.count, found.doubtful, rulings[name].forbidden, rulings[name].reason, found.witnesses)
        for name, found in findings.items()
        if found.count
    }
    return dict(sorted(judged.items(), key=lambda one: one[1].errors == 0))


def as_data(verdict: Verdict) -> dict[str, Any]:
    """verdict.json's content."""
    return {
        "version": VERDICT_VERSION,
        "valid": verdict.valid,
        "why": list(verdict.why),
        "promises": {
            "rules": verdict.promises.rules,
            "settings": {name: {"value": one.value, "source": one.source} for name, one in verdict.promises.settled.settings.items()},
            "rulings": {name: {"forbidden": one.forbidden, "reason": one.reason} for name, one in verdict.promises.rulings.items()},
        },
        "anomalies": {name: _judged_data(one) for name, one in verdict.anomalies.items()},
        "coverage": dict(verdict.coverage),
        "faults": [dict(fault) for fault in verdict.faults],
        "metrics": dict(verdict.metrics),
        "checked_by": list(verdict.checked_by),
    }


def from_data(data: Mapping[str, Any]) -> Verdict:
    """KeyError, TypeError or ValueError where it is none."""
    if data["version"] != VERDICT_VERSION:
        raise ValueError(f"is a verdict of version {data['version']}; this is version {VERDICT_VERSION}")
    if not isinstance(data["valid"], bool) and data["valid"] != UNKNOWN:
        raise ValueError(f"says valid is {data['valid']!r}; it may be true, false or {UNKNOWN!r}")
    promises = data["promises"]
    return Verdict(
        valid=data["valid"],
        why=tuple(data["why"]),
        promises=Promised(
            promises["rules"],
            Settled({name: Setting(one["value"], one["source"]) for name, one in promises["settings"].items()}),
            {name: Ruling(one["forbidden"], one["reason"]) for name, one in promises["rulings"].items()},
        ),
        anomalies={name: _judged(one) for name, one in data["anomalies"].items()},
        coverage=data["coverage"],
        faults=tuple(data["faults"]),
        metrics=data["metrics"],
        checked_by=tuple(data["checked_by"]),
    )


def as_json(verdict: Verdict) -> str:
    """On one line."""
    return json.dumps(as_data(verdict), allow_nan=False)


def write_verdict(run: Path, verdict: Verdict) -> None:
    content = json.dumps(as_data(verdict), indent=2, allow_nan=False)
    write_atomically(run / VERDICT_FILE, (content + "\n").encode())


def read_verdict(run: Path) -> Verdict:
    path = run / VERDICT_FILE
    try:
        return from_data(json.loads(path.read_bytes()))
    except (OSError, ValueError) as problem:
        raise MalformedFile(path, str(problem)) from None
    except (KeyError, TypeError, AttributeError) as problem:
        raise MalformedFile(path, f"has no sound field {problem}") from None


def _judged_data(judged: Judged) -> dict[str, Any]:
    return {
        "count": judged.count,
        "doubtful": judged.doubtful,
        "forbidden": judged.forbidden,
        "reason": judged.reason,
        "witnesses": [_witness_data(witness) for witness in judged.witnesses],
    }


def _judged(data: Mapping[str, Any]) -> Judged:
    witnesses = tuple(_witness(one) for one in data["witnesses"])
    return Judged(data["count"], data["doubtful"], data["forbidden"], data["reason"], witnesses)


def _witness_data(witness: Witness) -> dict[str, Any]:
    return {
        "sentence": witness.sentence,
        "topic": witness.topic,
        "part": witness.part,
        "offset": witness.offset,
        "ops": list(witness.ops),
        "identity": list(witness.identity),
        "doubtful": witness.doubtful,
    }


def _witness(data: Mapping[str, Any]) -> Witness:
    return Witness(
        data["sentence"], tuple(data["identity"]), tuple(data["ops"]), data["topic"], data["part"], data["offset"], data["doubtful"]
    )
