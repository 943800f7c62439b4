"""Cuts on real nodes: one direction at a time, silent, for TCP and UDP, and gone when healed."""

from collections.abc import Iterator

import pytest

from harness.nodes import Nodes, Rule
from tests.harness.nodes.traffic import PORT, Traffic, connect, traffic

OTHER_PORT = 7002


@pytest.fixture
def wires(nodes: Nodes) -> Iterator[Traffic]:
    with traffic(nodes.client) as made:
        for node in nodes.nodes:
            made.listen(node)
        try:
            yield made
        finally:
            for node in nodes.nodes:
                assert node.network is not None
                node.network.unblock_all()


def test_all_nodes_and_the_client_reach_each_other(nodes, wires):
    for receiver in nodes.nodes:
        for sender in nodes.everyone:
            assert wires.arrives(sender, receiver)
            assert connect(sender, receiver.address) == "connected"


def test_datagrams_are_cut_in_one_direction_and_to_one_node_only(nodes, wires):
    first, second, third = nodes.nodes
    second.network.block([first.address])
    assert not wires.arrives(first, second)
    assert wires.arrives(second, first)
    assert wires.arrives(first, third)
    assert wires.arrives(third, second)
    second.network.unblock_all()
    assert wires.arrives(first, second)


def test_a_new_connection_across_a_cut_times_out_in_silence(nodes, wires):
    first, second, third = nodes.nodes
    second.network.block([first.address])
    for sender, receiver in ((first, second), (second, first)):
        assert connect(sender, receiver.address, timeout=0.4) == "TimeoutError None"
    assert connect(third, second.address) == "connected"
    second.network.unblock_all()
    assert connect(first, second.address) == "connected"


@pytest.mark.parametrize("direction", ["there", "back"])
def test_an_established_connection_stalls_and_goes_on_when_healed(nodes, wires, direction):
    first, second, _ = nodes.nodes
    wires.open_flow(first, second)
    wires.say(first, "before")
    assert wires.echo(first) == "before"
    node, source = (second, first) if direction == "there" else (first, second)
    node.network.block([source.address])
    wires.say(first, "across")
    if direction == "there":
        assert "across" not in wires.heard(second, first)
    node.network.unblock_all()
    assert wires.echo(first) == "across"


def test_a_cut_of_one_port_leaves_the_others_alone(nodes, wires):
    first, second, _ = nodes.nodes
    wires.listen(second, OTHER_PORT)
    second.network.block([first.address], [PORT])
    assert not wires.arrives(first, second)
    assert wires.arrives(first, second, OTHER_PORT)
    assert connect(first, second.address, timeout=0.4) == "TimeoutError None"
    assert connect(first, second.address, OTHER_PORT) == "connected"
    assert connect(second, first.address, timeout=0.4) == "TimeoutError None"


def test_the_kernel_shows_the_cuts_and_what_is_not_ours_is_not_shown(nodes):
    node = nodes.nodes[0]
    assert node.network.rules() == frozenset()
    node.network.block(["198.18.77.1", "198.18.77.2"])
    node.network.block(["198.18.77.1"])
    assert node.network.rules() == {Rule("198.18.77.1"), Rule("198.18.77.2")}
    node.network.block(["198.18.77.2"], [9092])
    assert len(node.network.rules()) == 6
    node.network.unblock_all()
    node.network.unblock_all()
    assert node.network.rules() == frozenset()


def test_an_ipv6_address_is_refused(nodes):
    with pytest.raises(ValueError, match="IPv4"):
        nodes.nodes[0].network.block(["fe80::1"])
