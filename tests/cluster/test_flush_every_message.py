"""With flush.messages=1 what counts is on the disk, so every step of replication waits for one: it must not wait for ever."""

from tests.cluster.faults import Fault
from tests.cluster.storm import storm


def test_a_topic_that_flushes_every_message_outlives_its_leader_its_followers_and_all_at_once(tmp_path):
    faults = [Fault(0.0, "kill", "leader", 0.5), Fault(4.0, "kill", "all", 0.2)]
    storm(tmp_path, 3, lambda nemesis, _load: nemesis.run(faults), seed=1, topic_settings={"flush.messages": "1"}).check()
