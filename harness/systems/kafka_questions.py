"""What a Kafka broker is asked from its own node beyond metadata: its clock, and whom it takes for the controller.

Kafka tells its wall clock only where it dates a message. So there is a topic of ours with one partition on every broker, dated by the
broker on arrival, and the answer to a small message is the clock. The message's bytes are made here, checksum included; on the node
they are only sent. Who is controller stands in a file that every node keeps beside its metadata log, whatever the network does.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable

from crc32c import crc32c

from harness.nodes import Node
from harness.systems.broker_questions import NARROW, PATIENCE, SAMPLES, ask, run_program
from harness.systems.system import ClockError

CLOCK_TOPIC = "__highwater_clock"
_CREATE_TOPICS, _PRODUCE = 19, 0
_CREATE_TIMEOUT_MS = 30_000
_SETTINGS = {
    "message.timestamp.type": "LogAppendTime",
    "unclean.leader.election.enable": "true",  # else a broker whose data was wiped never leads its partition again
    "retention.ms": "-1",  # else a clock that jumps ahead makes its own messages old
}
_EXISTS = 36
_QUORUM_STATE = "__cluster_metadata-0/quorum-state"

_ASK_CLOCK = """
import json, socket, sys, time
address, port, request, at = sys.argv[1], int(sys.argv[2]), bytes.fromhex(sys.argv[3]), int(sys.argv[4])
samples, narrow, patience = int(sys.argv[5]), float(sys.argv[6]), float(sys.argv[7])
least, most = -1e12, 1e12
with socket.create_connection((address, port), timeout=patience) as connection:
    for _ in range(samples):
        before = time.time()
        connection.sendall(request)
        answer = b""
        while len(answer) < 4 or len(answer) < 4 + int.from_bytes(answer[:4], "big"):
            part = connection.recv(65536)
            if not part:
                sys.exit("hung up")
            answer += part
        after = time.time()
        error, wall_ms = int.from_bytes(answer[at:at + 2], "big"), int.from_bytes(answer[at + 10:at + 18], "big", signed=True)
        if error or wall_ms < 0:
            sys.exit(f"error {error}")
        low, high = wall_ms / 1000 - after, (wall_ms + 1) / 1000 - before
        if low > most or high < least:
            least, most = low, high
        least, most = max(least, low), min(most, high)
        if most - least < narrow:
            break
print(json.dumps([least, most]))
"""


def create_clock_topic(node: Node, port: int, brokers: Iterable[int]) -> bool:
    """Whether it is there now: a partition on each broker, in their order."""
    assignment = b"".join(struct.pack(">iii", index, 1, broker) for index, broker in enumerate(brokers))
    count = len(assignment) // 12
    settings = struct.pack(">i", len(_SETTINGS)) + b"".join(_text(word) for setting in _SETTINGS.items() for word in setting)
    topic = _text(CLOCK_TOPIC) + struct.pack(">ihi", -1, -1, count) + assignment + settings
    body = struct.pack(">i", 1) + topic + struct.pack(">i?", _CREATE_TIMEOUT_MS, False)
    answer = ask(node, port, _request(_CREATE_TOPICS, 4, body), patience=_CREATE_TIMEOUT_MS / 1000)
    if answer is None:
        return False
    after_name = 8 + 4 + 4 + 2 + len(CLOCK_TOPIC)  # length and correlation id, throttle time, number of topics, name
    error: int = struct.unpack_from(">h", answer, after_name)[0]
    return error in (0, _EXISTS)


def ask_clock(node: Node, port: int, partition: int) -> ClockError | None:
    """Asked again until it is known to two milliseconds, or often enough."""
    error_at = 8 + 4 + 2 + len(CLOCK_TOPIC) + 4 + 4  # length and correlation id, topics, name, partitions, number
    out = run_program(node, _ASK_CLOCK, node.address, port, _message(partition).hex(), error_at, SAMPLES, NARROW, PATIENCE)
    return None if out is None else ClockError(*json.loads(out))


def known_leader(node: Node, data: str) -> tuple[int, int] | None:
    """The epoch of the quorum and the number of its leader, as the node wrote them down; nothing while it knows none."""
    try:
        state = json.loads(node.get(f"{data}/{_QUORUM_STATE}"))
        epoch, leader = int(state["leaderEpoch"]), int(state["leaderId"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return (epoch, leader) if leader >= 0 else None


def _message(partition: int) -> bytes:
    """A produce request of version 7 with one batch of one empty message, which the leader alone acknowledges."""
    record = bytes([12, 0, 0, 0, 1, 1, 0])  # zigzag: its length 6, attributes, two deltas, no key, no value, no headers
    counted = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 1) + record
    batch = struct.pack(">ibI", -1, 2, crc32c(counted)) + counted
    batch = struct.pack(">qi", 0, len(batch)) + batch
    body = (
        struct.pack(">hhi", -1, 1, 10_000)
        + struct.pack(">i", 1)
        + _text(CLOCK_TOPIC)
        + struct.pack(">iii", 1, partition, len(batch))
        + batch
    )
    return _request(_PRODUCE, 7, body)


def _request(key: int, version: int, body: bytes) -> bytes:
    message = struct.pack(">hhih", key, version, 1, -1) + body
    return struct.pack(">i", len(message)) + message


def _text(words: str) -> bytes:
    return struct.pack(">h", len(words)) + words.encode()
