"""Which brokers the controller still hears: one session a broker, in the controller's own monotonic time.

A session is in memory only. A new controller gives every broker a fresh one, as it cannot know when its
predecessor last heard them: longer sessions delay a failover, they never make one wrong, since a leader's lease
runs from the *sending* of its heartbeat and is shorter.

The trap is the controller's own sleep (a stopped process, a stalled machine): heartbeats lie unread in its sockets
while time runs on, and the first look at the clock would fence the whole cluster. So a pause between two looks
that is too long to judge is not counted against anybody.
"""


class Sessions:
    """Look (`lapsed`) much more often than half a time-out: a longer pause is taken for a sleep of our own.

    Invariant: no session is dated later than the last call's `now`.
    """

    def __init__(self, timeout_s: float, brokers: frozenset[int], now: float) -> None:
        self._timeout = timeout_s
        self._heard = dict.fromkeys(sorted(brokers), now)
        self._looked = now

    def hear(self, broker: int, now: float) -> None:
        self._heard[broker] = max(now, self._heard.get(broker, now))

    def lapsed(self, now: float) -> list[int]:
        """Brokers not heard for a session time-out, the longest silent first; their sessions end here."""
        self._forgive_own_sleep(now)
        lapsed = sorted((at, broker) for broker, at in self._heard.items() if now - at >= self._timeout)
        for _, broker in lapsed:
            del self._heard[broker]
        return [broker for _, broker in lapsed]

    def _forgive_own_sleep(self, now: float) -> None:
        pause = now - self._looked
        self._looked = max(now, self._looked)
        if pause > self._timeout / 2:
            self._heard = {broker: min(now, at + pause) for broker, at in self._heard.items()}
