"""`./highwater prove`: run the broken brokers; every one must be caught, and the sound one never accused."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.arguments import Parser, number_between
from harness.cli.table import format_table
from harness.errors import DONE, FAILED, UserMistake

if TYPE_CHECKING:
    from harness.prove.attempts import Attempts
    from harness.prove.defects import Defect


def main(argv: Sequence[str]) -> int:
    from harness.prove.attempts import Attempts
    from harness.prove.campaign import prove, succeeded
    from harness.prove.cluster_arm import ClusterArm
    from harness.prove.defects import find_defects
    from harness.prove.judges import confirm_on_spark, judge_by_reference
    from harness.run.folder import RESULTS

    given = _parser().parse_args(argv)
    defects = find_defects(given.names)
    if given.list:
        print(format_table(["defect", "arm", "plan", ""], [[defect.name, defect.arm, defect.plan, defect.title] for defect in defects]))
        return DONE
    base = (Path(given.results) if given.results else RESULTS) / "prove"
    folder = _last(base) if given.resume else base / time.strftime("%Y%m%d-%H%M%S")
    attempts = Attempts(folder)
    seeds = range(1, given.seeds + 1)
    cluster = ClusterArm(folder / "runs", judge_by_reference, confirm_on_spark, _say)
    try:
        prove(defects, seeds, attempts, cluster, _say)
    finally:
        _write(folder, defects, attempts)
    return DONE if succeeded(attempts, defects, seeds) else FAILED


def _write(folder: Path, defects: Sequence[Defect], attempts: Attempts) -> None:
    from harness.prove.table import HEAD, as_json, html, markdown, rows

    if not attempts.made:
        return
    for name, text in (
        ("table.md", markdown(defects, attempts)),
        ("table.html", html(defects, attempts)),
        ("table.json", as_json(attempts)),
    ):
        (folder / name).write_text(text)
    _say("")
    _say(format_table(list(HEAD), [list(row) for row in rows(defects, attempts)]))
    _say(f"\nthe same as Markdown, HTML and JSON, and every run that caught something: {folder}")


def _last(base: Path) -> Path:
    found = sorted(path for path in base.glob("*") if path.is_dir())
    if not found:
        raise UserMistake(f"there is nothing to resume in {base}")
    return found[-1]


def _say(text: str) -> None:
    print(text, flush=True)


def _parser() -> Parser:
    parser = Parser(
        prog="highwater prove",
        description="Run broken brokers, each with one bug, and see whether the harness catches it; and the sound broker, which it may not "
        "accuse. Exit code 1 where a defect escapes in more than a third of its seeds or the sound broker is accused.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which ones (default: all; --list tells them)")
    parser.add_argument("--seeds", type=number_between(1, 1000), default=1, metavar="N", help="how often each is tried, with seeds 1 to N")
    parser.add_argument("--resume", action="store_true", help="go on with the last campaign, without what it has done already")
    parser.add_argument("--list", action="store_true", help="tell what there is and run nothing")
    parser.add_argument("--results", metavar="DIR", help="where it is kept (default: results/ of this project)")
    return parser
