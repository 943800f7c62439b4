"""What a run leaves behind: everything worth keeping in its folder, nothing anywhere else.

Each step is taken though the one before failed, because it is most wanted after a failure. What could not be saved is told and is a
doubt: a log that is missing may be the one that mattered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from harness.history.beside import Event, Fault, write_rows
from harness.history.convert import convert_leftovers
from harness.history.stalls import stall_events
from harness.nodes import Node
from harness.run.cluster import Cluster
from harness.run.events import events_in
from harness.run.folder import RunFolder
from harness.run.outcome import Death
from harness.run.record import RunRecord
from harness.run.workers import Workers

DIED = "broker-died"
Step = tuple[str, Callable[[], object]]


def empty_nodes(cluster: Cluster | None, workers: Workers | None, folder: RunFolder) -> list[str]:
    """End the clients, bring home what the nodes hold, end the nodes. What went wrong with it."""
    if cluster is None:
        return []
    client = cluster.client
    steps: list[Step] = []
    if workers is not None:
        steps = [
            ("ending the workers", workers.kill),
            ("fetching the history", lambda: client.fetch(folder.path)),
            ("collecting the clients' logs", lambda: _collect(client.node, workers.logs, folder.nodes / client.node.name)),
        ]
    logs = ("collecting the brokers' logs", lambda: cluster.collect_logs(folder.nodes))
    return _take([*steps, logs, ("leaving the cluster", cluster.close)])


def write_files(
    folder: RunFolder, record: RunRecord, faults: Sequence[Fault], deaths: Sequence[Death], our_clock: Collection[str]
) -> list[str]:
    """The files beside the history, from what was collected. What went wrong with it."""
    run = folder.path
    record.leave()
    return _take(
        [
            ("saving what workers left", lambda: convert_leftovers(run)),
            ("writing faults.parquet", lambda: write_rows(run, Fault, faults)),
            ("writing events.parquet", lambda: write_rows(run, Event, _events(folder, record, deaths, our_clock))),
            ("writing plan.json", lambda: record.write(run)),
        ]
    )


def _take(steps: Sequence[Step]) -> list[str]:
    wrong = []
    for what, step in steps:
        try:
            step()
        except Exception as problem:
            wrong.append(f"{what}: {problem}")
    return wrong


def _events(folder: RunFolder, record: RunRecord, deaths: Sequence[Death], our_clock: Collection[str]) -> Iterator[Event]:
    for log in sorted(folder.nodes.glob("*/broker.log")):
        node = log.parent.name
        yield from events_in(log, node, record.base_ns if node in our_clock else None)
    for death in deaths:
        yield Event(death.t, death.node, DIED, detail=json.dumps({"code": death.code, "restarted": death.restarted}))
    yield from stall_events(folder.path)


def _collect(node: Node, files: Sequence[str], into: Path) -> None:
    into.mkdir(parents=True, exist_ok=True)
    for name in files:
        with suppress(FileNotFoundError):
            (into / name).write_bytes(node.get(name))
