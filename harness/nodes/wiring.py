"""Cables and rules: nodes' network namespaces joined by a bridge, spoken to over netlink, without starting a process.

Every node knows the others' hardware addresses for good. Otherwise a node that drops a peer's packets would not answer its ARP requests
either, and after some seconds the peer would hear "no route to host" where it should hear nothing.
IPv6 is off on the cables: what has no second way cannot leak around a cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute

from harness.nodes.network import CUT_PREFERENCE, LOCAL_PREFERENCE, LOCAL_TABLE, Rule
from harness.nodes.privacy import NEW_NETWORK, current_network, enter, new_network

_BLACKHOLE = 6
_IPV4 = 2
_PREFIX = 24


class Wiring:
    """Invariant: between calls, the thread is in the network namespace it was made in, which holds the bridge and no address."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._home = current_network()
        self._networks: dict[str, int] = {}
        with IPRoute() as routes:
            routes.link("add", ifname="bridge", kind="bridge")
            [bridge] = routes.link_lookup(ifname="bridge")
            routes.link("set", index=bridge, state="up")
        for name, address in addresses.items():
            self._networks[name] = new_network()
            self._join(name, address, bridge)
        for name, address in addresses.items():
            self._introduce(name, [other for other in addresses.values() if other != address])

    @contextmanager
    def inside(self, node: str) -> Iterator[None]:
        """This thread, and every process it starts, in the node's network."""
        if node not in self._networks:
            raise KeyError(f"there is no node {node}")
        enter(self._networks[node], NEW_NETWORK)
        try:
            yield
        finally:
            enter(self._home, NEW_NETWORK)

    def block(self, node: str, rules: Sequence[Rule]) -> None:
        with self.inside(node), IPRoute() as routes:
            for rule in sorted(set(rules) - set(_rules(routes))):
                routes.rule("add", **_as_netlink(rule))

    def unblock_all(self, node: str) -> None:
        """The narrowest first: asked to delete a wide rule, the kernel takes the first one that is no wider."""
        with self.inside(node), IPRoute() as routes:
            for rule in reversed(_rules(routes)):
                routes.rule("del", **_as_netlink(rule))

    def rules(self, node: str) -> list[Rule]:
        with self.inside(node), IPRoute() as routes:
            return _rules(routes)

    def _join(self, name: str, address: str, bridge: int) -> None:
        with self.inside(name), suppress(FileNotFoundError):
            Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
        with IPRoute() as routes:
            end = {"ifname": "eth0", "address": _hardware_address(address), "net_ns_fd": self._networks[name]}
            routes.link("add", ifname=f"to-{name}", kind="veth", peer=end, master=bridge, state="up")
        with self.inside(name), IPRoute() as routes:
            [loopback] = routes.link_lookup(ifname="lo")
            routes.link("set", index=loopback, state="up")
            [cable] = routes.link_lookup(ifname="eth0")
            routes.addr("add", index=cable, address=address, prefixlen=_PREFIX)
            routes.link("set", index=cable, state="up")
            routes.rule("add", priority=LOCAL_PREFERENCE, table=LOCAL_TABLE)
            routes.rule("del", priority=0, table=LOCAL_TABLE)

    def _introduce(self, name: str, others: Sequence[str]) -> None:
        with self.inside(name), IPRoute() as routes:
            [cable] = routes.link_lookup(ifname="eth0")
            for other in others:
                routes.neigh("add", dst=other, lladdr=_hardware_address(other), ifindex=cable, state="permanent")


def _hardware_address(address: str) -> str:
    """A locally administered one that says whose it is."""
    return "02:00:" + ":".join(f"{int(part):02x}" for part in address.split("."))


def _rules(routes: Any) -> list[Rule]:
    found = (_from_netlink(message) for message in routes.get_rules(family=_IPV4))
    return sorted(rule for rule in found if rule)


def _as_netlink(rule: Rule) -> dict[str, Any]:
    words: dict[str, Any] = {"priority": CUT_PREFERENCE, "src": rule.source, "src_len": 32, "action": "FR_ACT_BLACKHOLE"}
    if rule.protocol:
        words["ip_proto"] = rule.protocol
    if rule.to_port:
        words["dport_range"] = f"{rule.to_port}:{rule.to_port}"
    if rule.from_port:
        words["sport_range"] = f"{rule.from_port}:{rule.from_port}"
    return words


def _from_netlink(message: Any) -> Rule | None:
    if message["action"] != _BLACKHOLE or message.get_attr("FRA_PRIORITY") != CUT_PREFERENCE:
        return None
    ends = [message.get_attr(f"FRA_{end}PORT_RANGE") for end in "DS"]
    to_port, from_port = (int(end.partition(":")[0]) if end else 0 for end in ends)
    return Rule(message.get_attr("FRA_SRC"), message.get_attr("FRA_IP_PROTO") or 0, to_port, from_port)
