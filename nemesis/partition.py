"""Partition: nodes that do not hear each other, in one of seven shapes.

A shape is a set of cuts (receiver, sender) and is pure; cutting is `cuts`, and the proof is the probe's: each pair that is cut must be
silent in the direction meant, and each that is not must still be heard, or more was cut than was planned. The clients' node takes part
in the measuring only where clients are cut.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nemesis.cuts import Cut
from nemesis.fault import PROOF_TIMEOUT, Evidence, Fault, Strike, until
from nemesis.probe import Heard
from nemesis.targets import NoTarget, PartitionView


class Partition(Fault):
    def __init__(self, strike: Strike, partition: PartitionView | None = None) -> None:
        super().__init__(strike)
        self._clients = strike.planned.variant == "clients-from-leader"
        client = strike.world.nodes.client.name
        self.cuts = shape(strike.planned.variant, strike.world.names, strike.targets, client, _lost(strike), partition)
        if not self.cuts:
            raise NoTarget(f"cutting {', '.join(strike.targets)} in the form `{strike.planned.variant}` cuts nobody")
        self._partition = partition

    def apply(self) -> None:
        self.world.cuts.cut(self.strike.id, self.cuts)

    def prove(self) -> Evidence:
        """Pairs are silent if no datagram came; a connection must fail where either direction is cut."""
        facts: dict[str, object] = {"cut": _named(self.cuts)}
        if self._partition:
            facts["partition"] = f"{self._partition.topic}-{self._partition.partition}"
        return self._evidence(facts, min(max(self.strike.left(), 1.0), PROOF_TIMEOUT), self.cuts)

    def heal(self) -> None:
        self.world.cuts.heal(self.strike.id)

    def prove_healed(self) -> Evidence:
        """Every pair of ours is heard again, but for those that another fault cuts now."""
        evidence = self._evidence({}, PROOF_TIMEOUT, frozenset())
        covering = self.world.cuts.wanted_by(self.cuts, self.strike.id)
        return Evidence(evidence.ok, evidence.facts, covering)

    def _evidence(self, facts: dict[str, object], patience: float, ours: Collection[Cut]) -> Evidence:
        """Other faults' cuts may come and go while it is measured: what they touch is not judged, unless it is ours."""
        names = [*self.world.names, *([self.world.nodes.client.name] if self._clients else [])]
        wrong: list[str] = []
        heard: list[Heard] = []

        def as_meant() -> bool:
            before = self.world.cuts.wanted()
            heard[:] = self.world.probe.measure(names)
            others = (before | self.world.cuts.wanted()) - frozenset(ours)
            wrong[:] = [text for pair in heard if (text := judge(pair, ours, others))]
            return not wrong

        ok = until(as_meant, patience, self.strike.cancelled if ours else None)
        datagrams = {f"{pair.sender}>{pair.receiver}": pair.datagrams for pair in heard}
        connected = [f"{pair.sender}>{pair.receiver}" for pair in heard if pair.connected]
        return Evidence(ok, facts | {"datagrams": datagrams, "connected": connected, "wrong": list(wrong)})


def judge(pair: Heard, cuts: Collection[Cut], others: Collection[Cut] = ()) -> str | None:
    """What is wrong with this pair, if these are the cuts; `others` are not to be judged."""
    there, back = (pair.receiver, pair.sender), (pair.sender, pair.receiver)
    name = f"{pair.sender}>{pair.receiver}"
    if there in cuts and pair.datagrams:
        return f"{name} is cut, yet {pair.datagrams} datagrams came through"
    if (there in cuts or back in cuts) and pair.connected:
        return f"{name} is cut, yet a connection was made"
    if there not in cuts and there not in others and not pair.datagrams:
        return f"{name} is not cut, yet no datagram came through"
    if not {there, back} & {*cuts, *others} and not pair.connected:
        return f"{name} is not cut, yet no connection was made"
    return None


def shape(
    variant: str, nodes: Sequence[str], targets: Sequence[str], client: str, lost: str = "all", partition: PartitionView | None = None
) -> frozenset[Cut]:
    """Who drops whose packets."""
    others = [node for node in nodes if node not in targets]
    match variant:
        case "halves" | "one":
            return _both_ways(targets, others)
        case "majorities-ring":
            return _ring(nodes)
        case "bridge":
            half = len(others) // 2
            return _both_ways(others[:half], others[half:])
        case "one-way":
            return _one_way(targets, others, lost)
        case "leader-from-isr":
            assert partition is not None and partition.leader is not None
            return _both_ways([partition.leader], partition.followers)
        case "clients-from-leader":
            return _both_ways(targets, [client]) if lost == "all" else _one_way(targets, [client], lost)
    raise AssertionError(f"there is no partition in the form {variant}")


def _one_way(some: Sequence[str], others: Sequence[str], lost: str) -> frozenset[Cut]:
    """Of `some` what they send is lost, or what they are sent."""
    pairs = ((one, other) for one in some for other in others)
    return frozenset((other, one) if lost == "sent" else (one, other) for one, other in pairs)


def _both_ways(some: Sequence[str], others: Sequence[str]) -> frozenset[Cut]:
    return frozenset(pair for one in some for other in others for pair in ((one, other), (other, one)))


def _ring(nodes: Sequence[str]) -> frozenset[Cut]:
    """Nodes in a circle: each hears its nearest neighbours, as many as make a majority with itself, and nobody else."""
    count = len(nodes)
    reach = (count // 2 + 1) // 2  # to either side: 1 + 2 * reach is a majority
    far = [
        (nodes[here], nodes[there])
        for here in range(count)
        for there in range(count)
        if min((here - there) % count, (there - here) % count) > reach
    ]
    return frozenset(far)


def _named(cuts: Collection[Cut]) -> list[str]:
    return sorted(f"{sender}>{receiver}" for receiver, sender in cuts)


def _lost(strike: Strike) -> str:
    return str(strike.planned.parameters.get("lost", "all"))
