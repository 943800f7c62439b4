"""Who hears whom, measured: datagrams counted where they arrive, and connections tried.

A datagram needs no answer, so it proves one direction alone; a connection fails both ways when one is cut. Both go to a responder on
each node on a port that every cut covers: a broker's own port proves nothing while the broker is dead or paused. The responder is asked
on its own node, after the datagrams were sent and the connections had their time, so what it has not heard then was lost on the way.
"Refused" counts as reachable. Kernels answer connections and keep datagrams, so a slow machine does not look like a cut.
"""

from __future__ import annotations

import json
import secrets
import signal
import threading
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from harness.nodes import Node, Process
from harness.systems.broker_questions import python_of, run_program

PROBE_PORT = 9190
_DATAGRAMS = 3
_CONNECT_SECONDS = 0.7

_RESPONDER = """
import json, select, socket, sys
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
udp.bind(("0.0.0.0", int(sys.argv[1]))); tcp.bind(("0.0.0.0", int(sys.argv[1]))); tcp.listen(128)
heard = {}
while True:
    for ready in select.select([udp, tcp], [], [])[0]:
        if ready is tcp:
            tcp.accept()[0].close()
            continue
        words, source = udp.recvfrom(1000)
        kind, _, token = words.decode().partition(" ")
        if kind == "report":
            udp.sendto(json.dumps(heard.get(token, {})).encode(), source)
        else:
            heard = {token: heard[token] for token in list(heard)[-20:]}
            counts = heard.setdefault(token, {})
            counts[source[0]] = counts.get(source[0], 0) + 1
"""

_SEND = """
import errno, json, select, socket, sys, time
port, token, datagrams, patience, own, *peers = sys.argv[1:]
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind((own, 0))
opening, reached = {}, {}
for peer in peers:
    for _ in range(int(datagrams)):
        udp.sendto(f"hear {token}".encode(), (peer, int(port)))
    tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM); tcp.setblocking(False); tcp.bind((own, 0))
    tcp.connect_ex((peer, int(port))); opening[tcp] = peer; reached[peer] = False
deadline = time.monotonic() + float(patience)
while opening and time.monotonic() < deadline:
    for tcp in select.select([], list(opening), [], max(deadline - time.monotonic(), 0))[1]:
        problem = tcp.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        reached[opening.pop(tcp)] = problem in (0, errno.ECONNREFUSED)
print(json.dumps(reached))
"""

_REPORT = """
import socket, sys, time
asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); asking.connect(("127.0.0.1", int(sys.argv[1]))); asking.settimeout(10)
for _ in range(500):
    try:
        asking.send(f"report {sys.argv[2]}".encode())
        sys.stdout.buffer.write(asking.recv(60000))
        break
    except ConnectionRefusedError:
        time.sleep(0.02)
else:
    sys.exit("nobody listens")
"""


@dataclass(frozen=True, slots=True)
class Heard:
    """What came through from `sender` to `receiver`; `connected` is whether the sender could open a connection."""

    receiver: str
    sender: str
    datagrams: int
    connected: bool


class Probe:
    """Responders are started when they are first needed and end with their nodes, or by `close`."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._responders: dict[str, Process] = {}
        self._lock = threading.Lock()

    def measure(self, names: Collection[str]) -> list[Heard]:
        """Every ordered pair of these nodes. Raises ProbeFailed where a node does not play along."""
        nodes = [self._nodes[name] for name in names]
        token = secrets.token_hex(8)
        with ThreadPoolExecutor(len(nodes)) as pool:
            list(pool.map(self._ensure_responder, nodes))
            reached = list(pool.map(lambda node: self._send(node, token, nodes), nodes))
            counts = list(pool.map(lambda node: self._report(node, token), nodes))
        return [
            Heard(receiver.name, sender.name, heard.get(sender.address, 0), opened[receiver.address])
            for receiver, heard in zip(nodes, counts, strict=True)
            for sender, opened in zip(nodes, reached, strict=True)
            if sender is not receiver
        ]

    def close(self) -> None:
        for name, process in self._responders.items():
            self._nodes[name].signal(process, signal.SIGKILL)
        self._responders.clear()

    def _ensure_responder(self, node: Node) -> None:
        with self._lock:
            known = self._responders.get(node.name)
            if known is not None and node.alive(known):
                return
            command = [python_of(node), "-I", "-S", "-c", _RESPONDER, str(PROBE_PORT)]
            self._responders[node.name] = node.start(command, out="probe.log")
        self._report(node, "")

    def _send(self, node: Node, token: str, nodes: Sequence[Node]) -> dict[str, bool]:
        peers = [other.address for other in nodes if other is not node]
        out = run_program(node, _SEND, PROBE_PORT, token, _DATAGRAMS, _CONNECT_SECONDS, node.address, *peers)
        return {peer: bool(reached) for peer, reached in _answer(node, out).items()}

    def _report(self, node: Node, token: str) -> dict[str, int]:
        return _answer(node, run_program(node, _REPORT, PROBE_PORT, token))


class ProbeFailed(Exception):
    """A node could not be asked, so nothing is known."""


def _answer(node: Node, out: bytes | None) -> dict[str, int]:
    if out is None:
        raise ProbeFailed(f"the probe on node {node.name} does not answer")
    answer: dict[str, int] = json.loads(out)
    return answer
