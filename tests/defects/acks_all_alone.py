"""With acks=all the leader answers as soon as the message is in its own log: it does not wait for the ISR.

Stands for brokers that treat all acks alike. What the followers had not
fetched when the leader died is acknowledged and gone.

Exposed by killing leaders under load.
"""

from broker_impl.plugins import replace
from broker_impl.protocol.errors import ErrorCode
from broker_impl.replication.partition import Partition, Role

ARM = "cluster"
PLAN = "cut-and-kill"
ANOMALIES = ("lost",)


def install() -> None:
    def ack_state(self: Partition, required_offset: int, leader_epoch: int) -> ErrorCode | None:
        leads = self.role is Role.LEADER and leader_epoch == self.leader_epoch
        return ErrorCode.NONE if leads else ErrorCode.NOT_LEADER_OR_FOLLOWER

    replace("broker_impl.replication.partition:Partition.ack_state", ack_state)
