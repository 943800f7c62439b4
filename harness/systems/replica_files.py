"""Which logs lie in a broker's data folder on a node: Kafka's layout, a folder `TOPIC-PARTITION` with segments named by first offset.

Where a log ends is read from its last segment, by a program on the node: a broker tells only how far everybody has its log.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import NamedTuple

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

_ENDS = """
import json, os, struct, sys
header = struct.Struct(">qi")
ends = {}
for folder in os.scandir(sys.argv[1]):
    segments = sorted(name for name in os.listdir(folder) if name[:20].isdigit() and name[20:] == ".log") if folder.is_dir() else []
    if not segments:
        continue
    end, position = int(segments[-1][:-4]), 0
    with open(os.path.join(folder, segments[-1]), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        while position + 61 <= size:
            file.seek(position)
            start = file.read(61)
            if len(start) < 61:
                break
            base, length = header.unpack_from(start)
            (last,) = struct.unpack_from(">i", start, 23)
            if start[16] != 2 or length < 49 or position + 12 + length > size:
                break
            end, position = base + last + 1, position + 12 + length
    ends[folder.name] = [int(segments[0][:-4]), end]
print(json.dumps(ends))
"""


class LogSpan(NamedTuple):
    """From the first offset a replica's log has to behind the last."""

    start: int
    end: int


def log_spans(node: Node, data: str) -> dict[Name, LogSpan]:
    """Of every replica on the node. A broker may be writing: then it is a moment's answer."""
    out = run_program(node, _ENDS, data)
    if out is None:
        raise EnvironmentFault(f"the logs in {data} of node {node.name} cannot be read")
    found: dict[Name, LogSpan] = {}
    for folder, span in sorted(json.loads(out).items()):
        match = _FOLDER.fullmatch(folder)
        if match and match[1] != _METADATA:
            found[match[1], int(match[2])] = LogSpan(*span)
    return found


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
