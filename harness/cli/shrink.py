"""`./highwater shrink RUN`: a smaller plan that still fails."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.arguments import Parser, number_between
from harness.errors import DONE, FAILED, EnvironmentFault, UserMistake

if TYPE_CHECKING:
    from harness.run import Prepared
    from harness.shrink.shrinking import Failure, Shrunk


def main(argv: Sequence[str]) -> int:
    from harness.prove.judges import judge_by_reference
    from harness.run import recall
    from harness.run.folder import RESULTS, find_run
    from harness.shrink.shrinking import shrink

    given = _parser().parse_args(argv)
    results = (Path(given.results) if given.results else RESULTS).resolve()
    run = find_run(given.run, results)
    broken = judge_by_reference(run).forbidden
    if not broken:
        raise UserMistake(f"{run} broke no promise: there is nothing to shrink")
    print(f"{run} failed by {', '.join(sorted(broken))}; at most {given.runs} runs follow", flush=True)
    plan = recall(run)
    found = shrink(plan, broken, lambda smaller: _try(smaller, results / "shrink"), given.runs, lambda text: print(text, flush=True))
    _tell(plan, found)
    return DONE if found.failure is not None else FAILED


def _try(plan: Prepared, results: Path) -> Failure | None:
    from harness.prove.judges import judge_by_reference
    from harness.run import run_scenario
    from harness.run.display import PlainLines
    from harness.run.interrupts import Interrupts
    from harness.shrink.shrinking import Failure

    try:
        with Interrupts() as interrupts:
            outcome = run_scenario(plan, results, PlainLines(lambda _: None), interrupts)
    except EnvironmentFault as problem:
        print(f"could not be run: {problem}", flush=True)
        return None
    if outcome.interrupted:
        raise KeyboardInterrupt
    broken = judge_by_reference(outcome.folder).forbidden
    return Failure(outcome.folder, frozenset(broken)) if broken else None


def _tell(before: Prepared, found: Shrunk) -> None:
    if found.failure is None:
        print(f"nothing could be taken away in {found.runs} runs: it takes all of it, or it fails too seldom")
        return
    after = found.plan
    print(f"\n{len(before.faults)} faults in {before.scenario.durations.time_limit:g} s have become, after {found.runs} runs,")
    print(f"{len(after.faults)} in {after.scenario.durations.time_limit:g} s:")
    for fault in after.faults:
        kind = f"{fault.kind}:{fault.variant}" if fault.variant else fault.kind
        print(f"  {fault.start:6.1f} s to {fault.end:6.1f} s  {kind} on {fault.selector}")
    print(f"again: ./highwater run --again {found.failure.folder}")


def _parser() -> Parser:
    parser = Parser(
        prog="highwater shrink",
        description="Take faults, clients and time away from a run that failed, one after the other, while it still fails; what is left is "
        "what it takes. Exit code 1 where nothing could be taken away.",
    )
    parser.add_argument("run", metavar="RUN", help="the folder of a run that failed, its id, or `latest`")
    parser.add_argument("--runs", type=number_between(1, 10_000), default=30, metavar="N", help="how many runs it may take (default 30)")
    parser.add_argument("--results", metavar="DIR", help="where runs are kept (default: results/ of this project)")
    return parser
