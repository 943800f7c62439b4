"""`./highwater fault`: one fault by hand, on a cluster on nodes that runs: struck, proven, healed, proven healed.

The same nemesis as in a run carries it out, so whoever tries one here sees exactly what a run would do. Ctrl-C heals.
"""

from __future__ import annotations

import argparse
import json
import secrets
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.arguments import Parser
from harness.cli.cluster import DEFAULT_DATA
from harness.cli.terminations import terminations_as_interrupts
from harness.errors import CANNOT_TELL, DONE, UserMistake

if TYPE_CHECKING:
    from nemesis.catalogue import FaultSpec
    from nemesis.nemesis import Nemesis, Struck
    from nemesis.schedule import PlannedFault

DEFAULT_SECONDS = 10.0
_LOOK_S = 0.1


def main(argv: Sequence[str]) -> int:
    from harness.systems.node_cluster import NodeCluster
    from nemesis.nemesis import PROVEN, Nemesis

    arguments = _parser().parse_args(argv)
    cluster = NodeCluster.open(Path(arguments.data))
    seed = secrets.randbelow(2**31)
    planned = _planned(_spec(arguments), seed, len(cluster.nodes.nodes))
    print(f"{planned.kind} {planned.variant}".rstrip() + f" on {planned.selector} for {arguments.seconds:g} s; Ctrl-C heals", flush=True)
    nemesis = Nemesis(cluster.nodes, cluster.system, seed)
    over = threading.Event()
    threading.Thread(target=_tell_effect, args=(nemesis, over), daemon=True).start()
    with terminations_as_interrupts():
        try:
            [row] = nemesis.run([planned], time.monotonic())
        except KeyboardInterrupt:
            [row] = nemesis.rows()
        finally:
            over.set()
    _tell(row)
    return DONE if row.state == PROVEN else CANNOT_TELL


def _spec(arguments: argparse.Namespace) -> FaultSpec:
    from harness.scenarios.flags import parse_faults
    from nemesis.catalogue import FaultSpec

    faults = parse_faults(arguments.fault)
    if len(faults) != 1:
        raise UserMistake(f"{arguments.fault!r} is not one fault; they are struck one at a time here")
    [told] = faults
    if misplaced := sorted({"target", "at", "lasts", "every", "rests", "name"} & told.keys()):
        raise UserMistake(f"{misplaced[0]} does not belong into {arguments.fault!r} here: whom is --target, how long is --for")
    parameters = told.get("parameters", {})
    return FaultSpec(told["kind"], told.get("variant"), arguments.target, at=0.0, lasts=arguments.seconds, parameters=parameters)


def _planned(spec: FaultSpec, seed: int, nodes: int) -> PlannedFault:
    from nemesis.catalogue import mistakes_in
    from nemesis.schedule import make_schedule

    mistakes = mistakes_in(spec, nodes)
    if mistakes:
        raise UserMistake("; ".join(mistake.text for mistake in mistakes) + "; `./highwater faults` tells more")
    return make_schedule([spec], seed, spec.lasts or DEFAULT_SECONDS, nodes=nodes)[0]


def _tell_effect(nemesis: Nemesis, over: threading.Event) -> None:
    """As soon as it was looked for: who strikes by hand wants to know from when on it holds."""
    while not over.wait(_LOOK_S):
        for row in nemesis.rows():
            if row.proof is not None:
                seen = "in effect" if json.loads(row.proof)["ok"] else "no effect was seen"
                print(f"{', '.join(row.targets) or 'nobody'}: {seen}", flush=True)
                return


def _tell(row: Struck) -> None:
    print(f"struck {', '.join(row.targets) or 'nobody'}: {row.state}")
    for what, evidence in (("proof", row.proof), ("healed", row.healed)):
        if evidence is not None:
            print(f"  {what}: {json.dumps(json.loads(evidence))}")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, more than 0 and at most a day")
    return seconds


def _parser() -> Parser:
    parser = Parser(
        prog="highwater fault",
        description="Strike a cluster that `cluster up --nodes-kind namespaces|docker` started: one fault, proven, and healed again.",
    )
    parser.add_argument("fault", metavar="KIND[:VARIANT][/PARAMETER=VALUE]...", help="`./highwater faults` lists them")
    parser.add_argument("--target", metavar="ROLE", help="whom: a role or names of nodes (default: the fault's own)")
    parser.add_argument("--for", dest="seconds", type=_seconds, default=DEFAULT_SECONDS, metavar="SECONDS", help="how long (default 10)")
    parser.add_argument("--data", default=str(DEFAULT_DATA), metavar="DIR", help=f"where the cluster lies (default ./{DEFAULT_DATA})")
    return parser
