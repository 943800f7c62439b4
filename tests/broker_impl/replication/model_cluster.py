"""Several model nodes, a controller and a network that drops, duplicates, delays and reorders; after every step the promises are checked.

A step is a method; a test is a sequence of steps, told by hand (stories), by a seed or by Hypothesis. Anything may happen
between any two steps: a leader that lost its office long ago goes on leading until it hears of it, a proposal reported as lost is
still under way, a clock jumps.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from broker_impl.replication.isr import IsrChange
from broker_impl.replication.partition import Partition, PartitionSettings
from tests.broker_impl.replication.model_controller import Answer, ModelController
from tests.broker_impl.replication.model_log import Entry
from tests.broker_impl.replication.model_node import FetchRequest, FetchResponse, ModelNode, Truncation


@dataclass(frozen=True, slots=True)
class Proposal:
    sender: int
    sender_epoch: int
    change: IsrChange


@dataclass(frozen=True, slots=True)
class ProposalAnswer:
    to: int
    to_epoch: int
    change: IsrChange
    answer: Answer


Message = FetchRequest | FetchResponse | Proposal | ProposalAnswer


class BrokenPromise(AssertionError):
    """An invariant does not hold."""


@dataclass(slots=True)
class _Seen:
    """A node's machine as it was after the previous step."""

    machine: Partition
    leader_epoch: int
    high_watermark: int


