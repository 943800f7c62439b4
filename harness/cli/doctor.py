"""`./highwater doctor`: what this machine can do, and what to do for the rest.

Nothing is assumed from version numbers where it can be tried: nodes are made, a rule is set, a process paused, a clock put off, the
wheel's Java run. What is missing is no failure of doctor: only the commands that need it will refuse.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.cli.arguments import Parser
from harness.cli.fault_probes import faults
from harness.cli.probes import PROBES, Finding
from harness.cli.table import format_table
from harness.errors import DONE


def main(argv: Sequence[str]) -> int:
    parser = Parser(prog="highwater doctor", description="What this machine can do, and how to get the rest.")
    change = parser.add_mutually_exclusive_group()
    change.add_argument(
        "--fix",
        action="store_true",
        help="as root: install and start a Docker engine, make the image of a node; dockerd gets HIGHWATER_DOCKERD_OPTIONS",
    )
    change.add_argument("--undo", action="store_true", help="as root: stop the Docker engine that --fix started")
    arguments = parser.parse_args(argv)
    if arguments.undo:
        from harness.cli.fixing import undo

        undo()
        return DONE
    if arguments.fix:
        from harness.cli.fixing import fix

        fix()
    _show([*(probe() for probe in PROBES), *faults()])
    return DONE


def _show(findings: Sequence[Finding]) -> None:
    print(format_table(["what", "", "found"], [[finding.what, _mark(finding), finding.found] for finding in findings]))
    wanting = [finding for finding in findings if finding.remedy]
    if wanting:
        print("\nwhat to do:")
        print("\n".join(f"  {finding.what}: {finding.remedy}" for finding in wanting))


def _mark(finding: Finding) -> str:
    return "no" if finding.remedy else "yes"
