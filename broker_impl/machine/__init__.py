"""The only package that touches files, the wall clock, randomness and threads.

Everything else gets them from here through a `Machine`, so a test can hand over a disk that forgets or a clock
that jumps. Connections and timers are not here: they come from the running event loop.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

from broker_impl.machine import clock, randomness
from broker_impl.machine.disk import Disk, RealDisk
from broker_impl.machine.journal import Journal
from broker_impl.machine.threads import ThreadPool, Threads

__all__ = ["Machine", "real_machine"]


@dataclass(frozen=True, slots=True)
class Machine:
    """What a broker stands on. One object, so that a simulated machine replaces all of it at once."""

    disk: Disk
    wall_ms: Callable[[], int]
    random: random.Random
    threads: Threads
    journal: Journal
    monotonic: Callable[[], float] = clock.monotonic


def real_machine(node: int, log_level: str = "info") -> Machine:
    return Machine(RealDisk(), clock.wall_ms, randomness.fresh(), ThreadPool(), Journal(node, level=log_level))
