"""Acknowledged messages outlive kill -9, long pauses and clean stops of leaders, followers, controllers, and of all at once."""

import random

import pytest

from tests.cluster.faults import Fault, Nemesis, seeded_faults
from tests.cluster.load import Load
from tests.cluster.storm import storm

ONE_OF_EACH = [
    Fault(0.0, "kill", "leader", 0.5),
    Fault(3.0, "pause", "leader", 4.5),
    Fault(9.0, "kill", "controller", 1.0),
    Fault(11.0, "pause", "controller", 4.0),
    Fault(12.0, "kill", "follower", 1.0),
    Fault(16.5, "elect", "all", 0.0),
    Fault(17.0, "stop", "leader", 0.0),
    Fault(19.0, "kill", "all", 0.5),
]
LONG_STORM_SECONDS = 180.0
KILLS = 50


def test_a_short_storm_with_one_of_each_loses_duplicates_and_reorders_nothing(tmp_path):
    storm(tmp_path, 3, lambda nemesis, _load: nemesis.run(ONE_OF_EACH), seed=11).check()


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("nodes", [3, 5])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_long_storm_loses_duplicates_and_reorders_nothing(tmp_path, nodes, seed):
    faults = seeded_faults(seed, LONG_STORM_SECONDS)
    storm(tmp_path, nodes, lambda nemesis, _load: nemesis.run(faults), seed=seed).check()


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("settings", [{"flush.messages": "1"}, {"min.insync.replicas": "1"}])
def test_a_long_storm_over_a_topic_with_other_settings(tmp_path, settings):
    """One replica in sync is enough here, because a killed process leaves the page cache whole and the last one in sync is waited for."""
    faults = seeded_faults(4, LONG_STORM_SECONDS)
    storm(tmp_path, 3, lambda nemesis, _load: nemesis.run(faults), seed=4, topic_settings=settings).check()


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("nodes", [3, 5])
def test_fifty_kills_lose_duplicate_and_reorder_nothing(tmp_path, nodes):
    rng = random.Random(nodes)

    def rage(nemesis: Nemesis, load: Load) -> None:
        for _ in range(KILLS):
            nemesis.run(
                [Fault(0.0, "kill", rng.choice(["leader", "follower", "controller", "two"]), rng.choice([0.0, rng.uniform(0.0, 4.0)]))]
            )
            load.await_more(rng.choice([1, 1, 200]))

    storm(tmp_path, nodes, rage, seed=nodes).check()
