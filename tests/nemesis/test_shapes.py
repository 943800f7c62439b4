"""Shapes that need more nodes than a small cluster has, on five real ones without brokers: who hears whom, by traffic of the test's own."""

import itertools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from harness.nodes import Nodes, create
from nemesis.nemesis import PROVEN, Nemesis
from tests.harness.nodes.kinds import missing
from tests.harness.nodes.traffic import traffic
from tests.nemesis.cluster import Running, planned, told

NO_BROKERS: Any = SimpleNamespace(ports=(), process=lambda node: None, find_process=lambda node: None)
EVERY_PAIR = set(itertools.permutations(("n1", "n2", "n3", "n4", "n5"), 2))
SHAPES = {
    ("halves", "n1+n4"): ["n1 n2", "n1 n3", "n1 n5", "n4 n2", "n4 n3", "n4 n5"],
    ("majorities-ring", "all"): ["n1 n3", "n1 n4", "n2 n4", "n2 n5", "n3 n5"],
    ("bridge", "n3"): ["n1 n4", "n1 n5", "n2 n4", "n2 n5"],
}


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    reason = missing("namespaces")
    if reason:
        pytest.skip(reason)
    with create("namespaces", 5, "shapes", tmp_path_factory.mktemp("five")) as nodes:
        yield nodes


@pytest.mark.parametrize("variant, target", SHAPES, ids=[variant for variant, _ in SHAPES])
def test_the_pairs_of_the_shape_do_not_hear_each_other_and_all_others_do(five, variant, target):
    cut = {pair for each in SHAPES[variant, target] for pair in itertools.permutations(each.split(), 2)}
    with traffic(five.client) as wires:
        for node in five.nodes:
            wires.listen(node)
        with Running(Nemesis(five, NO_BROKERS, seed=1), planned("partition", variant, target)) as struck:
            assert told(struck.proof())["ok"]
            assert wires.pairs(five.nodes) == EVERY_PAIR - cut
        assert struck.end()[0].state == PROVEN
        assert wires.pairs(five.nodes) == EVERY_PAIR
