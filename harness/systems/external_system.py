"""A cluster somebody else runs: its bootstrap servers are known and nothing more, so nothing of it can be started, stopped or broken.

It is not a `System`: that a broker cannot be killed is said by the type, not by methods that refuse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ExternalSystem:
    name: ClassVar = "external"
    servers: tuple[str, ...]

    @classmethod
    def at(cls, servers: Sequence[str]) -> ExternalSystem:
        assert servers, "the scenario names one server at least"
        return cls(tuple(servers))

    @property
    def bootstrap(self) -> str:
        return ",".join(self.servers)
