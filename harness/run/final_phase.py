"""The end of a run, when the clients have stopped: wait until the cluster has come to rest, read all of it, dump every replica.

At rest means: every partition has a leader and a full ISR, all its replicas end at one offset, and a second look finds the same. That
offset, and not what a broker calls the latest, is where the final reads go to: a new leader's high watermark lags, and what was not read
would look lost.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from harness.errors import EnvironmentFault
from harness.history.beside import Batch, Record, RowsWriter
from harness.nodes import Nodes, Process
from harness.run.client_node import ClientNode
from harness.run.cluster import Place
from harness.run.workers import PLAN
from harness.systems.replica_files import LogSpan, log_spans
from harness.systems.system import ReplicaLog, System
from workloads.final_reads import PartitionEnd, save_ends

LOOK_AGAIN_S = 1.0
COMPLETE, INCOMPLETE = 0, 2
_ENDS = "ends.json"
_READER_OUT, _READER_ERR = "final-reads.out", "final-reads.err"
_STOP_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Rest:
    """The cluster at rest; or `unrest`, what was still moving when patience ended."""

    ends: tuple[PartitionEnd, ...] = ()
    unrest: str | None = None


def await_rest(look: Callable[[], dict[Place, LogSpan] | str], patience: float, tell: Callable[[str], None]) -> Rest:
    """`look`: the cluster's own."""
    deadline = time.monotonic() + patience
    before: dict[Place, LogSpan] | None = None
    while True:
        found = look()
        if isinstance(found, dict) and found == before:
            return Rest(tuple(PartitionEnd(*place, *found[place]) for place in sorted(found)))
        if time.monotonic() > deadline:
            return Rest(unrest=found if isinstance(found, str) else "the logs still grow")
        tell(found if isinstance(found, str) else "looking a second time")
        before = found if isinstance(found, dict) else None
        time.sleep(LOOK_AGAIN_S)


def look(system: System, nodes: Nodes, places: set[Place]) -> dict[Place, LogSpan] | str:
    """Where each partition starts and ends, if its replicas agree; else what keeps one from being at rest."""
    leaders = system.leaders()
    for place in sorted(places):
        leadership = leaders.get(place)
        if leadership is None or leadership.leader is None:
            return f"{_named(place)} has no leader"
        if missing := set(leadership.replicas) - set(leadership.isr):
            return f"{_named(place)} has no full ISR: {', '.join(sorted(missing))} missing"
    with ThreadPoolExecutor(len(nodes.nodes)) as pool:
        try:
            read = list(pool.map(lambda node: log_spans(node, system.data_path(node.name)), nodes.nodes))
        except EnvironmentFault as problem:
            return str(problem)
    spans = {node.name: found for node, found in zip(nodes.nodes, read, strict=True)}
    agreed: dict[Place, LogSpan] = {}
    for place in sorted(places):
        ends = {replica: spans[replica].get(place, LogSpan(0, 0)) for replica in leaders[place].replicas}
        if len({span.end for span in ends.values()}) != 1:
            return f"the replicas of {_named(place)} end at {', '.join(f'{span.end} ({node})' for node, span in ends.items())}"
        agreed[place] = ends[str(leaders[place].leader)]
    return agreed


def _named(place: Place) -> str:
    return f"{place[0]}-{place[1]}"


class FinalReads:
    """One reader on the clients' node, from `start` until `ended` is not None."""

    def __init__(self, client: ClientNode, work: Path, ends: Sequence[PartitionEnd], worker: int) -> None:
        self._client = client
        save_ends(work / _ENDS, ends)
        client.node.put(_ENDS, work / _ENDS)
        arguments = ["--plan", PLAN, "--ends", _ENDS, "--worker", str(worker)]
        self._process: Process = client.start_module("workloads.final_reads", arguments, out=_READER_OUT, err=_READER_ERR)

    def wait(self, seconds: float) -> int | None:
        """Its exit code, or nothing if it still reads."""
        return self._client.node.wait(self._process, seconds)

    def progress(self) -> str:
        lines = self._client.node.run(["tail", "-n", "1", _READER_OUT]).out.decode(errors="replace")
        with suppress(ValueError, KeyError, TypeError):
            status: Mapping[str, int] = json.loads(lines)
            return f"{status['messages']:,} messages read, {status['partitions_left']} partitions left"
        return ""

    def last_words(self) -> str:
        said = self._client.node.get(_READER_ERR).decode(errors="replace").strip().splitlines()
        return said[-1] if said else "without a word"


def stop_brokers(system: System, nodes: Nodes) -> list[str]:
    """All at once and in order; those that had to be killed. Their high watermarks are then on disk, exactly."""

    def stop(node: str) -> str | None:
        if system.stop_node(node, _STOP_TIMEOUT):
            return None
        system.kill_node(node)
        return node

    with ThreadPoolExecutor(len(nodes.nodes)) as pool:
        return [node for node in pool.map(stop, [node.name for node in nodes.nodes]) if node is not None]


def dump_replicas(system: System, run: Path, topics: set[str], value_of: Callable[[bytes], int | None]) -> int:
    """Every replica's log of these topics into batches.parquet and records.parquet; how many records."""
    count = 0
    with RowsWriter(run, Batch) as batches, RowsWriter(run, Record) as records:
        for replica in system.dump(value_of):
            if replica.topic in topics:
                _add(batches, replica, replica.batches)
                _add(records, replica, replica.records)
                count += len(replica.records["offset"])
    return count


def _add(writer: RowsWriter, replica: ReplicaLog, columns: Mapping[str, Any]) -> None:
    rows = len(next(iter(columns.values())))
    if rows:
        place = {"node": replica.node, "topic": replica.topic, "part": pa.scalar(replica.part, pa.int32())}
        writer.add_columns({name: pa.repeat(value, rows) for name, value in place.items()} | dict(columns))
