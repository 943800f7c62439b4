"""What the harness and the keeper say to each other: one packet a message over a Unix socket, with open files beside it.

One connection serves one request, so any thread may talk at any time. A command's input and output never pass through the keeper: the
descriptors are sent along, and the process writes straight to whoever asked. So packets stay small whatever a command prints.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.nodes.network import Rule

MAX_PACKET = 160 * 1024  # below the default send buffer of a socket, which bounds a packet
MAX_FILES = 3
SOCKET = "keeper.socket"
READY = "ready"  # the keeper's first and only line when all went well


class Plan(msgspec.Struct, frozen=True):
    """What a keeper is to make; `owner` is the process to die with, 0 for none. Its standard input is then a pipe the owner holds open."""

    folder: str
    addresses: dict[str, str]
    owner: int


class Message(msgspec.Struct, frozen=True, tag=True):
    """A request or an answer."""


class Spawn(Message, frozen=True):
    """Start a process in a node's network, its input and output being the three files sent along.

    `kept`: it lives on when the connection ends; otherwise its process group is killed then, and `Ended` follows `Spawned`.
    """

    node: str
    command: list[str]
    env: dict[str, str]
    cwd: str
    kept: bool


class Signal(Message, frozen=True):
    pid: int
    started: int
    number: int
    group: bool


class AskState(Message, frozen=True):
    pid: int
    started: int


class AwaitEnd(Message, frozen=True):
    pid: int
    started: int


class Block(Message, frozen=True):
    node: str
    rules: list[Rule]


class UnblockAll(Message, frozen=True):
    node: str


class AskRules(Message, frozen=True):
    node: str


class EndAll(Message, frozen=True):
    """Let the keeper end, and everything with it."""


class Spawned(Message, frozen=True):
    pid: int
    started: int


class Ended(Message, frozen=True):
    code: int


class Found(Message, frozen=True):
    """Whether there was such a process to signal."""

    yes: bool


class State(Message, frozen=True):
    letter: str | None


class Rules(Message, frozen=True):
    rules: list[Rule]


class Done(Message, frozen=True):
    pass


class Refused(Message, frozen=True):
    """It could not be done, and why."""

    reason: str


Request = Spawn | Signal | AskState | AwaitEnd | Block | UnblockAll | AskRules | EndAll
Answer = Spawned | Ended | Found | State | Rules | Done | Refused
_requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
_answers: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)


class Closed(Exception):
    """The other end is gone."""


def send(connection: socket.socket, message: Message, files: Sequence[int] = ()) -> None:
    packet = msgspec.msgpack.encode(message)
    if len(packet) > MAX_PACKET:
        raise ValueError(f"a command and its environment of {len(packet)} bytes are too long; at most {MAX_PACKET} can be sent")
    try:
        socket.send_fds(connection, [packet], files)
    except (BrokenPipeError, ConnectionError):
        raise Closed from None


def receive_request(connection: socket.socket) -> tuple[Request, list[int]]:
    packet, files = _receive(connection)
    try:
        return _requests.decode(packet), files
    except msgspec.MsgspecError:
        close_all(files)
        raise


def receive_answer(connection: socket.socket) -> Answer:
    packet, files = _receive(connection)
    close_all(files)
    return _answers.decode(packet)


def connect(path: Path, timeout: float) -> socket.socket:
    with _short(path) as address:
        connection = _new_socket()
        connection.settimeout(timeout)
        try:
            connection.connect(address)
        except BaseException:
            connection.close()
            raise
        return connection


def listen(path: Path) -> socket.socket:
    """For this user alone."""
    listener = _new_socket()
    mask = os.umask(0o177)
    try:
        with _short(path) as address:
            listener.bind(address)
    finally:
        os.umask(mask)
    listener.listen(1024)
    listener.setblocking(False)
    return listener


def close_all(files: Sequence[int]) -> None:
    for file in files:
        os.close(file)


def _receive(connection: socket.socket) -> tuple[bytes, list[int]]:
    try:
        packet, files, _, _ = socket.recv_fds(connection, MAX_PACKET, MAX_FILES)
    except ConnectionError:
        raise Closed from None
    if not packet:
        raise Closed
    return packet, files


def _new_socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


class _short:
    """A path of any length by one that fits into a socket's address, which holds 107 bytes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> str:
        self._folder = os.open(self._path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"/proc/self/fd/{self._folder}/{self._path.name}"

    def __exit__(self, *_: object) -> None:
        os.close(self._folder)
