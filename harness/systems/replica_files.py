"""Which logs lie in a broker's data folder on a node: Kafka's layout, a folder `TOPIC-PARTITION` with segments named by first offset."""

from __future__ import annotations

import json
import re
from contextlib import suppress

from harness.errors import EnvironmentFault
from harness.nodes import Node
from harness.systems.broker_questions import run_program

Name = tuple[str, int]
_METADATA = "__cluster_metadata"
_FOLDER = re.compile(r"(.+)-(\d+)")
_SEGMENT = re.compile(r"\d{20}\.log")

_LIST = """
import json, os, sys
print(json.dumps({entry.name: sorted(os.listdir(entry)) for entry in os.scandir(sys.argv[1]) if entry.is_dir()}))
"""


def list_replicas(node: Node, data: str) -> dict[Name, list[str]]:
    """The segment files of every replica, in order; empty folders of data have none."""
    out = run_program(node, _LIST, data)
    if out is None:
        raise EnvironmentFault(f"the folder {data} of node {node.name} cannot be listed")
    found: dict[Name, list[str]] = {}
    for folder, files in sorted(json.loads(out).items()):
        match = _FOLDER.fullmatch(folder)
        if match and match[1] != _METADATA:
            found[match[1], int(match[2])] = [f"{data}/{folder}/{file}" for file in files if _SEGMENT.fullmatch(file)]
    return found


def high_watermarks(node: Node, data: str) -> dict[Name, int]:
    """As the broker wrote them down last."""
    with suppress(FileNotFoundError, ValueError):
        lines = [line.split() for line in node.get(f"{data}/replication-offset-checkpoint").decode().splitlines()[2:]]
        return {(topic, int(part)): int(offset) for topic, part, offset in lines}
    return {}
