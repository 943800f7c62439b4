"""Which system a name means: the one place where brokers under test are chosen.

`external` is not among them: nothing of it can be deployed (`external_system`).
"""

from __future__ import annotations

from pathlib import Path

from harness.errors import UserMistake
from harness.nodes import Nodes
from harness.systems.system import System

SYSTEMS = ("highwater", "kafka")


def create_system(name: str, nodes: Nodes, *, plugin: Path | None = None, kafka_home: Path | None = None) -> System:
    """On these nodes, with nothing installed yet.

    `plugin`: replaces a behaviour of our broker. `kafka_home`: a Kafka distribution to take instead of one fetched by name.
    """
    if name == "highwater":
        from harness.systems.highwater_system import HighwaterSystem

        return HighwaterSystem(nodes, plugin=plugin)
    if name == "kafka":
        from harness.systems.kafka_system import KafkaSystem

        return KafkaSystem(nodes, kafka_home=kafka_home)
    raise UserMistake(_unknown(name))


def refusal(name: str, nodes_kind: str, *, kafka_home: Path | None = None) -> str | None:
    """Why this system cannot be had on nodes of this kind, and the remedy; nothing if it can. To be asked before anything is deployed."""
    if name == "highwater":
        return None
    if name == "kafka":
        from harness.systems.kafka_files import missing

        return missing(kafka_home, copied=nodes_kind != "namespaces")
    return _unknown(name)


def _unknown(name: str) -> str:
    return f"there is no system {name} that can be deployed; there are {', '.join(SYSTEMS)}"
