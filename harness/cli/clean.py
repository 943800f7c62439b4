"""`./highwater clean`: take away what runs have left whose harness was killed. Runs that go on are not touched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.cli.arguments import Parser
from harness.errors import DONE


def main(argv: Sequence[str]) -> int:
    from harness.run.folder import RESULTS
    from harness.run.leftovers import clean

    parser = Parser(
        prog="highwater clean",
        description="Remove what killed runs have left: containers, networks, processes, working folders. Their history is saved.",
    )
    parser.add_argument("--results", metavar="DIR", help="where runs are kept (default: results/ of this project)")
    arguments = parser.parse_args(argv)
    found = False
    for line in clean(Path(arguments.results) if arguments.results else RESULTS):
        found = True
        print(line, flush=True)
    if not found:
        print("nothing is left of any run")
    return DONE
