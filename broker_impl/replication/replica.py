"""One partition as this broker holds it: the pure state machine and the log under it, moved together.

Everything that changes a log tells the state machine its new end in the same step, so the two never disagree about
what is stored. A replica whose log failed (an fsync error, corruption met below the end) is offline: it refuses
everything until the broker is restarted, because what it holds can no longer be trusted.
"""

from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.replication.partition import Partition
from broker_impl.storage.log import Appended, Log, LogSlice


class Replica:
    __slots__ = ("index", "known_isr", "log", "state", "topic")

    def __init__(self, log: Log, state: Partition) -> None:
        self.topic = log.topic
        self.index = log.partition
        self.log = log
        self.state = state
        self.known_isr: tuple[int, ...] = ()
        """As the newest image has it; the state machine may know of a change before the image does."""

    def __str__(self) -> str:
        return f"{self.topic}-{self.index}"

    def check_online(self) -> None:
        if self.log.failed is not None:
            raise BrokerError(ErrorCode.KAFKA_STORAGE_ERROR, self.log.failed)

    def append(self, batches: memoryview, acks: int, wall_ms: int, now: float) -> tuple[Appended, bool]:
        """As the leader. Hot path: one header, one checksum, one write. The second value: whether the high watermark moved."""
        self.check_online()
        self.state.may_append(acks)
        appended = self.log.append_as_leader(batches, self.state.leader_epoch, wall_ms)
        return appended, self.state.appended(self.log.end_offset, now)

    def replicate(self, batches: memoryview, now: float) -> Appended | None:
        """As a follower: what the leader sent, already numbered. A disk that fills up may end it half-way."""
        try:
            return self.log.append_as_follower(batches)
        finally:
            self.state.appended(self.log.end_offset, now)

    def read_for_consumer(self, offset: int, max_bytes: int, at_least_one: bool) -> LogSlice:
        """Only what is below the high watermark, so that nobody sees a record that a failover may take back."""
        watermark = self.state.high_watermark
        if offset > watermark:
            if offset <= self.log.end_offset:
                return LogSlice(None, 0, 0)
            raise BrokerError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{offset} is past the end {watermark}")
        return self.log.read(offset, max_bytes, watermark, at_least_one=at_least_one)

    def read_for_follower(self, offset: int, max_bytes: int, at_least_one: bool) -> LogSlice:
        return self.log.read(offset, max_bytes, self.log.end_offset, at_least_one=at_least_one)

    def truncate(self, offset: int) -> None:
        self.log.truncate_to(offset)
        self.state.truncated(self.log.end_offset)

    def restart_at(self, offset: int) -> None:
        self.log.restart_at(offset)
        self.state.truncated(self.log.end_offset)

    @property
    def flush_counts(self) -> bool:
        """Whether only what was flushed counts as stored."""
        return self.log.config.flush_messages == 1

    @property
    def awaits_flush(self) -> bool:
        """Whether this replica holds more than it may claim to have."""
        return self.flush_counts and self.log.flushed_offset < self.log.end_offset and self.log.failed is None
