"""One partition's log as the history shows it: which value lies at which offset, who sent it, who read it.

Most checks ask the same questions of the same rows, and the answers are what costs: each is worked out when it is first asked for and
kept here. Everything is sorting and searching of whole columns; nothing is as long as an offset is large.
"""

from __future__ import annotations

from functools import cached_property

from analysis.context import Context
from analysis.partition import Partition


class Log:
    """Of one partition, for as long as it is checked."""

    def __init__(self, partition: Partition, context: Context) -> None:
        self.rows = partition
        self.context = context

    @cached_property
    def name(self) -> str:
        return f"{self.rows.topic}-{self.rows.part}"
