"""A real cluster of three small brokers, shared by the tests of a module, and eyes on it that are not the faults' own."""

import json
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.nodes import Nodes, create
from harness.systems.highwater_system import LOG, HighwaterSystem
from harness.systems.system import System
from nemesis.fault import Strike
from nemesis.nemesis import Nemesis, Struck
from nemesis.schedule import PlannedFault
from nemesis.targets import ClusterView, parse_selector
from tests.harness.nodes.traffic import interpreter

TIMERS = {
    "controller.quorum.election.timeout.ms": 1000,
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 3000,
}
MINUTE = 60.0

_FILL = """
import sys, time
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
servers, topic = {"bootstrap.servers": sys.argv[1]}, sys.argv[2]
admin, patience, in_doubt = AdminClient(servers), time.monotonic() + 50, False
while True:
    try:
        admin.create_topics([NewTopic(topic, 2, int(sys.argv[4]))], operation_timeout=50)[topic].result()
        break
    except KafkaException as refusal:
        code = refusal.args[0].code()
        if code == KafkaError.TOPIC_ALREADY_EXISTS and in_doubt:
            break
        in_doubt = in_doubt or code == KafkaError.REQUEST_TIMED_OUT
        if code not in (KafkaError.INVALID_REPLICATION_FACTOR, KafkaError.REQUEST_TIMED_OUT) or time.monotonic() > patience:
            raise
        time.sleep(0.1)
producer = Producer(servers | {"acks": "all"})
for number in range(int(sys.argv[3])):
    producer.produce(topic, str(number).encode(), partition=number % 2)
sys.exit(producer.flush(50))
"""


@contextmanager
def cluster(folder: Path, *, clock_faults: bool = False) -> Iterator[tuple[Nodes, HighwaterSystem]]:
    with create("namespaces", 3, "nemesis", folder) as nodes:
        system = HighwaterSystem(nodes)
        system.install()
        system.configure(TIMERS, clock_faults=clock_faults)
        system.start()
        yield nodes, system


def fill(nodes: Nodes, system: System, topic: str, messages: int = 100, *, replicas: int = 3) -> None:
    """A topic of two partitions with these messages, all acknowledged. A broker that was away is not counted before it was heard again,
    so it is asked for until there are as many as replicas; and a controller that is deposed meanwhile leaves it open whether it made it."""
    nodes.client.run([sys.executable, "-c", _FILL, system.bootstrap, topic, str(messages), str(replicas)]).require("filling a topic")


def planned(kind: str, variant: str = "", target: str = "n1", *, id: int = 1, start: float = 0.0, end: float = MINUTE, **parameters):
    return PlannedFault(id, kind, variant, parse_selector(target), parameters, start, end)


def strike(nemesis: Nemesis, plan: PlannedFault, *targets: str) -> Strike:
    """By hand, on nodes that are known, for as long as the test likes."""
    view = ClusterView(nemesis.world.names, frozenset(nemesis.world.names))
    return Strike(plan, targets, nemesis.world, view, random.Random(1), time.monotonic() + MINUTE, threading.Event())


class Running:
    """A nemesis at work in a thread. Leaving it gives the plan up, which heals."""

    def __init__(self, nemesis: Nemesis, *plan: PlannedFault) -> None:
        self.nemesis = nemesis
        self._cancelled = threading.Event()
        self._result: list[Struck] = []
        self._thread = threading.Thread(target=self._run, args=(plan,))

    def __enter__(self) -> "Running":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> list[Struck]:
        """Heal now; what took place."""
        self._cancelled.set()
        self._thread.join()
        return self._result

    def proof(self, id: int = 1) -> Struck:
        """Once the effect was proven, or not."""
        eventually(lambda: any(row.id == id and row.proof is not None for row in self.nemesis.rows()))
        return next(row for row in self.nemesis.rows() if row.id == id)

    def _run(self, plan: tuple[PlannedFault, ...]) -> None:
        self._result = self.nemesis.run(plan, time.monotonic(), self._cancelled)


def eventually(holds: Callable[[], bool]) -> None:
    """Within a minute."""
    deadline = time.monotonic() + MINUTE
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


def told(row: Struck) -> dict[str, Any]:
    """The proof of the effect."""
    return json.loads(row.proof or "{}")


def state_of(nodes: Nodes, pid: int) -> str:
    """The letter in /proc, by another program; empty where there is no such process."""
    done = nodes.nodes[0].run([*interpreter(nodes.nodes[0]), "-c", f"print(open('/proc/{pid}/stat').read().rpartition(')')[2].split()[0])"])
    return done.out.decode().strip() if done.code == 0 else ""


def answers(nodes: Nodes, system: HighwaterSystem, node: str) -> bool:
    """Whether the broker's port takes a connection from the clients' node."""
    address = next(each.address for each in nodes.nodes if each.name == node)
    program = f"import socket; socket.create_connection(('{address}', {system.ports[0]}), timeout=5)"
    return nodes.client.run([*interpreter(nodes.client), "-c", program]).code == 0


def said(nodes: Nodes, node: str) -> bytes:
    return next(each for each in nodes.nodes if each.name == node).get(LOG)
