"""Why a run cannot take place here, said before anything is started or written.

What other arguments would mend is a mistake of the user; what the machine lacks is the environment's.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from harness.errors import EnvironmentFault, UserMistake
from harness.history.recorder import SEGMENT_SLOTS
from harness.history.slots import SLOT_SIZE
from harness.nodes import available
from harness.run.prepared import Prepared
from harness.scenarios import Scenario
from harness.systems.choosing import refusal
from harness.systems.external_system import ExternalSystem
from nemesis.catalogue import CATALOGUE, Need

_FOR_LOGS = 256 << 20
_SEGMENTS_OPEN = 2


def refuse_what_cannot_be(prepared: Prepared, results: Path) -> None:
    """Returns if everything the run needs is there, as far as can be told."""
    scenario = prepared.scenario
    if scenario.system == "external":
        _check_visit(scenario)
    else:
        _check_deployment(scenario)
    if needs_clock(prepared):
        _check_clock()
    _check_room(results, scenario.workload.workers)


def needs_clock(prepared: Prepared) -> bool:
    return any(Need.CLOCK in CATALOGUE[fault.kind].needs for fault in prepared.faults)


def _check_visit(scenario: Scenario) -> None:
    reason = ExternalSystem.at(scenario.bootstrap).silence()
    if reason:
        raise EnvironmentFault(f"{reason}; start it, or give other --bootstrap servers")


def _check_deployment(scenario: Scenario) -> None:
    reason = refusal(scenario.system, scenario.nodes_kind, kafka_home=_path(scenario.kafka_home))
    if reason:
        raise UserMistake(reason)
    if scenario.plugin is not None and not Path(scenario.plugin).is_file():
        raise UserMistake(f"there is no plugin {scenario.plugin}")
    _check_nodes(scenario)


def _check_nodes(scenario: Scenario) -> None:
    if scenario.nodes_kind == "ssh":
        from harness.nodes.ssh_nodes import read_inventory

        hosts, _ = read_inventory(Path(scenario.inventory or ""))
        if scenario.nodes > len(hosts):
            raise UserMistake(f"{scenario.inventory} has {len(hosts)} nodes, not {scenario.nodes}; --nodes {len(hosts)}, or add more")
        return
    reason = available(scenario.nodes_kind)
    if reason:
        raise EnvironmentFault(reason)


def _check_clock() -> None:
    from harness.systems.clock_file import faketime_library

    if not faketime_library().is_file():
        raise EnvironmentFault("clock faults need the library of the package libfaketime, which was not built; leave `clock` out (--fault)")


def _check_room(results: Path, workers: int) -> None:
    """By writing, because a quota or a read-only disk does not show in what is free."""
    needed = _FOR_LOGS + (workers + 1) * _SEGMENTS_OPEN * SEGMENT_SLOTS * SLOT_SIZE
    results.mkdir(parents=True, exist_ok=True)
    trial = results / f".room-{id(results)}"
    try:
        trial.write_bytes(bytes(4096))
    finally:
        trial.unlink(missing_ok=True)
    free = shutil.disk_usage(results).free
    if free < needed:
        text = f"{results} has {free >> 20} MiB left, and a run of {workers} workers needs {needed >> 20} MiB or more"
        raise EnvironmentFault(f"{text}; make room, or choose another place with --results")


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
