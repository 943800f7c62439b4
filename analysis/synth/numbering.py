"""Who is who: processes, operations and values of a synthetic history, each a formula of partition and position.

Numbers are unique in the history without anybody counting, so tasks that know nothing of each other never give one twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.history.schema import first_number

SENDERS = 4
"""Client instances that send to one partition."""

_ODD = 4
"""Process numbers kept for one injected anomaly."""

MAX_PARTITIONS = 100_000
MAX_SITES = 1_000_000


@dataclass(frozen=True, slots=True)
class Numbering:
    partitions: int

    def sender(self, part: int) -> int:
        """The first of its SENDERS processes, which are also the producers' numbers."""
        return part * SENDERS

    def live_reader(self, part: int) -> int:
        return self.partitions * SENDERS + part

    def final_reader(self, part: int) -> int:
        return self.partitions * (SENDERS + 1) + part

    def idle_reader(self) -> int:
        """Polls and gets nothing."""
        return self.partitions * (SENDERS + 2)

    def odd_process(self, site: int, which: int) -> int:
        """A client that exists for one injected anomaly."""
        assert 0 <= which < _ODD
        return self.partitions * (SENDERS + 2) + 1 + site * _ODD + which

    def first_send(self, part: int) -> int:
        """Operation and value of a partition's first send; the others count up from it."""
        return first_number(1 + part)

    def first_live_poll(self, part: int) -> int:
        return first_number(1 + self.partitions + part)

    def first_final_poll(self, part: int) -> int:
        return first_number(1 + 2 * self.partitions + part)

    def first_idle_poll(self, part: int) -> int:
        return first_number(1 + 3 * self.partitions + part)

    def first_odd_operation(self, site: int) -> int:
        return first_number(1 + 4 * self.partitions + site)

    def phantom(self, site: int) -> int:
        """A value that nobody sends."""
        return first_number(2 * MAX_SITES) + site
