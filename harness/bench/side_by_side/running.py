"""`bench SUITE`: from a suite and the names of systems to a folder of results."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from harness.bench.figures.results import Result, SystemUsed, write_result
from harness.bench.side_by_side.contenders import Contender, contenders, require
from harness.bench.side_by_side.losses import measure_losses, require_killable
from harness.bench.side_by_side.machine import describe_machine
from harness.bench.side_by_side.session import Measured, Session
from harness.bench.side_by_side.tools import Tools, make_tools
from harness.bench.suites.budget import in_words, seconds_needed
from harness.bench.suites.suite import Suite
from harness.run.folder import RunFolder

Say = Callable[[str], None]


def run_suite(
    suite: Suite, names: Sequence[str], results: Path, *, warm_up_s: float | None, kafka_home: Path | None, say: Say, kills: int = 0
) -> tuple[Path, Result]:
    """The folder, and what is in it. `kills`: of leaders at each acks setting, after everything else; messages lost are counted."""
    require(names, kafka_home)
    if kills:
        require_killable(names)
    folder = RunFolder.without_history(results, f"bench-{suite.name}")
    began, clock = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    try:
        with contenders(names, folder.work, kafka_home) as found:
            say(f"{suite.name}: {suite.description}")
            expected = seconds_needed(suite, [one.compiles_itself for one in found], warm_up_s)
            say(f"{len(suite.cases)} cases, {suite.method.rounds} rounds, {' and '.join(names)}: {in_words(expected)}")
            tools, seed = make_tools(folder.work / "tools"), secrets.randbits(32)
            say(f"client: {tools.driver.name}")
            session = Session(suite, found, tools, folder.work, warm_up_s=warm_up_s, seed=seed, say=say)
            measured = session.run()
            lost = tuple(measure_losses(names, suite.cases, kills, folder.path, kafka_home, say)) if kills else ()
            result = replace(_result(suite, found, tools, measured, began, time.monotonic() - clock, seed), losses=lost)
        write_result(folder.path, result)
    finally:
        folder.release()
    return folder.path, result


def _result(suite: Suite, found: Sequence[Contender], tools: Tools, measured: Measured, began: str, seconds: float, seed: int) -> Result:
    return Result(
        suite=suite.name,
        description=suite.description,
        began=began,
        seconds=seconds,
        nodes=suite.nodes,
        client=tools.driver.name,
        c_client=tools.is_native,
        machine=describe_machine(_java() if any(one.compiles_itself for one in found) else None),
        seed=seed,
        steal_limit=suite.method.steal_limit,
        least_segments=suite.method.least_segments,
        systems=tuple(SystemUsed(one.name, one.version) for one in found),
        cases=tuple(suite.cases),
        starts=tuple(measured.starts),
        warm_ups=tuple(measured.warm_ups),
        loads=tuple(measured.loads),
        sustained=tuple(measured.sustained),
        latencies=tuple(measured.latencies),
        lifetimes=tuple(measured.lifetimes),
    )


def _java() -> Path:
    from harness.systems.kafka_files import find_files

    return find_files(None).java
