"""What follows from a scenario before anything is started: the faults of its seed, what its settings promise, and the record of both.

The record goes into plan.json, whole: a run is repeated from it though the scenario's file, its defaults or the schedule have changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.errors import UserMistake
from harness.history.plan import Promises
from harness.scenarios.loading import build
from harness.scenarios.model import Scenario
from nemesis.schedule import PlannedFault, as_data, from_data, make_schedule


def with_seed(scenario: Scenario, seed: int) -> Scenario:
    """The scenario with its own seed, or with this one if it has none."""
    return scenario if scenario.seed is not None else scenario.model_copy(update={"seed": seed})


def planned_faults(scenario: Scenario) -> list[PlannedFault]:
    assert scenario.seed is not None
    return make_schedule(scenario.fault_specs(), scenario.seed, scenario.durations.time_limit, scenario.schedule.timing(), scenario.nodes)


def promises_of(scenario: Scenario) -> Promises:
    """Every workload there is assigns its partitions to itself. Flushed means: before the acknowledgement, each message."""
    clients, topics = scenario.clients, scenario.topics
    return Promises(
        acks=clients.acks,
        replicas=topics.replicas,
        min_insync=topics.min_insync,
        unclean=topics.unclean,
        flush=None if scenario.system == "external" else scenario.broker.get("log.flush.interval.messages") == 1,
        idempotence=clients.idempotence,
        in_flight=clients.in_flight,
        isolation=clients.isolation,
        assignment="assign",
        progress=scenario.expect.progress,
    )


def recorded(scenario: Scenario, faults: Sequence[PlannedFault]) -> dict[str, Any]:
    """For `Plan.scenario`: plain data, everything spelled out."""
    return {"settings": scenario.model_dump(mode="json", exclude_none=True), "faults": [as_data(fault) for fault in faults]}


def recalled(record: Mapping[str, Any], source: str) -> tuple[Scenario, list[PlannedFault]]:
    """The scenario and the faults again. `source` is what messages call the plan."""
    try:
        settings: dict[str, Any] = dict(record["settings"])
        faults = [from_data(fault) for fault in record["faults"]]
    except (KeyError, TypeError, ValueError, AssertionError):
        raise UserMistake(f"{source} was not written by this version of highwater: it cannot be run again") from None
    return build(settings, {}, source, "scenario"), faults
