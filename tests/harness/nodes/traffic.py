"""Programs that send and receive inside nodes, with nothing but Python there, and what the tests ask of them.

A listener is bound before the command that starts it returns, so nobody waits for a port. It counts what reached it and tells the count
to the client node, which no test cuts off: so a datagram that did not arrive can be told from one that has not arrived yet, because
the question was sent after it.
"""

import json
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from harness.nodes import Node

PORT = 7000
SIDE_PORT = 7001
_SECONDS = 50

_LISTENER = """
import json, os, selectors, socket, sys
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind(("0.0.0.0", int(sys.argv[1])))
tcp = socket.create_server(("0.0.0.0", int(sys.argv[1])))
child = os.fork()
if child:
    print(child); sys.exit()
os.setsid()
nothing = os.open(os.devnull, os.O_RDWR)
for stream in (0, 1, 2): os.dup2(nothing, stream)
heard = []
ready = selectors.DefaultSelector()
ready.register(udp, 1); ready.register(tcp, 1)
while True:
    for key, _ in ready.select():
        if key.fileobj is tcp:
            ready.register(tcp.accept()[0], 1)
        elif key.fileobj is udp:
            words, source = udp.recvfrom(1000)
            if words == b"report": udp.sendto(json.dumps(heard).encode(), source)
            else: heard.append([source[0], words.decode()])
        else:
            words = key.fileobj.recv(1000)
            if words:
                heard.append([key.fileobj.getpeername()[0], words.decode()]); key.fileobj.sendall(words)
            else: ready.unregister(key.fileobj)
"""

_TALKER = """
import os, socket, sys
far = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=50)
asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); asked.bind(("0.0.0.0", int(sys.argv[3])))
child = os.fork()
if child:
    print(child); sys.exit()
os.setsid()
nothing = os.open(os.devnull, os.O_RDWR)
for stream in (0, 1, 2): os.dup2(nothing, stream)
while True:
    words, source = asked.recvfrom(1000)
    if words == b"listen":
        far.settimeout(50)
        asked.sendto(far.recv(1000), source)
    else:
        far.sendall(words); asked.sendto(b"sent", source)
"""

_ASK = """
import socket, sys
asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); asking.settimeout(50)
asking.sendto(sys.argv[3].encode(), (sys.argv[1], int(sys.argv[2])))
sys.stdout.buffer.write(asking.recvfrom(60000)[0])
"""

_SEND = """
import socket, sys
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(sys.argv[3].encode(), (sys.argv[1], int(sys.argv[2])))
"""

_SEND_TO_ALL = """
import socket, sys
sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for address in sys.argv[3:]: sending.sendto(sys.argv[2].encode(), (address, int(sys.argv[1])))
"""

_CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[3]))
    print("connected")
except OSError as problem:
    print(type(problem).__name__, problem.errno)
"""


class Traffic:
    """Tests name a message once; `heard` tells whether it came."""

    def __init__(self, client: Node) -> None:
        self._client = client
        self._started: list[tuple[Node, str]] = []

    def listen(self, node: Node, port: int = PORT) -> None:
        self._started.append((node, python(node, _LISTENER, port)))

    def open_flow(self, node: Node, to: Node, port: int = PORT) -> None:
        """One TCP connection, kept open."""
        self._started.append((node, python(node, _TALKER, to.address, port, SIDE_PORT)))

    def say(self, node: Node, words: str) -> None:
        """Over the open flow, which returns at once whether it arrives or not."""
        assert python(self._client, _ASK, node.address, SIDE_PORT, words) == "sent"

    def echo(self, node: Node) -> str:
        """What comes back over the open flow next."""
        return python(self._client, _ASK, node.address, SIDE_PORT, "listen")

    def arrives(self, sender: Node, receiver: Node, port: int = PORT) -> bool:
        """Whether a datagram gets through, counted where it should arrive."""
        words = uuid.uuid4().hex
        python(sender, _SEND, receiver.address, port, words)
        return words in self.heard(receiver, sender, port)

    def pairs(self, nodes: Sequence[Node], port: int = PORT) -> set[tuple[str, str]]:
        """Sender and receiver of each datagram that gets through when everyone sends one to everyone else."""
        words = uuid.uuid4().hex
        for sender in nodes:
            python(sender, _SEND_TO_ALL, port, words, *(node.address for node in nodes if node is not sender))
        names = {node.address: node.name for node in nodes}
        return {(names[source], node.name) for node in nodes for source, said in self._reported(node, port) if said == words}

    def heard(self, receiver: Node, sender: Node, port: int = PORT) -> list[str]:
        return [words for source, words in self._reported(receiver, port) if source == sender.address]

    def _reported(self, receiver: Node, port: int) -> list[tuple[str, str]]:
        """Address of the sender and words of all that was heard."""
        return [(source, words) for source, words in json.loads(python(self._client, _ASK, receiver.address, port, "report"))]

    def stop(self) -> None:
        for node, pid in self._started:
            node.run(["kill", "-9", pid])


@contextmanager
def traffic(client: Node) -> Iterator[Traffic]:
    made = Traffic(client)
    try:
        yield made
    finally:
        made.stop()


def connect(node: Node, address: str, port: int = PORT, timeout: float = _SECONDS) -> str:
    """ "connected", or the error's name and number."""
    return python(node, _CONNECT, address, port, timeout)


def python(node: Node, program: str, *arguments: object) -> str:
    return node.run([*interpreter(node), "-c", program, *map(str, arguments)]).require("a program of the test").decode().strip()


def interpreter(node: Node) -> list[str]:
    """A Python that starts fast."""
    return [sys.executable if node.shares_files else "python3", "-I", "-S"]
