"""The controller among unreliable brokers: a Hypothesis state machine.

Model brokers start, crash, stop cleanly, send heartbeats and ISR changes from whatever image they last saw. Every
message may be lost, delayed, doubled and overtaken; time jumps; controllers are replaced, with what was not committed
lost or kept. After every step the rules that replication stands on are checked, from the records alone.
"""

from dataclasses import dataclass, field
from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from broker_impl.quorum.commands import (
    AlterConfigs,
    AlterIsr,
    AlterIsrReply,
    Command,
    ConfigEdit,
    ConfigOperation,
    ConfigResourceEdits,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    ElectLeaders,
    Heartbeat,
    IsrChange,
    MorePartitions,
    NewTopic,
    RegisterBroker,
    Registered,
    Reply,
)
from broker_impl.quorum.controller import Controller, ControllerSettings
from broker_impl.quorum.image import Image, PartitionImage
from broker_impl.quorum.records import NO_LEADER, BrokerRegistered, BrokerUnfenced, Record, decode_records, encode_records
from broker_impl.quorum.topic_configs import min_insync, unclean_election_allowed

BROKERS = [1, 2, 3, 4]
TOPICS = ["a", "b"]
SESSION_S = 3.0
UNCLEAN = "unclean.leader.election.enable"
MIN_INSYNC = "min.insync.replicas"

Partitions = dict[tuple[bytes, int], PartitionImage]


@dataclass
class ModelBroker:
    """One broker: its process (if it runs) and its disk (the marker)."""

    id: int
    running: bool = False
    incarnation: str = ""
    epoch: int | None = None
    marker: int | None = None
    seen: Image = field(default_factory=Image.empty)


@dataclass(frozen=True)
class Message:
    command: Command
    incarnation: str = ""


@dataclass(frozen=True)
class Entry:
    offset: int
    records: list[Record]


