"""Roles become nodes when the fault strikes, and the same randomness and view give the same nodes."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nemesis.targets import ROLES, ClusterView, NoTarget, PartitionView, Selector, parse_selector, partition_to_cut, select

NODES = ("n1", "n2", "n3", "n4", "n5")
PARTITIONS = (
    PartitionView("a", 0, "n1", ("n1", "n2", "n3"), ("n1", "n2", "n3")),
    PartitionView("a", 1, "n4", ("n4", "n5", "n2"), ("n4", "n5")),
    PartitionView("b", 0, None, ("n5",), ()),
)
VIEW = ClusterView(NODES, frozenset(NODES), "n2", PARTITIONS, {"cut": ("n4",)})


def struck(text, view=VIEW, seed=1):
    return select(parse_selector(text), random.Random(seed), view)


@pytest.mark.parametrize("role, count", [("one", 1), ("minority", 2), ("majority", 3), ("all", 5)])
def test_a_number_of_nodes_is_drawn(role, count):
    assert len(set(struck(role))) == count


@pytest.mark.parametrize("nodes, minority, majority", [(1, 1, 1), (2, 1, 2), (3, 1, 2), (4, 1, 3), (7, 3, 4)])
def test_minority_and_majority_of_any_number_of_nodes(nodes, minority, majority):
    view = ClusterView(tuple(f"n{i}" for i in range(nodes)), frozenset())
    assert (len(struck("minority", view)), len(struck("majority", view))) == (minority, majority)


def test_leaders_are_all_nodes_that_lead_something():
    assert struck("leaders") == ("n1", "n4")


def test_a_leader_is_one_of_them():
    assert {struck("leader", seed=seed) for seed in range(30)} == {("n1",), ("n4",)}


def test_followers_are_those_of_one_partition_that_has_a_leader():
    assert {struck("followers", seed=seed) for seed in range(30)} == {("n2", "n3"), ("n2", "n5")}


def test_a_follower_is_one_of_them_and_one_that_lives_if_any_does():
    assert {struck("follower", seed=seed) for seed in range(60)} == {("n2",), ("n3",), ("n5",)}
    down = replace(VIEW, up=frozenset({"n1", "n2", "n4"}))
    assert {struck("follower", down, seed) for seed in range(60)} == {("n2",)}


def test_the_controller_is_the_one_that_is_known_now():
    assert struck("controller") == ("n2",)


def test_nodes_are_found_by_name_in_the_order_of_the_cluster():
    assert struck("n5+n1") == ("n1", "n5")


def test_a_fault_strikes_whom_another_struck():
    assert struck("as:cut") == ("n4",)


def test_nodes_that_are_down_are_drawn_last():
    view = ClusterView(NODES, frozenset({"n3", "n5"}))
    assert all(set(struck("minority", view, seed)) == {"n3", "n5"} for seed in range(20))
    assert all({"n3", "n5"} < set(struck("majority", view, seed)) for seed in range(20))


@pytest.mark.parametrize("text", ["controller", "leader", "leaders", "follower", "followers", "as:cut", "n9"])
def test_a_role_that_nobody_has_is_no_target(text):
    with pytest.raises(NoTarget):
        struck(text, ClusterView(NODES, frozenset(NODES)))


@pytest.mark.parametrize("text", ["", "n1+", "n1+n1", "as:", "n 1", "+"])
def test_what_is_no_selector_is_refused(text):
    with pytest.raises(ValueError):
        parse_selector(text)


@pytest.mark.parametrize("text", [*ROLES, "n1", "n1+n3", "as:cut"])
def test_a_selector_reads_back_as_it_is_written(text):
    assert str(parse_selector(text)) == text


def test_the_leader_that_is_cut_keeps_its_way_to_the_controller():
    away = ClusterView(NODES, frozenset(NODES), "n3", PARTITIONS)
    assert {partition_to_cut(Selector("leader"), random.Random(seed), away).partition for seed in range(20)} == {1}


def test_where_every_follower_is_a_controller_a_partition_is_cut_all_the_same():
    view = ClusterView(("n1", "n2"), frozenset(), "n2", (PartitionView("a", 0, "n1", ("n1", "n2"), ("n1", "n2")),))
    assert partition_to_cut(Selector("leader"), random.Random(1), view).leader == "n1"


def test_only_partitions_of_the_target_are_cut():
    assert partition_to_cut(parse_selector("n4"), random.Random(1), VIEW).partition == 1
    with pytest.raises(NoTarget):
        partition_to_cut(parse_selector("n5"), random.Random(1), VIEW)


@given(st.sampled_from(sorted(ROLES)), st.integers(), st.sets(st.sampled_from(NODES)))
def test_the_same_randomness_and_view_give_the_same_nodes(role, seed, up):
    view = ClusterView(NODES, frozenset(up), "n2", PARTITIONS)
    chosen = struck(role, view, seed)
    assert chosen == struck(role, view, seed)
    assert chosen and set(chosen) <= set(NODES) and list(chosen) == sorted(set(chosen))
