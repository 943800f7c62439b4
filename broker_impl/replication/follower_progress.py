"""What a leader knows of one follower: how far its log reaches, and when it last had everything.

A follower's fetch is its acknowledgement: asking from offset n says that it holds everything below n. Whether it keeps up
is a matter of time, not of distance: it was caught up at the moment of a fetch that reached the leader's log end as it stood
then or at the fetch before, so a follower one round trip behind a busy leader still counts as caught up.

The trap: a follower that restarted may hold less than it once asked for, so what is known belongs to one incarnation (broker epoch).
"""

import math

NEVER = -math.inf
UNKNOWN_OFFSET = -1


class FollowerProgress:
    __slots__ = ("broker_epoch", "committed", "counted", "last_caught_up", "last_fetch", "leader_end_at_last_fetch", "live", "log_end")

    def __init__(self) -> None:
        self.log_end = UNKNOWN_OFFSET
        self.broker_epoch = -1
        self.last_fetch = NEVER
        self.last_caught_up = NEVER
        self.leader_end_at_last_fetch = UNKNOWN_OFFSET
        self.live = False
        self.committed = False
        self.counted = False

    def fetched(self, offset: int, leader_end: int, broker_epoch: int, now: float) -> None:
        if broker_epoch != self.broker_epoch:
            self.broker_epoch = broker_epoch
            self.last_fetch = NEVER
        if offset >= leader_end:
            self.last_caught_up = max(self.last_caught_up, now)
        elif offset >= self.leader_end_at_last_fetch:
            self.last_caught_up = max(self.last_caught_up, self.last_fetch)
        self.log_end = offset
        self.last_fetch = now
        self.leader_end_at_last_fetch = leader_end
        self.live = True

    def caught_up(self, leader_end: int, now: float, lag_s: float) -> bool:
        return self.log_end == leader_end or now - self.last_caught_up <= lag_s

    def membership(self, committed: bool, counted: bool, now: float) -> None:
        """Joining the ISR grants a whole lag period; leaving it ends the claim to be waited for until the follower catches up again."""
        if committed and not self.committed:
            self.last_caught_up = max(self.last_caught_up, now)
        elif self.committed and not committed:
            self.last_caught_up = NEVER
        self.committed = committed
        self.counted = counted
