import pytest

from broker_impl.protocol.errors import ErrorCode
from broker_impl.quorum.commands import AlterConfigs, AlterConfigsReply, ConfigEdit, ConfigOperation, ConfigResourceEdits, ConfigResult
from tests.broker_impl.quorum.cluster import Cluster

SET, DELETE, APPEND, SUBTRACT = ConfigOperation.SET, ConfigOperation.DELETE, ConfigOperation.APPEND, ConfigOperation.SUBTRACT


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster(2)
    cluster.create("a", (1, 2))
    return cluster


def alter(cluster: Cluster, *edits: ConfigEdit, kind: str = "topic", name: str = "a", validate_only: bool = False) -> ConfigResult:
    reply = cluster.do(AlterConfigs([ConfigResourceEdits(kind, name, list(edits))], validate_only))
    assert isinstance(reply, AlterConfigsReply)
    return reply.results[0]


def test_one_key_is_set_and_removed_while_others_stay(cluster: Cluster) -> None:
    alter(cluster, ConfigEdit("retention.ms", SET, "1"), ConfigEdit("flush.ms", SET, "2"))
    alter(cluster, ConfigEdit("retention.ms", DELETE))
    assert cluster.image.config("topic", "a") == {"flush.ms": "2"}


def test_a_resource_changes_whole_or_not_at_all(cluster: Cluster) -> None:
    result = alter(cluster, ConfigEdit("retention.ms", SET, "1"), ConfigEdit("flush.ms", SET, "x"))
    assert result.error == ErrorCode.INVALID_CONFIG
    assert cluster.image.config("topic", "a") == {}


def test_resources_stand_alone(cluster: Cluster) -> None:
    bad = ConfigResourceEdits("topic", "z", [])
    good = ConfigResourceEdits("topic", "a", [ConfigEdit("flush.ms", SET, "2")])
    reply = cluster.do(AlterConfigs([bad, good]))
    assert isinstance(reply, AlterConfigsReply)
    assert [result.error for result in reply.results] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0]
    assert cluster.image.config("topic", "a") == {"flush.ms": "2"}


def test_what_is_only_validated_is_not_done(cluster: Cluster) -> None:
    before = cluster.image
    assert alter(cluster, ConfigEdit("flush.ms", SET, "2"), validate_only=True).error == 0
    assert alter(cluster, ConfigEdit("flush.ms", SET, "x"), validate_only=True).error == ErrorCode.INVALID_CONFIG
    assert cluster.image is before


def test_an_edit_that_changes_nothing_makes_no_record(cluster: Cluster) -> None:
    alter(cluster, ConfigEdit("flush.ms", SET, "2"))
    before = cluster.image
    assert alter(cluster, ConfigEdit("flush.ms", SET, "2"), ConfigEdit("retention.ms", DELETE)).error == 0
    assert cluster.image is before


def test_lists_are_appended_to_and_subtracted_from(cluster: Cluster) -> None:
    assert alter(cluster, ConfigEdit("cleanup.policy", APPEND, "delete")).error == 0
    assert cluster.image.config("topic", "a") == {"cleanup.policy": "delete"}
    assert alter(cluster, ConfigEdit("cleanup.policy", SUBTRACT, "compact")).error == 0
    assert alter(cluster, ConfigEdit("cleanup.policy", APPEND, "compact")).error == ErrorCode.INVALID_CONFIG
    assert alter(cluster, ConfigEdit("cleanup.policy", SUBTRACT, "delete")).error == ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(
    ("edits", "code"),
    [
        ([ConfigEdit("flush.ms", APPEND, "2")], ErrorCode.INVALID_CONFIG),
        ([ConfigEdit("no.such.key", SET, "2")], ErrorCode.INVALID_CONFIG),
        ([ConfigEdit("no.such.key", APPEND, "2")], ErrorCode.INVALID_CONFIG),
        ([ConfigEdit("flush.ms", SET, None)], ErrorCode.INVALID_REQUEST),
        ([ConfigEdit("flush.ms", 9, "2")], ErrorCode.INVALID_REQUEST),
        ([ConfigEdit("flush.ms", SET, "2"), ConfigEdit("flush.ms", DELETE)], ErrorCode.INVALID_REQUEST),
    ],
)
def test_senseless_edits_are_refused(cluster: Cluster, edits: list[ConfigEdit], code: ErrorCode) -> None:
    assert alter(cluster, *edits).error == code


def test_brokers_have_settings_each_and_together(cluster: Cluster) -> None:
    edit = ConfigEdit("log.retention.ms", SET, "5")
    assert alter(cluster, edit, kind="broker", name="").error == 0
    assert alter(cluster, edit, kind="broker", name="1").error == 0
    assert alter(cluster, edit, kind="broker", name="9").error == ErrorCode.INVALID_REQUEST
    assert alter(cluster, ConfigEdit("node.id", SET, "5"), kind="broker", name="1").error == ErrorCode.INVALID_CONFIG
    assert set(cluster.image.configs) == {("broker", ""), ("broker", "1")}


def test_other_kinds_and_repeated_resources_are_refused(cluster: Cluster) -> None:
    assert alter(cluster, kind="client").error == ErrorCode.INVALID_REQUEST
    twice = ConfigResourceEdits("topic", "a", [ConfigEdit("flush.ms", SET, "2")])
    reply = cluster.do(AlterConfigs([twice, twice]))
    assert isinstance(reply, AlterConfigsReply)
    assert [result.error for result in reply.results] == [0, ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize(("kind", "name"), [("topic", "a"), ("broker", "")])
def test_allowing_unclean_elections_revives_what_waits(cluster: Cluster, kind: str, name: str) -> None:
    cluster.alter(1, cluster.isr_change("a", 1))
    cluster.fence(1)
    alter(cluster, ConfigEdit("unclean.leader.election.enable", SET, "true"), kind=kind, name=name)
    assert (cluster.partition("a").leader, cluster.partition("a").isr) == (2, (2,))


def test_how_many_replicas_must_be_in_sync_cannot_be_set_on_one_broker(cluster: Cluster) -> None:
    edit = ConfigEdit("min.insync.replicas", SET, "2")
    assert alter(cluster, edit, kind="broker", name="1").error == ErrorCode.INVALID_CONFIG
    assert alter(cluster, edit, kind="broker", name="").error == ErrorCode.NONE


def test_fewer_replicas_that_must_be_in_sync_make_nobody_eligible_any_more(cluster: Cluster) -> None:
    alter(cluster, ConfigEdit("min.insync.replicas", SET, "2"))
    cluster.fence(2)
    assert (cluster.partition("a").isr, cluster.partition("a").elr) == ((1,), (2,))
    for value in ("1", "2"):
        alter(cluster, ConfigEdit("min.insync.replicas", SET, value))
        assert cluster.partition("a").elr == ()


def test_a_leader_that_has_not_heard_that_more_must_be_in_sync_cannot_drop_anybody(cluster: Cluster) -> None:
    late = cluster.isr_change("a", 1)
    alter(cluster, ConfigEdit("min.insync.replicas", SET, "2"))
    assert cluster.alter(1, late).error == ErrorCode.INVALID_UPDATE_VERSION
    assert cluster.partition("a").isr == (1, 2)
    assert cluster.alter(1, cluster.isr_change("a", 1)).error == ErrorCode.NONE
    assert cluster.partition("a").elr == (2,)
