"""`./highwater checks`: every anomaly there is, by family, with its definition and when it is an error."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterator, Sequence

from harness.cli.arguments import Parser
from harness.errors import DONE, UserMistake

WIDTH = 120


def main(argv: Sequence[str]) -> int:
    parser = Parser(prog="highwater checks", description="Every anomaly that is looked for: what it is, and when it is an error.")
    parser.add_argument("name", nargs="?", metavar="NAME", help="only this one, in full; left out: all")
    name: str | None = parser.parse_args(argv).name
    from analysis.anomalies import ANOMALIES

    if name is not None and name not in ANOMALIES:
        nearest = difflib.get_close_matches(name, ANOMALIES, 1)
        hint = f"did you mean `{nearest[0]}`?" if nearest else "`./highwater checks` lists them"
        raise UserMistake(f"there is no anomaly {name!r}; {hint}")
    print("\n".join(_all() if name is None else _in_full(name)))
    return DONE


def _all() -> Iterator[str]:
    from analysis.anomalies import ANOMALIES

    for family in dict.fromkeys(anomaly.family for anomaly in ANOMALIES.values()):
        yield family
        for anomaly in (one for one in ANOMALIES.values() if one.family == family):
            yield f"  {anomaly.name}"
            yield f"      {anomaly.definition}"
            yield f"      an error: {_when(anomaly.name)}"
    yield "\n`./highwater checks NAME` tells exactly what counts as one."


def _in_full(name: str) -> Iterator[str]:
    from analysis.anomalies import ANOMALIES
    from analysis.promises import TABLES

    anomaly = ANOMALIES[name]
    yield name
    yield f"    {anomaly.definition}"
    yield from textwrap.wrap(anomaly.exactly, WIDTH, initial_indent="    ", subsequent_indent="    ")
    place = "" if anomaly.across else "topic, partition, "
    yield f"    one is told from another by {place}{', '.join(anomaly.identity)}"
    for rules, rows in TABLES.items():
        reason = next(row.reason for row in rows if row.anomaly == name)
        yield f"    an error by {rules}'s rules: {_when(name, rules)}. {reason}"


def _when(name: str, rules: str = "highwater") -> str:
    from analysis.promises import HIGHWATER, JEPSEN

    rows = HIGHWATER if rules == "highwater" else JEPSEN
    _, when, unless, _ = next(row for row in rows if row.anomaly == name).cells
    return f"{when}, unless {unless}" if unless else when
