"""`./highwater bench load`: Locust drives a cluster of ours, or brokers that somebody has, in a shape over time."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from harness.cli.arguments import Parser, number_between
from harness.cli.table import format_table
from harness.cli.terminations import terminations_as_interrupts
from harness.errors import DONE, UserMistake
from harness.systems.cluster_plan import MAX_NODES

INTERRUPTED = 130
SHAPES = ("step", "spike", "ramp", "flat")


def main(argv: Sequence[str]) -> int:
    from harness.bench.shaped_load import LoadPlan, run_shaped_load
    from harness.bench.shaped_load.report import HEAD, cells, remarks
    from harness.bench.shaped_load.running import NODES, TOPIC
    from harness.run.folder import RESULTS

    given = _parser().parse_args(argv)
    if given.bootstrap is None and given.topic is not None:
        raise UserMistake("--topic belongs to --bootstrap: a cluster of ours has its own")
    if given.bootstrap is not None and given.nodes is not None:
        raise UserMistake("--nodes is about a cluster of ours: leave it out beside --bootstrap")
    plan = LoadPlan(given.shape, given.users, given.time_limit, given.rate, given.acks, given.record_bytes, given.consumers)
    with terminations_as_interrupts():
        outcome = run_shaped_load(
            plan,
            Path(given.results) if given.results else RESULTS,
            bootstrap=given.bootstrap,
            topic=given.topic or TOPIC,
            nodes=given.nodes or NODES,
            ui=given.ui,
            tell=lambda text: print(text, flush=True),
        )
    print(format_table(HEAD, [cells(one) for one in outcome.requests]))
    for remark in remarks(outcome):
        print(remark)
    for error in outcome.errors:
        print(f"{error.kind} failed {error.times:,} times: {error.error}")
    print(f"report: {outcome.folder / 'report.html'}")
    return INTERRUPTED if outcome.interrupted else DONE


def _parser() -> Parser:
    parser = Parser(
        prog="highwater bench load",
        description="Producers and readers by Locust, more and fewer of them over time, on three brokers of ours or on yours. "
        "Ctrl-C ends it in order.",
    )
    parser.add_argument("--shape", choices=SHAPES, default="step", help="how the number of producers goes over the run (default step)")
    parser.add_argument("--users", type=number_between(1, 1000), default=20, metavar="N", help="producers at the most (default 20)")
    parser.add_argument("--time-limit", type=number_between(1, 86_400), default=60, metavar="S", help="seconds (default 60)")
    parser.add_argument("--rate", type=_rate, default=100.0, metavar="R", help="messages a second of each producer (default 100)")
    parser.add_argument("--acks", choices=("0", "1", "all"), default="all", help="replicas that must have a message (default all)")
    parser.add_argument("--record-bytes", type=number_between(12, 1_000_000), default=1024, metavar="N", help="of a message (default 1024)")
    parser.add_argument("--consumers", type=number_between(0, 100), default=1, metavar="N", help="readers of everything (default 1)")
    parser.add_argument("--ui", action="store_true", help="Locust's own pages while it runs and after, until Ctrl-C")
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="drive these brokers instead; several separated by commas")
    parser.add_argument("--topic", metavar="NAME", help="with --bootstrap: what is written to; made if it is not there")
    parser.add_argument("--nodes", type=number_between(1, MAX_NODES), metavar="N", help="brokers of our own cluster (default 3)")
    parser.add_argument("--results", metavar="DIR", help="where the report goes (default: results/ of this project)")
    return parser


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate <= 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a rate from above 0 to 1000000")
    return rate
