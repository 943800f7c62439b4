"""What brokers are asked from their own node, where no cut between nodes can come between: health, clock, metadata, process.

Each question is a small program for a bare Python on the node, so nothing has to be installed there and the command starts in some
milliseconds. Metadata is asked in version 7: the first with leader epochs, and the last but one in the old simple encoding.
"""

from __future__ import annotations

import json
import struct
import sys
from dataclasses import dataclass

from harness.nodes import CommandTimedOut, Node, Process
from harness.systems.system import ClockError, Seen

PATIENCE = 2.0
SAMPLES = 40
NARROW = 0.002
_COMMAND_PATIENCE = 20.0

_ASK_HEALTH = """
import json, socket, sys, time
address, port, samples, narrow, patience = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5])
least, most, page = -1e12, 1e12, None
for _ in range(samples):
    with socket.create_connection((address, port), timeout=patience) as connection:
        before = time.time()
        connection.sendall(b"GET /health HTTP/1.0\\r\\n\\r\\n")
        answer = b""
        while part := connection.recv(65536):
            answer += part
        after = time.time()
    page = json.loads(answer.partition(b"\\r\\n\\r\\n")[2])
    low, high = page["wall_ms"] / 1000 - after, (page["wall_ms"] + 1) / 1000 - before
    if low > most or high < least:
        least, most = low, high
    least, most = max(least, low), min(most, high)
    if most - least < narrow:
        break
print(json.dumps([page, least, most]))
"""

_ASK = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[4])) as connection:
    connection.sendall(bytes.fromhex(sys.argv[3]))
    answer = b""
    while len(answer) < 4 or len(answer) < 4 + int.from_bytes(answer[:4], "big"):
        part = connection.recv(1 << 20)
        if not part:
            sys.exit("hung up")
        answer += part
sys.stdout.buffer.write(answer)
"""

# What is looked for comes in another form than the one it is found in: several lookers at once would find each other.
_FIND_PROCESS = """
import os, sys
wanted = bytes.fromhex(sys.argv[1])
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\\0")
        if wanted in words:
            fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
            print(pid, fields[19], fields[0])
    except OSError:
        pass
"""


@dataclass(frozen=True, slots=True)
class Health:
    state: str
    controller: int | None
    metadata_offset: int
    clock: ClockError

    @property
    def ready(self) -> bool:
        return self.state == "running" and self.controller is not None


@dataclass(frozen=True, slots=True)
class PartitionAnswer:
    topic: str
    partition: int
    leader: int
    epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Metadata:
    """`brokers` are those that are registered and not fenced."""

    brokers: frozenset[int]
    partitions: list[PartitionAnswer]


def python_of(node: Node) -> str:
    """The interpreter of the node: ours where it shares our files."""
    return sys.executable if node.shares_files else "python3"


def run_program(node: Node, program: str, *arguments: object, timeout: float = _COMMAND_PATIENCE) -> bytes | None:
    """What it wrote; nothing where it failed or took too long, as a question to a broker that is paused does."""
    try:
        done = node.run([python_of(node), "-I", "-S", "-c", program, *map(str, arguments)], timeout=timeout)
    except CommandTimedOut:
        return None
    return done.out if done.code == 0 else None


def ask_health(node: Node, http_port: int, *, precise: bool = False) -> Health | None:
    """None where nothing answers, or not in time, or no sense. `precise`: asked again until the clock is known to two milliseconds."""
    out = run_program(node, _ASK_HEALTH, node.address, http_port, SAMPLES if precise else 1, NARROW, PATIENCE)
    if out is None:
        return None
    try:
        page, least, most = json.loads(out)
        controller = page["controller"] if page["controller"] not in (None, -1) else None
        return Health(page["state"], controller, page["metadata_offset"], ClockError(least, most))
    except (ValueError, KeyError, TypeError):
        return None


def ask_metadata(node: Node, port: int) -> Metadata | None:
    """What the node's own broker knows; nothing where it does not answer."""
    out = ask(node, port, _metadata_request())
    return None if out is None else _Answer(out[8:]).metadata()


def ask(node: Node, port: int, request: bytes, *, patience: float = PATIENCE) -> bytes | None:
    """The answer of the node's own broker to a whole request, with its length in front; nothing where none comes."""
    return run_program(node, _ASK, node.address, port, request.hex(), patience, timeout=patience + _COMMAND_PATIENCE)


def find_process(node: Node, argument: str) -> Seen | None:
    """The oldest process with this very argument in its command line."""
    out = run_program(node, _FIND_PROCESS, argument.encode().hex())
    found = sorted((int(started), int(pid), state) for pid, started, state in map(str.split, (out or b"").decode().splitlines()))
    return Seen(Process(found[0][1], found[0][0]), found[0][2]) if found else None


def _metadata_request() -> bytes:
    every_topic, may_create = -1, False
    body = struct.pack(">hhih", 3, 7, 1, -1) + struct.pack(">i?", every_topic, may_create)
    return struct.pack(">i", len(body)) + body


class _Answer:
    """Reads forward only."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def metadata(self) -> Metadata:
        self._number("i")  # throttle
        brokers = frozenset(self._broker() for _ in range(self._number("i")))
        self._text()  # cluster id
        self._number("i")  # controller: not asked for, since brokers name any broker here
        return Metadata(brokers, [partition for _ in range(self._number("i")) for partition in self._topic()])

    def _broker(self) -> int:
        number = self._number("i")
        self._text()
        self._number("i")
        self._text()
        return number

    def _topic(self) -> list[PartitionAnswer]:
        self._number("h")
        name = self._text()
        self._number("?")
        return [self._partition(name) for _ in range(self._number("i"))]

    def _partition(self, topic: str) -> PartitionAnswer:
        self._number("h")
        index, leader, epoch = self._number("i"), self._number("i"), self._number("i")
        replicas, isr, _offline = self._numbers(), self._numbers(), self._numbers()
        return PartitionAnswer(topic, index, leader, epoch, replicas, isr)

    def _number(self, code: str) -> int:
        value: int = struct.unpack_from(f">{code}", self._data, self._at)[0]
        self._at += struct.calcsize(f">{code}")
        return value

    def _numbers(self) -> tuple[int, ...]:
        return tuple(self._number("i") for _ in range(self._number("i")))

    def _text(self) -> str:
        length = max(self._number("h"), 0)
        self._at += length
        return self._data[self._at - length : self._at].decode()
