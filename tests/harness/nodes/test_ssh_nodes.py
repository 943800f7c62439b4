"""SSH hosts in particular: inventories, hosts that are left as they were, and cuts that never reach our own connection."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import paramiko
import pytest

from harness.errors import EnvironmentFault, UserMistake
from harness.nodes import NodeLost, Rule
from harness.nodes.docker_nodes import _make_key
from harness.nodes.network import TCP
from harness.nodes.ssh_connection import _Conversation
from harness.nodes.ssh_network import CHAIN, _from_iptables
from harness.nodes.ssh_nodes import SshNodes, read_inventory
from tests.harness.nodes.kinds import inventory_of_docker_nodes, missing
from tests.harness.nodes.traffic import connect, traffic

GOOD = """
[[node]]
address = "198.18.200.1"
user = "u"
key = "~/k"
[[node]]
name = "second"
address = "198.18.200.2"
user = "u"
key = "/k"
port = 2222
allow_routing = true
[[client]]
address = "198.18.200.3"
user = "u"
key = "/k"
"""


@pytest.fixture(scope="module")
def inventory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    reason = missing("ssh")
    if reason:
        pytest.skip(reason)
    with inventory_of_docker_nodes(2, tmp_path_factory.mktemp("inventory"), routing=False) as path:
        yield path


def test_an_inventory_is_read_with_defaults(tmp_path):
    path = tmp_path / "hosts.toml"
    path.write_text(GOOD)
    nodes, client = read_inventory(path)
    assert [(host.name, host.port, host.allow_routing) for host in nodes] == [("n1", 22, False), ("second", 2222, True)]
    assert nodes[0].key == Path("~/k").expanduser()
    assert client.name == "client"


@pytest.mark.parametrize(
    "change, complaint",
    [
        (("[[client]]", "[[node]]"), "client"),
        (('user = "u"\nkey = "/k"\nport', 'key = "/k"\nport'), "user"),
        (("port = 2222", 'port = "x"'), r"node\[1\]\.port"),
        (("port = 2222", "prot = 2222"), "prot"),
        (('name = "second"', 'name = "n1"'), "two hosts one name"),
        (("[[node]]", "[[node]"), "not right"),
    ],
)
def test_a_mistake_in_an_inventory_is_named(tmp_path, change, complaint):
    path = tmp_path / "hosts.toml"
    path.write_text(GOOD.replace(*change))
    with pytest.raises(UserMistake, match=complaint):
        read_inventory(path)


def test_a_missing_inventory_is_named(tmp_path):
    with pytest.raises(UserMistake, match=r"none\.toml cannot be read"):
        read_inventory(tmp_path / "none.toml")


def test_more_nodes_than_the_inventory_has_are_refused(tmp_path):
    path = tmp_path / "hosts.toml"
    path.write_text(GOOD)
    with pytest.raises(UserMistake, match="has 2 nodes, not 3"):
        SshNodes.create(3, "many", path)


def test_rules_of_iptables_are_read_back():
    assert _from_iptables(f"-A {CHAIN} -s 198.18.0.1/32 -j DROP") == Rule("198.18.0.1")
    assert _from_iptables(f"-A {CHAIN} -s 198.18.0.1/32 -p tcp -m tcp --dport 9092 -j DROP") == Rule("198.18.0.1", TCP, 9092, 0)
    assert _from_iptables(f"-A {CHAIN} -s 198.18.0.1/32 -p tcp -m tcp --sport 9092 -j DROP") == Rule("198.18.0.1", TCP, 0, 9092)


@pytest.mark.docker
def test_closing_ends_every_process_and_leaves_the_host_as_it_was(inventory):
    with SshNodes.create(2, "look", inventory) as looking:
        host = looking.nodes[0]
        before = host.run(["sh", "-c", "ip rule; iptables -S; ls /tmp"]).out
        with SshNodes.create(1, "leave", inventory) as nodes:
            [node] = nodes.nodes
            node.start(["sh", "-c", "trap '' TERM; setsid sleep 4321 & wait"], out="log")
            node.network.block(["198.18.200.200"])
        after = host.run(["sh", "-c", "pgrep -fx 'sleep 4321'; ip rule; iptables -S; ls /tmp"]).out
    assert after == before


@pytest.mark.docker
def test_without_leave_to_route_cuts_are_made_by_a_filter(inventory):
    with SshNodes.create(2, "filter", inventory) as nodes, traffic(nodes.client) as wires:
        first, second = nodes.nodes
        rules = second.run(["ip", "rule"]).out
        wires.listen(first)
        wires.listen(second)
        second.network.block([first.address])
        assert second.network.rules() == {Rule(first.address)}
        assert not wires.arrives(first, second)
        assert wires.arrives(second, first)
        assert connect(first, second.address, timeout=0.4) == "TimeoutError None"
        second.network.unblock_all()
        assert wires.arrives(first, second)
        assert second.run(["ip", "rule"]).out == rules


@pytest.mark.docker
def test_a_cut_of_our_own_connection_is_refused(inventory):
    with SshNodes.create(1, "control", inventory) as nodes:
        [node] = nodes.nodes
        ours = node.run(["sh", "-c", "echo $SSH_CONNECTION"]).out.decode().split()[0]
        for ports in ([], [9092, 22]):
            with pytest.raises(UserMistake, match="cut the harness off"):
                node.network.block([ours], ports)
        node.network.block([ours], [9092])
        assert node.run(["true"]).code == 0


@pytest.mark.docker
def test_rules_are_removed_by_the_node_itself_when_the_lease_is_over(inventory):
    with SshNodes.create(1, "lease", inventory) as nodes:
        [node] = nodes.nodes
        node.network.block(["198.18.200.200"], lease=1.0)
        gone = f"while iptables -w -S {CHAIN} >/dev/null 2>&1; do sleep 0.1; done"
        assert node.run(["sh", "-c", gone], timeout=60.0).code == 0
        assert node.network.rules() == frozenset()
        node.network.block(["198.18.200.200"])
        assert node.network.rules() == {Rule("198.18.200.200")}


@pytest.mark.docker
def test_a_connection_that_breaks_is_made_anew(inventory):
    with SshNodes.create(1, "anew", inventory) as nodes:
        [node] = nodes.nodes
        process = node.start(["sleep", "1000"], out="log")
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(node.run, ["sh", "-c", "echo up > up; sleep 1000"])
            nodes.nodes[0].run(["sh", "-c", "while ! grep -qs up up; do sleep 0.05; done"])
            node._connection._transport().close()
            with pytest.raises(NodeLost, match="n1"):
                waiting.result(60)
        assert node.alive(process)
        assert node.run(["echo", "again"]).out == b"again\n"


def test_a_host_that_does_not_let_us_in_is_named(tmp_path):
    path = tmp_path / "hosts.toml"
    path.write_text(GOOD.replace("198.18.200.1", "127.0.0.1").replace("~/k", str(tmp_path / "k")))
    _make_key(tmp_path / "k")
    with pytest.raises(EnvironmentFault, match=r"node n1: u@127\.0\.0\.1 port 22 does not let us in"):
        SshNodes.create(1, "none", path)


class SlowChannel:
    """Of a host that says nothing until it is told to."""

    def __init__(self) -> None:
        self.status_event, self.speaks = threading.Event(), threading.Event()
        self._words = [b"4711\n"]

    def sendall(self, words: bytes) -> None: ...

    def shutdown_write(self) -> None: ...

    def recv(self, size: int) -> bytes:
        self.speaks.wait(60)
        return self._words.pop() if self._words else b""

    def recv_stderr(self, size: int) -> bytes:
        return b""


def test_a_command_that_has_not_said_its_group_when_its_time_is_up_is_listened_to_until_it_does():
    channel = SlowChannel()
    conversation = _Conversation(cast(paramiko.Channel, channel), b"")
    assert conversation.until(time.monotonic()) is None
    threading.Timer(0.1, channel.speaks.set).start()
    assert conversation.group(60.0) == "4711"