class ControllerAmongUnreliableBrokers(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.random = Random(0)
        self.settings = ControllerSettings(session_timeout_s=SESSION_S)
        self.now = 0.0
        self.brokers = {broker: ModelBroker(broker) for broker in BROKERS}
        self.network: list[Message] = []
        self.sent: list[Message] = []
        self.answers: list[tuple[int, Message, Reply]] = []
        self.entries: list[Entry] = []
        self.committed = 0
        self.committed_image = Image.empty()
        self.follower_image = Image.empty()
        self.last_offset = 0
        self.runs = 0
        self.stopped_cleanly: set[int] = set()
        self.leaders: dict[tuple[bytes, int, int], tuple[int, int]] = {}
        self.controller = Controller(Image.empty(), self.settings, self.random, self.now)

    @initialize(clean=st.booleans())
    def four_brokers_and_two_topics(self, clean: bool) -> None:
        for broker in BROKERS:
            self.start(broker)
            self._settle()
        for topic, unclean in zip(TOPICS, ["false", "false" if clean else "true"], strict=True):
            self.create_topic(topic, 2, 3, unclean, "2")
        self._settle()

    # What brokers do

    @rule(broker=st.sampled_from(BROKERS))
    def start(self, broker: int) -> None:
        """A process begins, after the end of the one before: by a crash unless it had stopped."""
        model = self.brokers[broker]
        self.runs += 1
        marker, model.marker = model.marker, None
        model.running, model.incarnation, model.epoch = True, f"run-{self.runs}", None
        self._send(model, RegisterBroker(broker, model.incarnation, "host", broker, None, marker))

    @rule(broker=st.sampled_from(BROKERS))
    def crash(self, broker: int) -> None:
        self.brokers[broker].running = False

    @rule(broker=st.sampled_from(BROKERS), restart=st.booleans())
    def stop_cleanly(self, broker: int, restart: bool) -> None:
        model = self.brokers[broker]
        if model.running and model.epoch is not None:
            model.running, model.marker = False, model.epoch
            self.stopped_cleanly.add(model.epoch)
            if restart:
                self.start(broker)

    @rule(broker=st.sampled_from(BROKERS), stop=st.sampled_from([False, False, False, True]), behind=st.sampled_from([0, 0, 50]))
    def heartbeat(self, broker: int, stop: bool, behind: int) -> None:
        model = self.brokers[broker]
        if model.running and model.epoch is not None:
            model.seen = self.committed_image
            self._send(model, Heartbeat(broker, model.epoch, model.seen.offset - behind, stop))

    @precondition(lambda self: self._leaders_at_work())
    @rule(data=st.data(), fresh=st.booleans())
    def change_isr(self, data: st.DataObject, fresh: bool) -> None:
        """A leader, by the image it has seen, wants another ISR; it may have missed that it leads no more."""
        model, topic_id, part = data.draw(st.sampled_from(self._leaders_at_work()))
        isr = {model.id, *data.draw(st.sets(st.sampled_from(part.replicas)))}
        members = [(member, model.seen.brokers[member].epoch) for member in sorted(isr)]
        change = IsrChange(topic_id, part.index, part.leader_epoch, part.partition_epoch, members)
        self._send(model, AlterIsr(model.id, model.epoch or 0, [change]))
        if fresh:
            self._decide(self.network.pop())

    @rule(absent=st.none() | st.sampled_from(BROKERS))
    def a_good_second(self, absent: int | None) -> None:
        """All is delivered and committed, and all but one are heard, so that there is something to break."""
        self.now += 1.0
        self._settle(absent)
        self._tick()

    # What operators do

    @rule(
        topic=st.sampled_from(TOPICS),
        partitions=st.integers(1, 2),
        factor=st.integers(1, 3),
        unclean=st.sampled_from(["false", "true"]),
        min_insync=st.sampled_from("123"),
    )
    def create_topic(self, topic: str, partitions: int, factor: int, unclean: str, min_insync: str) -> None:
        self._decide(Message(CreateTopics([NewTopic(topic, partitions, factor, None, {UNCLEAN: unclean, MIN_INSYNC: min_insync})])))

    @rule(topic=st.sampled_from(TOPICS), dice=st.integers(0, 3))
    def delete_or_grow_topic(self, topic: str, dice: int) -> None:
        self._decide(Message(DeleteTopics([topic]) if dice == 3 else CreatePartitions([MorePartitions(topic, 3)])))

    @rule(topic=st.sampled_from(TOPICS), value=st.sampled_from(["true", "false"]))
    def allow_unclean_elections(self, topic: str, value: str) -> None:
        self._configure(topic, UNCLEAN, value)

    @rule(topic=st.sampled_from(TOPICS), value=st.sampled_from("123"))
    def ask_for_more_or_fewer_replicas(self, topic: str, value: str) -> None:
        self._configure(topic, MIN_INSYNC, value)

    @rule(unclean=st.booleans())
    def elect_leaders(self, unclean: bool) -> None:
        self._decide(Message(ElectLeaders(unclean)))

    # What network, time and controllers do

    @precondition(lambda self: self.network)
    @rule(data=st.data())
    def deliver(self, data: st.DataObject) -> None:
        self._decide(self.network.pop(data.draw(st.integers(0, len(self.network) - 1))))

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def deliver_an_echo(self, data: st.DataObject) -> None:
        """A message of long ago comes again, or for the first time after it was thought lost."""
        self._decide(self.sent[-data.draw(st.integers(1, len(self.sent)))])

    @precondition(lambda self: self.network)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        del self.network[data.draw(st.integers(0, len(self.network) - 1))]

    @rule(seconds=st.sampled_from([0.1, 0.5, 1.4]), times=st.integers(1, 3))
    def pass_time(self, seconds: float, times: int) -> None:
        for _ in range(times):
            self.now += seconds
            self._tick()

    @rule()
    def jump_in_time(self) -> None:
        before = self.controller.tail
        self.now += 100.0
        self._tick()
        assert self.controller.tail is before, "a controller that slept must not judge others"

    @rule(keep=st.integers(0, 3))
    def commit(self, keep: int) -> None:
        """All but the last `keep` entries are committed; the answers that waited for them go out."""
        for entry in self.entries[self.committed : max(self.committed, len(self.entries) - keep)]:
            self.committed_image = self.committed_image.apply(entry.offset, entry.records)
            self.committed += 1
            self._check_claims()
        due = [answer for answer in self.answers if answer[0] <= self.committed_image.offset]
        self.answers = [answer for answer in self.answers if answer[0] > self.committed_image.offset]
        for _, message, reply in due:
            self._receive(message, reply)

    @rule(keep=st.integers(0, 3))
    def fail_over(self, keep: int) -> None:
        """Another controller: of what was not committed it has a part, and an empty entry of its own before it serves."""
        del self.entries[self.committed + keep :]
        self.answers.clear()
        self.commit(keep=0)
        self.last_offset = (self.entries[-1].offset if self.entries else 0) + 1
        self.follower_image = self.committed_image
        self.controller = Controller(Image.decode(self.committed_image.encode()), self.settings, self.random, self.now)

    # What must hold

    @invariant()
    def every_partition_is_sound(self) -> None:
        image = self.controller.tail
        live = image.live_brokers()
        for _, part in image.all_partitions():
            assert part.isr, "an ISR is never empty"
            assert set(part.isr) <= set(part.replicas)
            assert part.leader == NO_LEADER or part.leader in part.isr
            assert part.leader == NO_LEADER or part.leader in live, "no fenced or stopping broker leads"
            assert part.leader != NO_LEADER or not live & {*part.isr, *part.elr}, "whoever can lead does"

    @invariant()
    def nobody_outside_the_isr_is_eligible_where_records_can_be_acknowledged(self) -> None:
        image = self.controller.tail
        for topic, part in image.all_partitions():
            assert not set(part.elr) & set(part.isr)
            assert not (part.elr or part.recalled) or len(part.isr) < min(min_insync(image, topic.name, {}), len(part.replicas))

    @invariant()
    def only_a_clean_starter_on_its_way_up_shares_an_isr_while_it_is_not_live(self) -> None:
        image = self.controller.tail
        up = {record.epoch for entry in self.entries for record in entry.records if isinstance(record, BrokerUnfenced)}
        for _, part in image.all_partitions():
            for member in part.isr if len(part.isr) > 1 else ():
                broker = image.brokers[member]
                assert broker.live or (broker.epoch not in up and not broker.stopping)

    @invariant()
    def the_tail_is_the_replay_of_the_log(self) -> None:
        assert self.controller.tail == self.follower_image
        assert Image.decode(self.follower_image.encode()) == self.follower_image

    def teardown(self) -> None:
        image = Image.empty()
        for entry in self.entries:
            image = image.apply(entry.offset, entry.records)
        assert image == self.controller.tail

    def _configure(self, topic: str, key: str, value: str) -> None:
        self._decide(Message(AlterConfigs([ConfigResourceEdits("topic", topic, [ConfigEdit(key, ConfigOperation.SET, value)])])))

    def _decide(self, message: Message) -> None:
        before = self.controller.tail
        decision = self.controller.handle(message.command, self.now, self.last_offset + 1)
        self._append(decision.records)
        self._check_step(before, message.command, decision.records)
        if isinstance(message.command, AlterIsr):
            self._check_isr_change(before, message.command, decision.reply, decision.records)
        if isinstance(message.command, Heartbeat):
            self._check_heartbeat(before, message.command, decision.records)
        self.answers.append((self.controller.tail.offset, message, decision.reply))

    def _tick(self) -> None:
        before = self.controller.tail
        records = self.controller.tick(self.now, self.last_offset + 1)
        self._append(records)
        self._check_step(before, None, records)

    def _append(self, records: list[Record]) -> None:
        if records:
            self.last_offset += 1
            carried = decode_records(encode_records(records))
            self.entries.append(Entry(self.last_offset, carried))
            self.follower_image = self.follower_image.apply(self.last_offset, carried)

    def _check_step(self, before: Image, command: Command | None, records: list[Record]) -> None:
        old, new = _partitions(before), _partitions(self.controller.tail)
        for key in old.keys() & new.keys():
            _check_epochs(old[key], new[key])
            self._check_election(before, command, key, old[key], new[key])
        for record in records:
            if isinstance(record, BrokerRegistered):
                self._check_registration(before, record, old, new)

    def _check_election(
        self, before: Image, command: Command | None, key: tuple[bytes, int], old: PartitionImage, new: PartitionImage
    ) -> None:
        asked = isinstance(command, ElectLeaders) and command.unclean
        allowed = unclean_election_allowed(self.controller.tail, before.topic_names[key[0]], {})
        if new.leader not in (old.leader, NO_LEADER) and not asked and not allowed:
            assert new.leader in (*old.isr, *old.elr, *_recalled(old)), "a clean election takes nobody who may lack an acknowledged record"
        if not isinstance(command, AlterIsr) and not asked and not allowed:
            assert set(new.isr) <= {*old.isr, *old.elr, *_recalled(old)}, "only a leader adds others to its ISR"
        assert set(new.elr) <= {*old.isr, *old.elr}, "nobody becomes eligible who was not in sync"

    def _check_registration(self, before: Image, record: BrokerRegistered, old: Partitions, new: Partitions) -> None:
        assert record.epoch == self.last_offset, "the epoch is the offset of the entry"
        previous = before.brokers.get(record.id)
        unclean = previous is not None and previous.epoch not in self.stopped_cleanly
        for key, part in old.items():
            assert new[key].leader != record.id
            if part.leader == record.id:
                assert new[key].leader_epoch > part.leader_epoch
            if unclean and record.id in new[key].isr:
                assert new[key].isr == (record.id,), "after an unclean stop it is in an ISR only alone"
                assert not set(part.elr) - {record.id}, "and only if nobody can take its place"
            assert not unclean or record.id not in new[key].elr

    def _check_heartbeat(self, before: Image, command: Heartbeat, records: list[Record]) -> None:
        stale = before.brokers[command.id].epoch != command.epoch
        behind = command.metadata_offset < command.epoch and not command.want_shutdown
        assert not records or not (stale or behind), "an old incarnation, or one that has not caught up, changes nothing"

    def _check_isr_change(self, before: Image, command: AlterIsr, reply: Reply, records: list[Record]) -> None:
        """Computed again from the request alone: whatever rests on an older state changed nothing."""
        assert isinstance(reply, AlterIsrReply)
        (change,) = command.changes
        topic = before.topic(change.topic_id)
        part = None if topic is None else topic.partitions[change.index]
        current = (
            part is not None
            and before.brokers[command.id].epoch == command.epoch
            and (part.leader, part.leader_epoch, part.partition_epoch) == (command.id, change.leader_epoch, change.partition_epoch)
            and all(before.brokers[member].epoch == epoch for member, epoch in change.new_isr)
            and all(before.brokers[member].live or member in part.isr for member, _ in change.new_isr)
        )
        accepted = reply.error == 0 and reply.results[0].error == 0
        assert accepted == current
        assert accepted or not records
        if accepted:
            assert set(reply.results[0].isr) == {member for member, _ in change.new_isr}

    def _check_claims(self) -> None:
        """A leader epoch belongs to one incarnation of one broker for ever, once it is committed."""
        for (topic_id, index), part in _partitions(self.committed_image).items():
            if part.leader != NO_LEADER:
                claim = (part.leader, self.committed_image.brokers[part.leader].epoch)
                assert self.leaders.setdefault((topic_id, index, part.leader_epoch), claim) == claim

    def _leaders_at_work(self) -> list[tuple[ModelBroker, bytes, PartitionImage]]:
        return [
            (model, topic.id, part)
            for model in self.brokers.values()
            if model.running and model.epoch is not None
            for topic, part in model.seen.all_partitions()
            if part.leader == model.id
        ]

    def _settle(self, absent: int | None = None) -> None:
        self._deliver_all()
        self.commit(keep=0)
        for broker in BROKERS:
            if broker != absent:
                self.heartbeat(broker, stop=False, behind=0)
        self._deliver_all()
        self.commit(keep=0)

    def _send(self, model: ModelBroker, command: Command) -> None:
        self.network.append(Message(command, model.incarnation))
        self.sent.append(self.network[-1])

    def _deliver_all(self) -> None:
        while self.network:
            self._decide(self.network.pop(0))

    def _receive(self, message: Message, reply: Reply) -> None:
        if isinstance(message.command, RegisterBroker) and isinstance(reply, Registered):
            model = self.brokers[message.command.id]
            if model.running and model.incarnation == message.incarnation:
                model.epoch = reply.epoch


def _recalled(part: PartitionImage) -> set[int]:
    return {broker for broker, _, _ in part.recalled}


def _partitions(image: Image) -> Partitions:
    return {(topic.id, part.index): part for topic, part in image.all_partitions()}


def _check_epochs(old: PartitionImage, new: PartitionImage) -> None:
    assert new.replicas == old.replicas
    assert (new is old) == (new.partition_epoch == old.partition_epoch), "every change raises the partition epoch"
    assert new.partition_epoch >= old.partition_epoch
    assert new.leader_epoch >= old.leader_epoch
    if new.leader != old.leader:
        assert new.leader_epoch > old.leader_epoch, "every change of leader raises the leader epoch"


ControllerAmongUnreliableBrokers.TestCase.settings = settings(stateful_step_count=60, max_examples=max(300, settings().max_examples))
TestControllerAmongUnreliableBrokers = ControllerAmongUnreliableBrokers.TestCase
