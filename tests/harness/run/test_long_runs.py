"""Runs of minutes: much load without a fault, and storms."""

import json
import statistics
from pathlib import Path

import pytest

from harness.history.beside import Record, read_table
from harness.run.ending import count
from tests.harness.run.running import SMALL, RunProcess

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("namespaces"), pytest.mark.timeout(3600)]

HOUR = 3600.0
MEMORY_MAY_GROW = 1.2


def test_ten_minutes_of_20000_sends_a_second_are_accounted_for_and_the_memory_of_workers_stays_flat(tmp_path):
    load = ["--rate", "20000", "--linger-ms", "20", "--time-limit", "600", "--writes-per-partition", "400000"]
    flags = [*load, "--recovery", "300", "--no-check"]
    with RunProcess(tmp_path, "calm", *flags) as run:
        assert run.end(HOUR) == 0, run.text
    told = [statuses(run.folder, worker) for worker in (0, 1)]
    ends = [worker[-1] for worker in told]
    assert [end["state"] for end in ends] == ["ended", "ended"]
    found = count(run.folder)
    assert found.sends == sum(end["sends"]["sent"] for end in ends) >= 600 * 19_000
    assert found.acknowledged == sum(end["sends"]["ok"] for end in ends)
    assert (found.unknown + found.failed, found.never_read) == (found.sends - found.acknowledged, 0)
    records = read_table(run.folder, Record)
    assert records is not None and records.num_rows >= 3 * found.acknowledged
    for worker in told:
        assert_flat([status["memory_kb"] for status in worker if status["state"] == "running"])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_ten_minutes_of_storm_on_five_nodes_lose_nothing_acknowledged(tmp_path, seed):
    with RunProcess(tmp_path, "storm", "--seed", str(seed), "--recovery", "300") as run:
        code = run.end(HOUR)
    assert code == 0, run.text
    assert count(run.folder).never_read == 0
    assert " 0 unproven" in run.text
    assert "service was back at most" in run.text


def test_an_earlier_plan_is_run_again_on_the_nodes_it_found_then(tmp_path):
    flags = [*SMALL, "--time-limit", "12", "--fault", "kill@leader/at=1/lasts=5,pause@controller/at=6/lasts=4", "--no-check"]
    with RunProcess(tmp_path, *flags) as run:
        assert run.end() == 0, run.text
    first = run.folder
    with RunProcess(tmp_path, "--again", first.name.rpartition("-")[2], "--same-nodes", "--no-check") as run:
        assert run.end() == 0, run.text
    second = run.folder
    assert first != second
    assert planned(first, "kind", "start", "end") == planned(second, "kind", "start", "end")
    assert all("+" in selector or selector.startswith("n") for (selector,) in planned(second, "selector"))


def statuses(run: Path, worker: int) -> list[dict]:
    return [json.loads(line) for line in (run / "nodes" / "client" / f"worker-{worker}.out").read_text().splitlines()]


def assert_flat(memory: list[int]) -> None:
    """Later on no more than when everything had been used once."""
    early, late = memory[len(memory) // 5 : 2 * len(memory) // 5], memory[-len(memory) // 5 :]
    assert statistics.median(late) <= MEMORY_MAY_GROW * statistics.median(early), (statistics.median(early), statistics.median(late))


def planned(run: Path, *fields: str) -> list[tuple]:
    return [tuple(fault[field] for field in fields) for fault in json.loads((run / "plan.json").read_text())["scenario"]["faults"]]
