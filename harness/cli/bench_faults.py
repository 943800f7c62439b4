"""`./highwater bench faults`: what each acks setting costs and loses while brokers are killed, paused and cut off."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.arguments import Parser, number_between
from harness.cli.table import format_table
from harness.errors import CANNOT_TELL, DONE, FAILED, UserMistake

if TYPE_CHECKING:
    from harness.bench.under_faults import UnderFaults
    from harness.bench.verified import Verified

_NODES = 3


def main(argv: Sequence[str]) -> int:
    from harness.bench.under_faults import FaultedLoad, measure_under_faults
    from harness.bench.under_faults.report import HEAD, about, remarks, rows, write_report
    from harness.run.folder import RESULTS, fresh_folder

    given = _parser().parse_args(argv)
    if not given.kills and not given.others:
        raise UserMistake("with --kills 0 and --others 0 nothing would be struck; ask for one of them")
    load = FaultedLoad(given.kills, given.others, float(given.rate), given.record_bytes, given.system, given.kafka_home)
    acks = list(dict.fromkeys(given.acks))
    results = Path(given.results) if given.results else RESULTS
    minutes = len(acks) * (load.seconds + 30) / 60
    _say(f"{load.seconds:.0f} s for each of acks={', '.join(acks)}, each on a cluster of its own: about {minutes:.0f} minutes")
    found = measure_under_faults(load, acks, results, verify=given.verify, tell=_say)
    folder = fresh_folder(results, "bench-faults")
    verified = _at_full_speed(found, folder) if given.verify else []
    write_report(folder, found, verified)
    print(about(found))
    print(format_table(HEAD, rows(found)))
    for remark in remarks(found, verified):
        print(remark)
    print(f"report: {folder / 'report.md'}")
    return exit_code(found, verified)


def _at_full_speed(found: UnderFaults, folder: Path) -> list[Verified]:
    """The cost of recording, on a cluster that nothing strikes."""
    from harness.bench.verified import VerifiedLoad, verify_load
    from harness.systems.local_cluster import LocalCluster

    with (
        tempfile.TemporaryDirectory(prefix="highwater-bench-", ignore_cleanup_errors=True) as name,
        LocalCluster.create(Path(name) / "cluster", _NODES, settings={"log.level": "warning"}) as cluster,
    ):
        loads = [VerifiedLoad(one.acks, record_bytes=found.load.record_bytes) for one in found.acks]
        return [verify_load(load, cluster.bootstrap, folder / f"verified-acks-{load.acks}") for load in loads]


def exit_code(found: UnderFaults, verified: Sequence[Verified]) -> int:
    """A broken promise is no good figure, however fast."""
    checks = [*(one.checked for one in found.acks if one.checked is not None), *(one.checked for one in verified)]
    answers = [checked.valid for checked in checks]
    if False in answers:
        return FAILED
    return CANNOT_TELL if None in answers or any(one.doubts for one in found.acks) else DONE


def _say(text: str) -> None:
    print(text, flush=True)


def _parser() -> Parser:
    parser = Parser(
        prog="highwater bench faults",
        description="A level load while the leader is killed, a follower is paused and the leader is cut off: how deep the rate falls, for "
        "how long, at which latency, and how many acknowledged messages are lost. About three minutes for each acks setting.",
    )
    parser.add_argument("--kills", type=number_between(0, 1000), default=10, metavar="N", help="of the leader (default 10)")
    parser.add_argument("--others", type=number_between(0, 1000), default=3, metavar="N", help="pauses, and as many cuts (default 3)")
    parser.add_argument(
        "--acks", choices=("0", "1", "all"), nargs="+", default=["0", "1", "all"], help="settings to try (default all three)"
    )
    parser.add_argument("--rate", type=number_between(100, 100_000), default=2000, metavar="N", help="messages a second (default 2000)")
    parser.add_argument("--record-bytes", type=number_between(64, 1_000_000), default=1024, metavar="N", help="of a message (default 1024)")
    parser.add_argument("--verify", action="store_true", help="check every history on Spark, and measure what recording costs")
    parser.add_argument("--system", choices=("highwater", "kafka"), default="highwater", help="the brokers (default highwater)")
    parser.add_argument("--kafka-home", metavar="DIR", help="where kafka is installed (default: resolved from Maven Central)")
    parser.add_argument("--results", metavar="DIR", help="where runs and report go (default: results/ of this project)")
    return parser
