"""A client without a library: one connection, frames made beforehand, so many requests under way at a time.

It is for what librdkafka does not let one fix: batches of exactly one size, requests of exactly one message, a stranger that
is no broker (`floor`). Answers are counted by their size, and the error code of each is looked at.

    python -m harness.bench.raw_driver address=H:P topic=T partition=0 acks=1 batch=65536 records=64 window=8 seconds=2
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from dataclasses import dataclass

from harness.bench.frames import FrameInfo, answer_info, produce_frame, record_batch

_ERROR = struct.Struct(">h")
_RECEIVE = 64 * 1024
_LARGEST_WRITE = 4 << 20


@dataclass(frozen=True, slots=True)
class RawTask:
    address: str
    topic: str
    partition: int = 0
    acks: int = 1
    batch: int = 65_536
    """Bytes of a whole batch."""
    records: int = 64
    window: int = 8
    """Requests under way at a time."""
    seconds: float = 2.0


class Refused(Exception):
    """The other side answered with an error, or went away."""


def drive(task: RawTask) -> dict[str, float]:
    batch = record_batch(task.batch, task.records, int(time.time() * 1000))
    host, _colon, port = task.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        settle = produce_frame(task.topic, task.partition, 1, batch)
        exchange(connection, settle, 1, answer_info(task.topic))
        started, cpu = time.monotonic(), time.process_time()
        send = _send_unanswered if task.acks == 0 else _send_in_window
        requests = send(connection, task, produce_frame(task.topic, task.partition, task.acks, batch))
        if task.acks == 0:
            exchange(connection, settle, 1, answer_info(task.topic))
            requests += 1
        seconds, cpu = time.monotonic() - started, time.process_time() - cpu
    size = len(batch)
    return {
        "requests": requests,
        "messages": requests * task.records,
        "bytes": requests * size,
        "warmup_bytes": size,
        "seconds": seconds,
        "cpu_seconds": cpu,
    }


def exchange(connection: socket.socket, data: bytes | memoryview, answers: int, info: FrameInfo) -> None:
    """Sends frames and waits for as many answers."""
    connection.sendall(data)
    received = b""
    while len(received) < answers * info.size:
        received += _receive(connection)
    _check(received, info)


def _send_in_window(connection: socket.socket, task: RawTask, frame: bytes) -> int:
    """Every answer makes room for the next request."""
    info = answer_info(task.topic)
    frames = memoryview(frame * task.window)
    deadline = time.monotonic() + task.seconds
    connection.sendall(frames)
    sent, done, rest = task.window, 0, b""
    while done < sent:
        received = rest + _receive(connection)
        count, tail = divmod(len(received), info.size)
        rest = received[len(received) - tail :]
        _check(received[: count * info.size], info)
        done += count
        if count and time.monotonic() < deadline:
            connection.sendall(frames[: count * len(frame)])
            sent += count
    return done


def _send_unanswered(connection: socket.socket, task: RawTask, frame: bytes) -> int:
    """acks=0: TCP is the only window there is."""
    count = max(1, min(task.window, _LARGEST_WRITE // len(frame)))
    frames = frame * count
    deadline, sent = time.monotonic() + task.seconds, 0
    while time.monotonic() < deadline:
        connection.sendall(frames)
        sent += count
    return sent


def _receive(connection: socket.socket) -> bytes:
    received = connection.recv(_RECEIVE)
    if not received:
        raise Refused("the connection was closed")
    return received


def _check(answers: bytes, info: FrameInfo) -> None:
    for start in range(0, len(answers), info.size):
        (error,) = _ERROR.unpack_from(answers, start + info.error_at)
        if error or int.from_bytes(answers[start : start + 4], "big") != info.size - 4:
            raise Refused(f"answered with error {error}")


def read_task(arguments: list[str]) -> RawTask:
    kinds = {"address": str, "topic": str, "seconds": float}
    given = dict(argument.split("=", 1) for argument in arguments)
    return RawTask(**{name: kinds.get(name, int)(value) for name, value in given.items()})


if __name__ == "__main__":
    try:
        print(json.dumps(drive(read_task(sys.argv[1:]))))
    except (Refused, OSError) as problem:
        sys.exit(f"raw driver: {problem}")
