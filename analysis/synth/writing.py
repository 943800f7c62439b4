"""The job: a task a file, each made from the plan alone, and beside them finals, plan and the truth.

A task holds the rows of one bucket at a time, so its memory is bounded by ROWS_A_FILE however many rows the history has and
however they are spread. A file appears whole, and the same whenever it is made: a task that is tried again changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]

from analysis.synth.piece import FINAL_BLOCKS, POLL_NS
from analysis.synth.plan import ROWS_A_FILE, PartitionPlan, SynthesisError, SynthPlan, plan_history
from analysis.synth.rows import NAMES, idle_rows, piece_rows
from harness.history.beside import Final, write_rows
from harness.history.buckets import bucket_of
from harness.history.files import finished_path, history_directory, write_atomically
from harness.history.layout import BucketFileWriter
from harness.history.plan import Plan, Promises, write_plan
from harness.history.schema import DEFAULT_BUCKETS, NO_PARTITION

TRUTH_FILE = "truth.json"
DEFAULT_PARTITIONS = 64

Each = Callable[[Callable[[int], None], Sequence[int]], None]
"""Calls a function once for each number, wherever and in whatever order."""

_PROMISES = Promises(
    acks="all",
    replicas=3,
    min_insync=2,
    unclean=False,
    flush=False,
    idempotence=True,
    in_flight=5,
    isolation="read_uncommitted",
    assignment="assign",
    progress=False,
)


def synthesise(
    out: Path,
    rows: int,
    inject: Mapping[str, int],
    seed: int,
    *,
    partitions: int = DEFAULT_PARTITIONS,
    hot: float | None = None,
    rows_a_file: int = ROWS_A_FILE,
    each: Each | None = None,
) -> SynthPlan:
    """Write a history to a folder that has none yet. `each` spreads the tasks; without it they run here, one after the other."""
    plan = plan_history(rows, inject, seed, partitions=partitions, hot=hot, rows_a_file=rows_a_file)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SynthesisError(f"{out} is there already and not empty; name a new folder")
    history_directory(out).mkdir(parents=True, exist_ok=True)
    (each or _here)(WriteFile(plan, out), range(plan.files))
    write_rows(out, Final, _finals(plan))
    write_plan(out, Plan(seed, _PROMISES, scenario={"synthetic": {"rows": rows, "partitions": partitions, "hot": hot}}))
    write_atomically(out / TRUTH_FILE, (json.dumps(_truth(plan, inject), indent=2) + "\n").encode())
    return plan


class WriteFile:
    """What a task does. It may be sent to another process."""

    def __init__(self, plan: SynthPlan, out: Path) -> None:
        self._plan, self._out = plan, out

    def __call__(self, file: int) -> None:
        plan = self._plan
        with BucketFileWriter(finished_path(self._out, 1, file), DEFAULT_BUCKETS, NAMES) as writer:
            _write(writer, NO_PARTITION, [idle_rows(plan, file)])
            for bucket, members in sorted(_by_bucket(plan).items()):
                _write(writer, bucket, (piece_rows(plan, one, file) for one in members))


def _here(task: Callable[[int], None], numbers: Sequence[int]) -> None:
    for number in numbers:
        task(number)


def _write(writer: BucketFileWriter, bucket: int, tables: Iterable[pa.Table]) -> None:
    rows = pa.concat_tables(tables)
    if rows.num_rows:
        writer.write(bucket, rows)


def _by_bucket(plan: SynthPlan) -> dict[int, list[PartitionPlan]]:
    members: dict[int, list[PartitionPlan]] = {}
    for one in plan.partitions:
        members.setdefault(bucket_of(NAMES["topic"][0], one.part), []).append(one)
    return members


def _finals(plan: SynthPlan) -> Iterable[Final]:
    for one in plan.partitions:
        ended = plan.final_start + (2 + one.blocks // FINAL_BLOCKS) * POLL_NS
        process, last = plan.numbering.final_reader(one.part), one.end - 1 if one.end else None
        yield Final(NAMES["topic"][0], one.part, 0, one.end, last, process, plan.final_start, ended)


def _truth(plan: SynthPlan, inject: Mapping[str, int]) -> dict[str, object]:
    sites = sorted((site for one in plan.partitions for site in one.sites), key=lambda site: site.number)
    return {
        "version": 1,
        "rows": plan.rows,
        "seed": plan.seed,
        "injected": dict(inject),
        "anomalies": plan.truth(),
        "sites": [asdict(site) for site in sites],
    }
