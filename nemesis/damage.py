"""Damage to the files of a broker that was killed: programs that run on the node, and a look at the files that is none of them.

Only replicas of partitions are touched: what a broker remembers of the quorum it has flushed before it said so, and no crash takes that
away. For the same reason a tail is torn only past the offset up to which the broker has noted that it flushed.
"""

from __future__ import annotations

import json

from harness.nodes import Node
from harness.systems.broker_questions import run_program

_SHOWN = 20

_FIND = """
import json, os, re, struct, sys
data = sys.argv[1]
folders = sorted(entry.path for entry in os.scandir(data) if entry.is_dir() and re.fullmatch(r".+-[0-9]+", entry.name)
                 and not entry.name.startswith("__cluster_metadata-"))
"""

_INSPECT = (
    _FIND
    + """
import zlib
found = {}
for folder in folders:
    for name in os.listdir(folder):
        if re.fullmatch(r"[0-9]{20}[.](log|index|timeindex)", name):
            content = open(f"{folder}/{name}", "rb").read()
            found[f"{os.path.basename(folder)}/{name}"] = [len(content), zlib.crc32(content)]
print(json.dumps(found))
"""
)

# `look` changes nothing; what is written is how many logs have something to tear.
_TEAR = (
    _FIND
    + """
import random
how, most, seed, torn = sys.argv[2], int(sys.argv[3]), sys.argv[4], 0
try:
    lines = [line.split() for line in open(f"{data}/recovery-point-offset-checkpoint").read().splitlines()[2:]]
    flushed = {f"{topic}-{part}": int(offset) for topic, part, offset in lines}
except (OSError, ValueError):
    flushed = {}
randomness = random.Random(seed)
for folder in folders:
    names = sorted(name for name in os.listdir(folder) if re.fullmatch(r"[0-9]{20}[.]log", name))
    if not names:
        continue
    with open(f"{folder}/{names[-1]}", "r+b") as file:
        content = file.read()
        floor = 0
        while floor + 61 <= len(content):
            base, length = struct.unpack_from(">qi", content, floor)
            last = base + struct.unpack_from(">i", content, floor + 23)[0]
            if last >= flushed.get(os.path.basename(folder), 0) or length < 49:
                break
            floor += 12 + length
        count = min(most, len(content) - floor)
        torn += count > 0
        if count <= 0:
            continue
        if how == "cut":
            file.truncate(len(content) - count)
        elif how == "garble":
            file.seek(len(content) - count)
            file.write(randomness.randbytes(count))
print(torn)
"""
)

_DELETE = (
    _FIND
    + """
for folder in folders:
    for name in os.listdir(folder):
        if name.endswith(tuple(sys.argv[2:])):
            os.unlink(f"{folder}/{name}")
"""
)

_COUNT = _FIND + "print(sum(name.endswith(tuple(sys.argv[2:])) for folder in folders for name in os.listdir(folder)))"

Files = dict[str, tuple[int, int]]


class DamageFailed(Exception):
    """A program did not do its work on the node."""


def inspect(node: Node, data: str) -> Files:
    """Every segment file and index: bytes and checksum."""
    return {name: (size, crc) for name, (size, crc) in json.loads(_run(node, _INSPECT, data)).items()}


def tear_tails(node: Node, data: str, how: str, most: int, seed: str) -> None:
    """Of the last segment of each log, so many bytes at most, `cut` or `garble`."""
    _run(node, _TEAR, data, how, most, seed)


def has_tail(node: Node, data: str) -> bool:
    """Whether a log has anything behind its last flush. A broker at work may take a file away under our eyes: then it is not known."""
    return int(run_program(node, _TEAR, data, "look", 1, "", timeout=60.0) or 0) > 0


def has_index(node: Node, data: str, endings: tuple[str, ...]) -> bool:
    """Whether a log has a file that ends so; not known while the broker takes a folder away under our eyes."""
    return int(run_program(node, _COUNT, data, *endings, timeout=60.0) or 0) > 0


def delete_indexes(node: Node, data: str, endings: tuple[str, ...]) -> None:
    _run(node, _DELETE, data, *endings)


def differences(before: Files, after: Files) -> dict[str, object]:
    """How many files are not what they were, and the first of them with their bytes before and after."""
    changed = sorted(name for name in before if after.get(name) != before[name])
    shown = {name: {"before": before[name][0], "after": after[name][0] if name in after else None} for name in changed[:_SHOWN]}
    return {"changed": len(changed), "files": shown}


def _run(node: Node, program: str, *arguments: object) -> bytes:
    out = run_program(node, program, *arguments, timeout=60.0)
    if out is None:
        raise DamageFailed(f"the files of node {node.name} in {arguments[0]} could not be touched")
    return out
