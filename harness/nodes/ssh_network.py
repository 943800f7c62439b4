"""Cuts on a host reached over SSH, by routing rules or, where the host's routing is not ours to touch, by iptables in a chain of our own.

The traps: a rule that matches the harness's own connection would lock it out for good, so such a block is refused; and a harness that
dies leaves its rules behind, so a timer on the host removes them when the lease is over. The timer looks once a second whether its
lease still lies in the node's folder, and ends when it does not.
"""

from __future__ import annotations

import json
import re
import secrets
import shlex
from abc import abstractmethod
from collections.abc import Sequence

from harness.errors import UserMistake
from harness.nodes.network import CUT_PREFERENCE, LEASE, LOCAL_PREFERENCE, TCP, UDP, Network, Rule, rules_for
from harness.nodes.ssh_connection import PATIENCE, SshConnection

CHAIN = "HIGHWATER"
_PROTOCOLS = {TCP: "tcp", UDP: "udp"}
_NUMBERS = {name: number for number, name in _PROTOCOLS.items()}


class SshNetwork(Network):
    """What both ways have in common: safety, leases, and one script for each change."""

    def __init__(self, connection: SshConnection, folder: str) -> None:
        self._connection = connection
        self._folder = folder
        self._touched = False

    def block(self, sources: Sequence[str], ports: Sequence[int] = (), *, lease: float = LEASE) -> None:
        wanted = rules_for(sources, ports)
        ours, port = self._control()
        if any(_matches(rule, ours, port) for rule in wanted):
            raise UserMistake(f"blocking {ours} would cut the harness off from the node; block other ports than {port} instead")
        self._touched = True
        self._script(self.prepare(), self._lease(lease), *(self.add(rule) for rule in sorted(wanted - self.rules())))

    def unblock_all(self) -> None:
        self._script(self.remove_all(), f"rm -f {self._leases()}")

    def undo(self) -> None:
        """The host as it was before the first block."""
        if self._touched:
            self._script(self.remove_all(), self.restore(), f"rm -f {self._leases()}")
            self._touched = False

    @abstractmethod
    def prepare(self) -> str:
        """Before each block, since a lease that is over restores the host."""

    @abstractmethod
    def restore(self) -> str: ...

    @abstractmethod
    def add(self, rule: Rule) -> str: ...

    @abstractmethod
    def remove_all(self) -> str: ...

    def _script(self, *lines: str) -> bytes:
        return self._connection.run("set -e; " + "\n".join(lines), timeout=PATIENCE).require("changing the node's network")

    def _control(self) -> tuple[str, int]:
        """Our address as the node sees it, and the port of its SSH server."""
        ours, _, _, port = self._script("echo $SSH_CONNECTION").decode().split()
        return ours, int(port)

    def _leases(self) -> str:
        return f"{shlex.quote(self._folder)}/.lease-*"

    def _lease(self, seconds: float) -> str:
        """A new lease in place of earlier ones. Restoring waits for nobody, so the timer undoes all."""
        path = shlex.quote(f"{self._folder}/.lease-{secrets.token_hex(8)}")
        watch = f"i=0; while sleep 1; do [ -e {path} ] || exit; i=$((i+1)); [ $i -lt {int(seconds)} ] || break; done"
        timer = f"{watch}; {self.remove_all()}; {self.restore()}; rm -f {path}"
        return f"rm -f {self._leases()}; touch {path}; setsid sh -c {shlex.quote(timer)} </dev/null >/dev/null 2>&1 &"


class RoutingNetwork(SshNetwork):
    """As in namespaces; it moves the rule for local addresses, which the owner of the host has to allow."""

    def rules(self) -> frozenset[Rule]:
        found = json.loads(self._script("ip -j rule show") or "[]")
        return frozenset(
            Rule(rule["src"], _NUMBERS.get(rule.get("ipproto", ""), 0), int(rule.get("dport", 0)), int(rule.get("sport", 0)))
            for rule in found
            if rule["priority"] == CUT_PREFERENCE and rule.get("action") == "blackhole"
        )

    def prepare(self) -> str:
        return (
            f"ip rule show pref {LOCAL_PREFERENCE} | grep -q local || ip rule add pref {LOCAL_PREFERENCE} lookup local\n"
            "if ip rule show pref 0 | grep -q local; then ip rule del pref 0; fi"
        )

    def restore(self) -> str:
        return (
            "ip rule show pref 0 | grep -q local || ip rule add pref 0 lookup local\n"
            f"if ip rule show pref {LOCAL_PREFERENCE} | grep -q local; then ip rule del pref {LOCAL_PREFERENCE} lookup local; fi"
        )

    def add(self, rule: Rule) -> str:
        protocol = f" ipproto {_PROTOCOLS[rule.protocol]}" if rule.protocol else ""
        ports = (f" dport {rule.to_port}" if rule.to_port else "") + (f" sport {rule.from_port}" if rule.from_port else "")
        return f"ip rule add pref {CUT_PREFERENCE} from {rule.source}{protocol}{ports} blackhole"

    def remove_all(self) -> str:
        return f"while ip rule show pref {CUT_PREFERENCE} | grep -q blackhole; do ip rule del pref {CUT_PREFERENCE} blackhole; done"


class FilterNetwork(SshNetwork):
    """A chain of our own ahead of the host's, so that removing all of it removes nothing else."""

    def rules(self) -> frozenset[Rule]:
        lines = self._script(f"iptables -w -S {CHAIN} 2>/dev/null || true").decode().splitlines()
        return frozenset(_from_iptables(line) for line in lines if line.endswith("-j DROP"))

    def prepare(self) -> str:
        return (
            f"iptables -w -n -L {CHAIN} >/dev/null 2>&1 || iptables -w -N {CHAIN}\n"
            f"iptables -w -C INPUT -j {CHAIN} 2>/dev/null || iptables -w -I INPUT -j {CHAIN}"
        )

    def restore(self) -> str:
        return (
            f"if iptables -w -n -L {CHAIN} >/dev/null 2>&1; then iptables -w -D INPUT -j {CHAIN}; iptables -w -F {CHAIN}; "
            f"iptables -w -X {CHAIN}; fi"
        )

    def add(self, rule: Rule) -> str:
        protocol = f" -p {_PROTOCOLS[rule.protocol]}" if rule.protocol else ""
        ports = (f" --dport {rule.to_port}" if rule.to_port else "") + (f" --sport {rule.from_port}" if rule.from_port else "")
        return f"iptables -w -A {CHAIN} -s {rule.source}{protocol}{ports} -j DROP"

    def remove_all(self) -> str:
        return f"if iptables -w -n -L {CHAIN} >/dev/null 2>&1; then iptables -w -F {CHAIN}; fi"


def _matches(rule: Rule, address: str, port: int) -> bool:
    """Whether packets of a connection from that address to that port of the node would be dropped."""
    return rule.source == address and rule.protocol in (0, TCP) and rule.to_port in (0, port) and rule.from_port == 0


def _from_iptables(line: str) -> Rule:
    def found(pattern: str) -> str:
        match = re.search(pattern, line)
        return match[1] if match else ""

    source = found(r"-s ([0-9.]+)(?:/32)? ")
    return Rule(source, _NUMBERS.get(found(r"-p (\w+) "), 0), int(found(r"--dport (\d+) ") or 0), int(found(r"--sport (\d+) ") or 0))
