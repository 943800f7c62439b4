import msgspec
import pytest

from broker_impl.quorum.commands import (
    AllocateProducerIds,
    AlterConfigs,
    AlterConfigsReply,
    AlterIsr,
    AlterIsrReply,
    Command,
    ConfigEdit,
    ConfigOperation,
    ConfigResourceEdits,
    ConfigResult,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    ElectLeaders,
    ElectLeadersReply,
    Heartbeat,
    HeartbeatReply,
    IsrChange,
    IsrResult,
    MorePartitions,
    NewTopic,
    ProducerIdBlock,
    RegisterBroker,
    Registered,
    Reply,
)


@pytest.mark.parametrize(
    "command",
    [
        RegisterBroker(1, "run", "host", 9092, "rack", 7),
        Heartbeat(1, 7, 9, True),
        AlterIsr(1, 7, [IsrChange(b"t" * 16, 0, 3, 4, [(1, 7), (2, 8)])]),
        CreateTopics([NewTopic("a", 3, 2, None, {"retention.ms": "1", "flush.ms": None}), NewTopic("b", assignment=[(0, [1, 2])])], True),
        DeleteTopics(["a"], [b"t" * 16]),
        CreatePartitions([MorePartitions("a", 4, [[1], [2]])]),
        AlterConfigs([ConfigResourceEdits("topic", "a", [ConfigEdit("flush.ms", ConfigOperation.SET, "1")])]),
        ElectLeaders(True, [("a", 0)]),
        ElectLeaders(False),
        AllocateProducerIds(1, 7),
    ],
)
def test_a_command_arrives_as_it_was_sent(command: Command) -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(command), type=Command) == command


@pytest.mark.parametrize(
    "reply",
    [
        Registered(7),
        HeartbeatReply(True, False, 77, "stale"),
        AlterIsrReply([IsrResult(0, "", 1, 2, (1, 2), 3)]),
        AlterConfigsReply([ConfigResult("topic", "a", 40, "no")]),
        ElectLeadersReply([]),
        ProducerIdBlock(0, 1000),
    ],
)
def test_a_reply_arrives_as_it_was_sent(reply: Reply) -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(reply), type=Reply) == reply
