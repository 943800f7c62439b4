"""Partitions: their shapes as sets, and their effect on real nodes seen by traffic of the tests' own."""

import itertools
import time

import pytest

from nemesis.nemesis import PROVEN, UNPROVEN
from nemesis.partition import judge, shape
from nemesis.probe import Heard
from nemesis.targets import PartitionView
from tests.harness.nodes.traffic import connect, traffic
from tests.nemesis.cluster import Running, answers, fill, planned, told

NODES = ("n1", "n2", "n3", "n4", "n5")


def cut_pairs(variant, nodes, targets, **more):
    return shape(variant, nodes, targets, "client", **more)


def test_halves_and_one_cut_the_target_from_all_others_both_ways():
    for variant in ("halves", "one"):
        cuts = cut_pairs(variant, NODES, ["n1", "n2"])
        assert cuts == {(a, b) for a, b in itertools.permutations(NODES, 2) if (a in ("n1", "n2")) != (b in ("n1", "n2"))}


@pytest.mark.parametrize("count", range(4, 10))
def test_in_a_ring_every_node_hears_a_majority_and_no_two_the_same(count):
    nodes = [f"n{number}" for number in range(count)]
    cuts = cut_pairs("majorities-ring", nodes, nodes)
    heard = [frozenset(sender for sender in nodes if (receiver, sender) not in cuts) for receiver in nodes]
    assert all(len(group) > count / 2 for group in heard)
    assert len(set(heard)) == count
    assert cuts == {(sender, receiver) for receiver, sender in cuts}


def test_a_bridge_hears_both_sides_which_do_not_hear_each_other():
    cuts = cut_pairs("bridge", NODES, ["n3"])
    assert not any("n3" in pair for pair in cuts)
    assert cuts == {(a, b) for a, b in itertools.permutations(NODES, 2) if {a, b} & {"n1", "n2"} and {a, b} & {"n4", "n5"}}


def test_one_way_loses_what_is_sent_or_what_is_received():
    assert cut_pairs("one-way", NODES[:3], ["n1"], lost="sent") == {("n2", "n1"), ("n3", "n1")}
    assert cut_pairs("one-way", NODES[:3], ["n1"], lost="received") == {("n1", "n2"), ("n1", "n3")}


def test_clients_lose_a_leader_or_its_answers_alone_or_what_they_ask_it():
    assert cut_pairs("clients-from-leader", NODES[:3], ["n1"], lost="all") == {("client", "n1"), ("n1", "client")}
    assert cut_pairs("clients-from-leader", NODES[:3], ["n1"], lost="sent") == {("client", "n1")}
    assert cut_pairs("clients-from-leader", NODES[:3], ["n1"], lost="received") == {("n1", "client")}


def test_a_leader_is_cut_from_its_followers_and_from_nobody_else():
    partition = PartitionView("t", 0, "n2", ("n2", "n4", "n1"), ("n2", "n4"))
    assert cut_pairs("leader-from-isr", NODES, ["n2"], partition=partition) == {("n2", "n4"), ("n4", "n2"), ("n2", "n1"), ("n1", "n2")}


def test_a_pair_is_judged_in_its_direction():
    silent, heard = Heard("n1", "n2", 0, False), Heard("n1", "n2", 3, True)
    assert judge(silent, {("n1", "n2")}) is None
    assert judge(heard, set()) is None
    assert "came through" in str(judge(heard, {("n1", "n2")}))
    assert "no datagram" in str(judge(silent, set()))
    assert judge(Heard("n1", "n2", 3, False), {("n2", "n1")}) is None
    assert "connection was made" in str(judge(heard, {("n2", "n1")}))
    assert judge(silent, set(), others={("n1", "n2")}) is None


def test_a_node_is_cut_from_the_others_until_it_is_healed(nodes, system, nemesis):
    first, second, third = nodes.nodes
    with traffic(nodes.client) as wires:
        for node in nodes.nodes:
            wires.listen(node)
        with Running(nemesis, planned("partition", "one", "n1")) as struck:
            assert told(struck.proof())["cut"] == ["n1>n2", "n1>n3", "n2>n1", "n3>n1"]
            assert not wires.arrives(first, second) and not wires.arrives(second, first)
            assert wires.arrives(second, third) and wires.arrives(nodes.client, first)
            assert connect(third, first.address, timeout=0.4) == "TimeoutError None"
        assert struck.end()[0].state == PROVEN
        assert wires.arrives(first, second) and wires.arrives(second, first)
        assert all(node.network.rules() == frozenset() for node in nodes.everyone)
    fill(nodes, system, "made-after-the-heal", 2)


def test_one_direction_is_cut(nodes, nemesis):
    first, second, _ = nodes.nodes
    with traffic(nodes.client) as wires:
        wires.listen(first)
        wires.listen(second)
        with Running(nemesis, planned("partition", "one-way", "n1", lost="received")) as struck:
            struck.proof()
            assert wires.arrives(first, second)
            assert not wires.arrives(second, first)
        assert struck.end()[0].state == PROVEN


def test_clients_are_cut_from_the_leader_and_the_harness_is_not(nodes, system, nemesis):
    before = {found.leader for found in system.leaders().values()}
    with Running(nemesis, planned("partition", "clients-from-leader", "leader")) as struck:
        [leader] = struck.proof().targets
        assert leader in before | {found.leader for found in system.leaders().values()}
        assert not answers(nodes, system, leader)
        assert system.is_up(leader)
    assert struck.end()[0].state == PROVEN
    assert answers(nodes, system, leader)


def test_a_leader_loses_its_followers_and_keeps_its_clients(nodes, system, nemesis):
    with Running(nemesis, planned("partition", "leader-from-isr", "leader")) as struck:
        [leader] = struck.proof().targets
        assert answers(nodes, system, leader)
        followers = [node for node in nodes.nodes if node.name != leader]
        address = next(node.address for node in nodes.nodes if node.name == leader)
        assert all(connect(node, address, system.ports[0], timeout=0.4) == "TimeoutError None" for node in followers)
    assert struck.end()[0].state == PROVEN


def test_a_partition_whose_rules_were_removed_behind_its_back_is_unproven(nodes, nemesis, monkeypatch):
    monkeypatch.setattr(type(nodes.nodes[0].network), "block", lambda *arguments, **more: None)
    [row] = nemesis.run([planned("partition", "one", "n1", end=0.5)], time.monotonic())
    assert row.state == UNPROVEN
    assert told(row)["wrong"]


def test_healing_one_partition_leaves_the_cuts_of_another(nodes, nemesis):
    cuts = nemesis.world.cuts
    cuts.cut(1, {("n1", "n2"), ("n1", "n3")})
    cuts.cut(2, {("n1", "n2")})
    cuts.heal(1)
    assert {rule.source for rule in nodes.nodes[0].network.rules()} == {nodes.nodes[1].address}
    assert cuts.wanted_by({("n1", "n2")}, 1) == (2,)
    cuts.heal(2)
    assert nodes.nodes[0].network.rules() == frozenset()
