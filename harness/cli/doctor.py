"""`./highwater doctor`: what this machine can do, and what to do for the rest.

Nothing is assumed from version numbers where it can be tried: a namespace is made, the wheel's Java is run, netem is put on an interface
of that namespace. What is missing is no failure of doctor: only the commands that need it will refuse.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.cli.arguments import Parser
from harness.cli.probes import PROBES, Finding
from harness.cli.table import format_table
from harness.errors import DONE


def main(argv: Sequence[str]) -> int:
    parser = Parser(prog="highwater doctor", description="What this machine can do, and how to get the rest.")
    change = parser.add_mutually_exclusive_group()
    change.add_argument("--fix", action="store_true", help="prepare this machine for the tests")
    change.add_argument("--undo", action="store_true", help="take back what --fix did")
    arguments = parser.parse_args(argv)
    if arguments.undo:
        print("nothing to undo: the tests need no change to this machine")
        return DONE
    findings = [probe() for probe in PROBES]
    print(format_table(["what", "", "found"], [[finding.what, _mark(finding), finding.found] for finding in findings]))
    wanting = [finding for finding in findings if finding.remedy]
    if wanting:
        print("\nwhat to do:")
        print("\n".join(f"  {finding.what}: {finding.remedy}" for finding in wanting))
    if arguments.fix:
        print("\nnothing to fix: the tests need no change to this machine")
    return DONE


def _mark(finding: Finding) -> str:
    return "no" if finding.remedy else "yes"
