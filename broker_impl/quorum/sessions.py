"""Which brokers the controller still hears: one session a broker, in the controller's own monotonic time.

A session is in memory only, so a new controller must guess when its predecessor last heard each broker, and never too
early: a leader's lease runs from the *sending* of a heartbeat, is shorter than a session, and must end before it.
What it knows is this. A heartbeat is answered only after a majority has followed the controller since it came in;
those who elected the successor are a majority too, so one of them was among the former; and none of them had heard a
leader for `silence_s`. No heartbeat that came in later than that before the election was ever answered. Half a session is
left in any case, so that brokers that live have the time to find the new controller.

The trap is the controller's own sleep (a stopped process, a stalled machine): heartbeats lie unread in its sockets
while time runs on, and the first look at the clock would fence the whole cluster. So a pause between two looks
that is too long to judge is not counted against anybody.
"""


class Sessions:
    """Look (`lapsed`) much more often than half a time-out: a longer pause is taken for a sleep of our own.

    Invariant: no session is dated later than the last call's `now`.
    """

    def __init__(self, timeout_s: float, brokers: frozenset[int], now: float, silence_s: float = 0.0) -> None:
        self._timeout = timeout_s
        self._heard = dict.fromkeys(sorted(brokers), now - min(silence_s, timeout_s / 2))
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
