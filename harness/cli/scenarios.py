"""`./highwater scenarios`: those that come with the project, or one of them with every setting and the faults its seed plans.

What is shown is what a run would use, flags and all, as a TOML file: a copy of it is a scenario of one's own.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.cli.arguments import Parser
from harness.cli.table import format_table
from harness.errors import DONE, UserMistake

if TYPE_CHECKING:
    from harness.scenarios import Scenario
    from nemesis.schedule import PlannedFault

WIDTH = 110


def main(argv: Sequence[str]) -> int:
    from harness.scenarios import add_flags, given_flags, resolve

    parser = Parser(prog="highwater scenarios", description="The scenarios that come with the project, or one of them (or a file) in full.")
    parser.add_argument("scenario", nargs="?", metavar="NAME|FILE", help="show this one as a run would use it; left out: list all")
    add_flags(parser)
    arguments: argparse.Namespace = parser.parse_args(argv)
    flags = given_flags(arguments)
    if arguments.scenario is not None:
        return _show(arguments.scenario, resolve(arguments.scenario, flags))
    if flags:
        raise UserMistake(f"{next(iter(flags))} changes a scenario: name one; `./highwater scenarios --help` tells more")
    return _list()


def _list() -> int:
    from harness.scenarios import resolve, shipped

    for name in shipped():
        print(name)
        print(textwrap.fill(" ".join(resolve(name).description.split()), WIDTH, initial_indent="    ", subsequent_indent="    "))
    print("\n`./highwater scenarios NAME` shows one in full; flags (`--help`) change what they name.")
    return DONE


def _show(reference: str, scenario: Scenario) -> int:
    from harness.scenarios.plan import planned_faults
    from harness.scenarios.text import as_toml

    print(as_toml(scenario))
    if not scenario.faults:
        print("# no faults")
    elif scenario.seed is None:
        print(f"# the seed is drawn at the start; `./highwater scenarios {reference} --seed 1` shows the faults that seed 1 plans")
    else:
        rows = [[f.id, f"{f.start:.3f}", f"{f.end:.3f}", _name(f), f.selector, _parameters(f)] for f in planned_faults(scenario)]
        table = format_table(["id", "start", "end", "fault", "target", "parameters"], rows)
        print(textwrap.indent(table, "# "))
    return DONE


def _name(fault: PlannedFault) -> str:
    return f"{fault.kind} {fault.variant}".rstrip()


def _parameters(fault: PlannedFault) -> str:
    return ", ".join(f"{name} = {value}" for name, value in fault.parameters.items())
