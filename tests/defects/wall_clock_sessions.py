"""The controller measures the sessions of brokers by the wall clock.

Stands for time-outs that follow clock changes. When the controller's clock is set back, every broker was heard
in the future: one that dies then is not missed until the clock has caught up.

Exposed by setting the controller's clock back and killing a leader.
"""

import time

from broker_impl.plugins import replace
from broker_impl.quorum.sessions import Sessions

ARM = "cluster"
PLAN = "clock-back-and-kill"
ANOMALIES = ("unavailable",)


def install() -> None:
    sound = replace("broker_impl.quorum.sessions:Sessions.hear", None)

    def hear(self: Sessions, broker: int, now: float) -> None:
        sound(self, broker, time.time())

    def lapsed(self: Sessions, now: float) -> list[int]:
        silent = [broker for broker, at in self._heard.items() if time.time() - at >= self._timeout]
        for broker in silent:
            del self._heard[broker]
        return silent

    begin = replace("broker_impl.quorum.sessions:Sessions.__init__", None)

    def __init__(self: Sessions, timeout_s: float, brokers: frozenset[int], *_monotonic: float) -> None:
        begin(self, timeout_s, brokers, time.time())

    replace("broker_impl.quorum.sessions:Sessions.__init__", __init__)
    replace("broker_impl.quorum.sessions:Sessions.hear", hear)
    replace("broker_impl.quorum.sessions:Sessions.lapsed", lapsed)
