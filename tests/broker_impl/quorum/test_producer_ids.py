from broker_impl.protocol.errors import ErrorCode
from broker_impl.quorum.commands import AllocateProducerIds, ProducerIdBlock
from tests.broker_impl.quorum.cluster import Cluster


def test_no_id_is_given_twice() -> None:
    cluster = Cluster(2)
    first = cluster.do(AllocateProducerIds(1, cluster.epoch(1)))
    second = cluster.do(AllocateProducerIds(2, cluster.epoch(2)))
    third = cluster.do(AllocateProducerIds(1, cluster.epoch(1)))
    assert [first, second, third] == [ProducerIdBlock(0, 1000), ProducerIdBlock(1000, 1000), ProducerIdBlock(2000, 1000)]


def test_an_old_incarnation_gets_no_block() -> None:
    cluster = Cluster(1)
    old = cluster.epoch(1)
    cluster.start(1)
    reply = cluster.do(AllocateProducerIds(1, old))
    assert isinstance(reply, ProducerIdBlock)
    assert (reply.error, reply.count, cluster.image.next_producer_id) == (ErrorCode.STALE_BROKER_EPOCH, 0, 0)
