"""When a cluster is at rest, from what brokers and files say."""

from types import SimpleNamespace
from typing import Any

import pytest

from harness.run import final_phase
from harness.run.final_phase import await_rest, look
from harness.systems.replica_files import LogSpan
from harness.systems.system import Leadership
from workloads.final_reads import PartitionEnd

NODES: Any = SimpleNamespace(nodes=[SimpleNamespace(name=name) for name in ("n1", "n2", "n3")])
PLACE = ("t1", 0)


class Cluster:
    """Three replicas of one partition; `moments` are what the files show at each look."""

    def __init__(self, monkeypatch, *moments, isr=("n1", "n2", "n3"), leader="n1"):
        self._moments = [dict(zip(("n1", "n2", "n3"), moment, strict=True)) for moment in moments]
        self._isr, self._leader = isr, leader
        self._looks = -1
        monkeypatch.setattr(final_phase, "log_spans", lambda node, _: {PLACE: LogSpan(0, self._now[node.name])})
        monkeypatch.setattr(final_phase, "LOOK_AGAIN_S", 0.0)

    def leaders(self):
        self._looks += 1
        return {PLACE: Leadership(self._leader, 1, ("n1", "n2", "n3"), self._isr)}

    def data_path(self, node):
        return node

    @property
    def _now(self):
        return self._moments[min(self._looks, len(self._moments) - 1)]


def rest(cluster, patience=60.0):
    return await_rest(lambda: look(cluster, NODES, {PLACE}), patience, lambda _: None)


def test_an_end_that_all_replicas_have_twice_is_the_end(monkeypatch):
    assert rest(Cluster(monkeypatch, (5, 5, 5))).ends == (PartitionEnd("t1", 0, 0, 5),)


def test_an_end_that_moves_between_two_looks_is_not_yet_the_end(monkeypatch):
    cluster = Cluster(monkeypatch, (5, 5, 5), (6, 6, 6), (7, 7, 6), (7, 7, 7), (7, 7, 7))
    assert rest(cluster).ends == (PartitionEnd("t1", 0, 0, 7),)


@pytest.mark.parametrize(
    "cluster, words",
    [
        ({"isr": ("n1", "n2")}, "t1-0 has no full ISR: n3 missing"),
        ({"leader": None}, "t1-0 has no leader"),
    ],
)
def test_what_is_not_at_rest_is_named(monkeypatch, cluster, words):
    assert rest(Cluster(monkeypatch, (5, 5, 5), **cluster), patience=0.0).unrest == words


def test_replicas_that_end_at_different_offsets_are_named(monkeypatch):
    unrest = rest(Cluster(monkeypatch, (5, 4, 5)), patience=0.0).unrest
    assert unrest == "the replicas of t1-0 end at 5 (n1), 4 (n2), 5 (n3)"


def test_a_partition_nobody_knows_is_not_at_rest(monkeypatch):
    cluster: Any = Cluster(monkeypatch, (5, 5, 5))
    assert look(cluster, NODES, {("t2", 0)}) == "t2-0 has no leader"
