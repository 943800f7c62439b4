"""What a block amounts to, as rules."""

import pytest

from harness.nodes.network import TCP, UDP, Rule, rules_for


def test_a_whole_address_is_one_rule():
    assert rules_for(["198.18.0.1", "198.18.0.2"], []) == {Rule("198.18.0.1"), Rule("198.18.0.2")}


def test_a_port_is_cut_at_both_ends_for_both_protocols():
    assert rules_for(["198.18.0.1"], [9092]) == {
        Rule("198.18.0.1", protocol, to_port, from_port) for protocol in (TCP, UDP) for to_port, from_port in ((9092, 0), (0, 9092))
    }


def test_an_ipv6_address_is_refused():
    with pytest.raises(ValueError, match="IPv4"):
        rules_for(["fe80::1"], [])
