"""`./highwater bench SUITE`: every suite is a module of `harness.bench` and reads its own arguments."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from harness.errors import DONE, UserMistake

SUITES = {"micro": "one cluster on this machine: produce, fetch, latency, time to a new leader"}


def main(argv: Sequence[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        print("usage: ./highwater bench SUITE [ARGUMENTS]\n")
        print("\n".join(f"  {name:9} {what}" for name, what in SUITES.items()))
        return DONE
    suite, *rest = argv
    if suite not in SUITES:
        raise UserMistake(f"there is no suite `{suite}`; there is: {', '.join(SUITES)}")
    code: int = importlib.import_module(f"harness.bench.{suite}").main(rest)
    return code
