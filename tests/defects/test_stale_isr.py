"""The wish of a deposed leader, with the defect and without: a guard elsewhere in the controller once kept the defect from being one."""

import pytest

from broker_impl import plugins
from broker_impl.quorum import partitions
from harness.prove.defects import find_defects
from tests.broker_impl.quorum.cluster import Cluster


@pytest.fixture
def broken(monkeypatch):
    (defect,) = find_defects(["stale-isr-accepted"])
    for name in ("_compare", "with_state"):
        monkeypatch.setattr(partitions, name, getattr(partitions, name))  # and so put back afterwards
    plugins.load(str(defect.path))


def state_after_the_wish_of_a_deposed_leader():
    cluster = Cluster(3)
    cluster.create("orders", (1, 2, 3))
    alone = cluster.isr_change("orders", 1)
    cluster.fence(1)
    cluster.alter(1, alone)
    cluster.heartbeat(1)
    partition = cluster.partition("orders")
    return partition.leader, partition.isr


def test_a_deposed_leader_that_wishes_the_others_away_leads_again(broken):
    assert state_after_the_wish_of_a_deposed_leader() == (1, (1,))


def test_the_sound_controller_leaves_its_successor_in_office():
    assert state_after_the_wish_of_a_deposed_leader() == (2, (2, 3))