class ModelCluster:
    def __init__(
        self,
        settings: PartitionSettings,
        replicas: Sequence[int] = (1, 2, 3),
        truncation: Truncation = Truncation.BY_EPOCH,
        machine_type: type[Partition] = Partition,
    ) -> None:
        self.settings = settings
        self.controller = ModelController(tuple(replicas))
        self.nodes = {broker: ModelNode(broker, settings, truncation, machine_type) for broker in replicas}
        self.network: list[Message] = []
        self.committed: list[Entry] = []
        self.written: dict[tuple[int, int], int] = {}
        self.next_value = 0
        self.lost_proposals = 0
        self._seen: dict[int, _Seen] = {}
        for broker, node in self.nodes.items():
            node.start(self.controller.epochs[broker])
            node.follow(self.controller.log[0], 0)

    def produce(self, broker: int, *, acks_all: bool) -> int | None:
        """The value, if the node took it."""
        node = self.nodes[broker]
        if not node.leads():
            return None
        self.next_value += 1
        if not node.produce(self.next_value, acks_all=acks_all):
            return None
        name = (node.log.last_epoch(), node.log.end - 1)
        if self.written.setdefault(name, self.next_value) != self.next_value:
            raise BrokenPromise(f"epoch {name[0]}, offset {name[1]} names both {self.written[name]} and {self.next_value}")
        return self.next_value

    def send_fetch(self, broker: int) -> FetchRequest | None:
        request = self.nodes[broker].fetch()
        if request is not None:
            self.network.append(request)
        return request

    def deliver(self, position: int, *, keep: bool = False, limit: int = 2) -> None:
        """One message, any of those under way; with `keep` it will come once more."""
        message = self.network[position] if keep else self.network.pop(position)
        match message:
            case FetchRequest():
                response = self.nodes[message.to].serve(message, limit)
                if response is not None:
                    self.network.append(response)
            case FetchResponse():
                self.nodes[message.to].fetched(message)
            case Proposal():
                answer = self.controller.alter_isr(message.sender, message.sender_epoch, message.change)
                self.network.append(ProposalAnswer(message.sender, message.sender_epoch, message.change, answer))
            case ProposalAnswer():
                node = self.nodes[message.to]
                if node.machine is not None and node.broker_epoch == message.to_epoch:
                    node.isr_answered(message.change, message.answer)
        self._collect_proposals()

    def drop(self, position: int) -> None:
        self.network.pop(position)

    def give_up_proposal(self, broker: int) -> None:
        """The node stops waiting for the answer; its proposal may still be under way."""
        machine = self.nodes[broker].machine
        if machine is not None and machine.change_in_flight is not None:
            self.lost_proposals += 1
            self.nodes[broker].isr_answered(machine.change_in_flight, None)

    def tick(self, broker: int) -> None:
        if self.nodes[broker].machine is not None:
            self.nodes[broker].tick()
            self._collect_proposals()

    def flush(self, broker: int) -> None:
        if self.nodes[broker].machine is not None:
            self.nodes[broker].flush()

    def hear_metadata(self, broker: int, entries: int = 1_000_000) -> None:
        """The node follows the metadata log by so many entries, skipping what lies between."""
        node = self.nodes[broker]
        position = min(node.position + entries, len(self.controller.log) - 1)
        if node.machine is not None and position > node.position:
            node.follow(self.controller.log[position], position)

    def crash(self, broker: int, kept_of_unflushed: int = 1_000_000) -> None:
        """Where flushing counts the machine loses its power: of what was not flushed only a part is kept."""
        node = self.nodes[broker]
        if node.machine is not None:
            node.stop()
            node.clean_stop = False
            if self.settings.flush_counts:
                node.log.truncate(node.log.flushed + kept_of_unflushed)

    def stop_cleanly(self, broker: int) -> None:
        node = self.nodes[broker]
        if node.machine is not None:
            node.log.flush()
            node.checkpoint = node.machine.high_watermark
            node.stop()
            node.clean_stop = True

    def restart(self, broker: int) -> None:
        """A new incarnation: registered, and caught up with the metadata as far as its registration before it does anything."""
        node = self.nodes[broker]
        if node.machine is not None:
            return
        node.start(self.controller.register(broker, clean=node.clean_stop))
        node.clean_stop = False
        node.follow(self.controller.log[-1], len(self.controller.log) - 1)

    def unfence(self, broker: int) -> None:
        node = self.nodes[broker]
        if node.machine is not None and node.broker_epoch == self.controller.epochs[broker]:
            self.controller.unfence(broker)

    def heal(self, rounds: int = 25) -> None:
        """Everything is repaired and has time: all nodes up, nothing is lost any more."""
        self.network.clear()
        for broker, node in self.nodes.items():
            self.restart(broker)
            self.unfence(broker)
            self.give_up_proposal(broker)
            assert node.machine is not None
            node.machine.configure(self.settings, node.now)
            self.check()
        for _ in range(rounds):
            for broker, node in self.nodes.items():
                node.now += 1.0
                for step in (self.hear_metadata, self.flush, self.tick, self.send_fetch):
                    step(broker)
                    self.check()
            while self.network:
                self.deliver(0, limit=50)
                self.check()

    def check(self) -> None:
        """Every promise, from what all nodes hold at this moment."""
        self._check_machines()
        for broker, node in self.nodes.items():
            if node.machine is not None:
                self._check_committed(broker, node.log.entries[: node.machine.high_watermark])
        for broker in self.controller.state.isr:
            log = self.nodes[broker].log
            durable = log.entries[: log.flushed] if self.settings.flush_counts else log.entries
            if durable[: len(self.committed)] != self.committed:
                raise BrokenPromise(f"committed is {self.committed}, but {broker} of the ISR has {durable}")
        for node in self.nodes.values():
            for produce in node.acknowledged:
                if self.committed[produce.offset : produce.offset + 1] != [Entry(produce.leader_epoch, produce.value)]:
                    raise BrokenPromise(f"{produce} was acknowledged, but committed is {self.committed}")

    def _check_committed(self, broker: int, entries: list[Entry]) -> None:
        """What lies below anybody's high watermark is committed for ever."""
        known = min(len(entries), len(self.committed))
        if entries[:known] != self.committed[:known]:
            raise BrokenPromise(f"two values at one committed offset: {broker} has {entries}, committed was {self.committed}")
        self.committed.extend(entries[known:])

    def _check_machines(self) -> None:
        state = self.controller.state
        for broker, node in self.nodes.items():
            machine = node.machine
            if machine is None:
                self._seen.pop(broker, None)
                continue
            if not machine.high_watermark <= machine.log_end == node.log.end:
                raise BrokenPromise(f"{broker}: high watermark {machine.high_watermark}, log end {machine.log_end} of {node.log.end}")
            if node.leads():
                if machine.leader_epoch == state.leader_epoch and not set(state.isr) <= machine.maximal_isr:
                    raise BrokenPromise(f"the controller has {state.isr} in sync, the leader counts {set(machine.maximal_isr)}")
                self._check_watermark(broker, machine)
            self._seen[broker] = _Seen(machine, machine.leader_epoch, machine.high_watermark)

    def _check_watermark(self, broker: int, machine: Partition) -> None:
        seen = self._seen.get(broker)
        if seen is None or seen.machine is not machine:
            return
        if machine.high_watermark < seen.high_watermark:
            raise BrokenPromise(f"the high watermark of leader {broker} went back to {machine.high_watermark}")
        too_few = len(machine.isr) < min(machine.settings.min_insync, len(machine.replicas))
        if too_few and machine.high_watermark > seen.high_watermark:
            raise BrokenPromise(f"the high watermark of leader {broker} moved with {machine.isr} in sync")

    def _collect_proposals(self) -> None:
        for node in self.nodes.values():
            self.network.extend(Proposal(node.broker, node.broker_epoch, change) for change in node.changes)
            node.changes.clear()
