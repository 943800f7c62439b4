"""A whole quorum in one process on virtual time: `simulate(seed, nodes, steps)` plays one schedule and says what came of it.

Everything random comes from the seed: delays, losses, duplicates, one-way cuts, stalls, clocks that run at different speeds, kills,
power losses in the middle of a write. Each node is a real Raft on a real RaftLog on a disk that forgets. The promises are checked after
every step; in the end the world is healed, and the quorum must come to lead, commit and agree within bounded time. A broken Raft is
put in by `raft_factory`, and the outcome must then name a violation.

The trap of such simulations is that nothing interesting happens. Faults therefore hunt: they strike leaders just elected, voters that
have just voted and nodes in the middle of a write, and `coverage` counts the rare states that were reached.
"""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from math import isfinite
from random import Random

import msgspec

from broker_impl.quorum.raft import Entry, Raft, RaftMessage, RaftSettings, Ready
from broker_impl.quorum.raft_log import RaftLog
from broker_impl.quorum.raft_messages import SnapshotChunk, VoteReply
from tests.broker_impl.quorum.power_loss_disk import PowerLossDisk, PowerLost
from tests.broker_impl.quorum.raft_safety import Safety, Violation

RaftFactory = Callable[..., Raft]
PATIENCE_S = 60.0
PATIENCE_STEPS = 100_000
"""Of virtual time and of steps, for what must come about once nothing is in the way."""
STORY_LENGTH = 60
CLOCK_RATES = (0.7, 1.4)


@dataclass(frozen=True, slots=True)
class Outcome:
    seed: int
    violation: str | None
    coverage: Counter[str]
    story: list[str]
    """The last steps before the end."""


def simulate(seed: int, nodes: int, steps: int, raft_factory: RaftFactory = Raft, *, sync_works: bool = True) -> Outcome:
    """`nodes` voters, and in some schedules an observer, through `steps` steps of trouble and then to rest."""
    random = Random(seed)
    world = World(random, nodes, nodes + (random.random() < 0.3), Climate.drawn(random), raft_factory)
    for host in world.hosts.values():
        host.disk.sync_works = sync_works

    def play() -> None:
        world.trouble(steps)
        world.rest()

    return outcome_of(seed, world, play)


def outcome_of(seed: int, world: "World", play: Callable[[], None]) -> Outcome:
    violation: str | None = None
    try:
        play()
    except Exception as found:
        violation = f"{type(found).__name__}: {found}"
    world.coverage["elections"] = world.safety.elections
    world.coverage["commits"] = len(world.safety.committed)
    return Outcome(seed, violation, world.coverage, [f"{at:9.4f} {what}" for at, *what in world.story])


@dataclass(frozen=True, slots=True)
class Climate:
    """How bad the world is, and the bounds the nodes have in it. Times are means, in seconds."""

    settings: RaftSettings
    drop: float = 0.0
    duplicate: float = 0.0
    delay_s: float = 0.01
    write_s: float = 0.001
    propose_every_s: float = 0.3
    fault_every_s: float | None = None
    hunt: float = 0.0
    """How likely a leader just elected, or a voter that has just voted, is struck."""

    @staticmethod
    def drawn(random: Random) -> "Climate":
        fault_every_s, hunt = random.choice(((0.3, 0.0), (1.0, 0.3), (5.0, 0.9), (20.0, 0.9)))
        return Climate(
            RaftSettings(
                election_timeout_s=1.0,
                heartbeat_s=random.choice((0.1, 0.3, 0.45, 0.45)),
                max_batch_bytes=random.choice((40, 40, 150, 1 << 20)),
                max_inflight=random.choice((1, 3, 16)),
                kept_entries=random.choice((0, 2, 50)),
            ),
            drop=random.choice((0.0, 0.02, 0.2)),
            duplicate=random.choice((0.0, 0.1)),
            delay_s=random.choice((0.002, 0.05, 0.3)),
            write_s=random.choice((0.001, 0.1)),
            propose_every_s=random.choice((0.1, 1.0)),
            fault_every_s=fault_every_s,
            hunt=hunt,
        )


class Host:
    """One node: its disk survives everything, the rest lives from a start to the next end."""

    def __init__(self, node: int, random: Random) -> None:
        self.node = node
        self.disk = PowerLossDisk()
        self.rate = random.uniform(*CLOCK_RATES)
        self.clock_offset = random.uniform(0.0, 1000.0)
        self.life = 0
        """Counts starts and ends; what was scheduled for an earlier life does not happen."""
        self.raft: Raft | None = None
        self.log = RaftLog(self.disk, "/quorum")
        self.work: Ready | None = None
        self.armed_at = -1.0
        self.stalled_until = 0.0
        self.applied = 0
        self.state = 0

    def local(self, now: float) -> float:
        return now * self.rate + self.clock_offset

    def world_time(self, local: float) -> float:
        return (local - self.clock_offset) / self.rate


class World:
    """Hosts 1 to `nodes`, of which the first `voters` vote, and the events still to come."""

    def __init__(self, random: Random, voters: int, nodes: int, climate: Climate, raft_factory: RaftFactory) -> None:
        self.random = random
        self.now = 0.0
        self.climate = climate
        self.hosts = {node: Host(node, random) for node in range(1, nodes + 1)}
        self.cut: set[tuple[int, int]] = set()
        """Pairs (from, to) between which nothing arrives."""
        self.safety = Safety()
        self.coverage: Counter[str] = Counter()
        self.story: deque[tuple[object, ...]] = deque(maxlen=STORY_LENGTH)
        self._factory = raft_factory
        self._voters = tuple(range(1, voters + 1))
        self._events: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._sequence = 0
        self._proposals = 0
        self._hunted_term = 0
        self._quiet_terms: set[int] = set()
        for host in self.hosts.values():
            self._at(random.uniform(0.0, 0.5), self._start, host, host.life)

    def trouble(self, steps: int) -> None:
        self._at(0.1, self._client)
        self._at(0.5, self._fault)
        for _ in range(steps):
            self._step()

    def rest(self) -> None:
        """Heal everything; from then on a leader must emerge, commit something new, and all nodes must apply it."""
        self.climate = Climate(self.climate.settings)
        self.cut.clear()
        for host in self.hosts.values():
            host.stalled_until = 0.0
            self.start(host)
        goal = len(self.safety.committed) + 1
        self.run_until(lambda: all(host.applied >= goal for host in self.hosts.values()), f"all nodes have applied entry {goal}")

    def run_until(self, reached: Callable[[], bool], meaning: str) -> None:
        began, steps = self.now, 0
        while not reached():
            if self.now - began > PATIENCE_S or steps > PATIENCE_STEPS:
                raise Violation(f"after {self.now - began:.1f} s and {steps} steps it is still not so that {meaning}")
            self._step()
            steps += 1

    def propose(self, host: Host) -> None:
        assert host.raft
        self._proposals += 1
        host.raft.propose(b"%d" % self._proposals, host.local(self.now))
        self._after(host, host.raft)

    def start(self, host: Host) -> None:
        self._start(host, host.life)

    def end(self, host: Host, *, power_lost: bool) -> None:
        """A kill leaves the page cache, a power loss does not; both may come in the middle of a write."""
        if not host.raft:
            return
        self._tell("power loss" if power_lost else "kill", host.node)
        if host.work and host.work.must_sync:
            self._persist_partly(host, host.work)
        if power_lost:
            self.coverage["unsynced writes lost"] += host.disk.lose_power(self.random) > 0
        host.raft = host.work = None
        host.life += 1
        host.armed_at = -1.0
        self.coverage["power losses" if power_lost else "kills"] += 1

    def _persist_partly(self, host: Host, ready: Ready) -> None:
        host.disk.fuse = self.random.randrange(5)
        try:
            host.log.persist(ready)
        except PowerLost:
            self.coverage["ends while writing"] += 1
        host.disk.fuse = None

    def _end_for_a_while(self, host: Host, *, power_lost: bool) -> None:
        if host.raft:
            self.end(host, power_lost=power_lost)
            self._at(self.now + self.random.choice((0.01, 0.3, 2.0)), self._start, host, host.life)

    def _step(self) -> None:
        self.now, _, happen, arguments = heappop(self._events)
        happen(*arguments)

    def _at(self, at: float, happen: Callable[..., None], *arguments: object) -> None:
        self._sequence += 1
        heappush(self._events, (at, self._sequence, happen, arguments))

    def _tell(self, *what: object) -> None:
        self.story.append((self.now, *what))

    def _start(self, host: Host, life: int) -> None:
        if host.raft or life != host.life:
            return
        host.life += 1
        host.log = RaftLog(host.disk, "/quorum")
        hard_state, snapshot, entries = host.log.load()
        self.coverage["torn tails"] += host.log.torn_bytes > 0
        host.state = int.from_bytes(snapshot.data[:4], "big") if snapshot else 0
        host.applied = snapshot.index if snapshot else 0
        now = host.local(self.now)
        random = Random(self.random.random())
        host.raft = self._factory(host.node, self._voters, hard_state, snapshot, entries, self.climate.settings, random, now)
        self._tell("start", host.node, hard_state, len(entries))
        self.safety.started(host.node, host.raft)
        self._after(host, host.raft)

    def _after(self, host: Host, raft: Raft) -> None:
        """After every step of a node: check it, start its next work, and set its timer."""
        self.safety.stepped(host.node, raft)
        self._judge_leader(host, raft)
        if not host.work and (ready := raft.take()):
            self.safety.handed_out(host.node, raft, ready)
            self.coverage["truncations"] += ready.truncate_from is not None
            host.work = ready
            takes = self.random.expovariate(1.0 / self.climate.write_s) if ready.must_sync else 0.0
            self._at(self.now + takes, self._carry_out, host, host.life)
        at = host.world_time(raft.next_deadline())
        if at != host.armed_at:
            host.armed_at = at
            self._at(max(at, self.now), self._tick, host, host.life, at)
        if raft.role == "leader" and raft.term > self._hunted_term:
            self._hunt_leader(host, raft.term)

    def _judge_leader(self, host: Host, raft: Raft) -> None:
        """A silence is measured by the voters' clocks, of which the fastest makes it the longest."""
        if raft.role != "leader":
            return
        if raft.term not in self._quiet_terms:
            self._quiet_terms.add(raft.term)
            self.coverage["elections after a silence"] += raft.silence_s > 0.5
            self.safety.quiet(raft.term, self.now - raft.silence_s / CLOCK_RATES[1])
        if isfinite(raft.followed_at):
            self.safety.followed(raft.term, host.world_time(raft.followed_at))

    def _tick(self, host: Host, life: int, at: float) -> None:
        if life == host.life and host.raft and at == host.armed_at and not self._stalled(host, self._tick, host, life, at):
            host.armed_at = -1.0
            host.raft.tick(max(host.local(self.now), host.raft.next_deadline()))
            self._after(host, host.raft)

    def _carry_out(self, host: Host, life: int) -> None:
        if life != host.life or not host.raft or not host.work or self._stalled(host, self._carry_out, host, life):
            return
        ready, host.work = host.work, None
        if ready.must_sync:
            host.log.persist(ready)
        sent_before_end = self.random.randrange(len(ready.messages) + 1) if self._votes(ready) else len(ready.messages)
        for message in ready.messages[:sent_before_end]:
            self.safety.sent(message)
            self._send(message)
        if sent_before_end < len(ready.messages):
            self._end_for_a_while(host, power_lost=True)
            return
        if ready.snapshot:
            self.coverage["snapshots installed"] += 1
            host.applied, host.state = ready.snapshot.index, int.from_bytes(ready.snapshot.data[:4], "big")
            self.safety.has_state(host.node, host.applied, host.state)
        for entry in ready.committed:
            self._apply(host, entry)
        host.raft.done(ready, host.local(self.now))
        self._after(host, host.raft)
        if self._votes(ready) and host.raft:
            self._end_for_a_while(host, power_lost=True)

    def _votes(self, ready: Ready) -> bool:
        """Whether to strike a node that votes just now, and so whether it forgets its vote."""
        voted = any(isinstance(message, VoteReply) and message.granted and not message.pre for message in ready.messages)
        return voted and self.random.random() < self.climate.hunt

    def _apply(self, host: Host, entry: Entry) -> None:
        assert entry.index == host.applied + 1
        host.applied, host.state = entry.index, self.safety.applied(host.node, entry, host.state)

    def _send(self, message: RaftMessage) -> None:
        self.coverage["snapshot chunks"] += isinstance(message, SnapshotChunk)
        if (message.sender, message.to) in self.cut or self.random.random() < self.climate.drop:
            return
        wire = msgspec.msgpack.encode(message)
        copies = 1 + (self.random.random() < self.climate.duplicate)
        for _ in range(copies):
            takes = self.random.expovariate(1.0 / self.climate.delay_s)
            self._at(self.now + takes, self._deliver, message.sender, self.hosts[message.to], wire)

    def _deliver(self, sender: int, host: Host, wire: bytes) -> None:
        if (sender, host.node) in self.cut or not host.raft or self._stalled(host, self._deliver, sender, host, wire):
            return
        message = msgspec.msgpack.decode(wire, type=RaftMessage)
        self._tell(message)
        host.raft.receive(message, host.local(self.now))
        self._after(host, host.raft)

    def _stalled(self, host: Host, happen: Callable[..., None], *arguments: object) -> bool:
        """A stalled node does everything later, in the same order."""
        if self.now < host.stalled_until:
            self._at(host.stalled_until, happen, *arguments)
            return True
        return False

    def _client(self) -> None:
        """Proposes to whoever believes to lead, and lets a node compact its log now and then."""
        self._at(self.now + self.random.expovariate(1.0 / self.climate.propose_every_s), self._client)
        for host in self.hosts.values():
            if host.raft and host.raft.role == "leader" and self.now >= host.stalled_until:
                self.propose(host)
                if self.random.random() < 0.05 and host.raft.hand_over() is not None:
                    self.coverage["leaders that hand over"] += 1
                    self._after(host, host.raft)
        host = self.random.choice(list(self.hosts.values()))
        if host.raft and not host.work and self.random.random() < 0.3:
            host.raft.compact(host.applied, host.state.to_bytes(4, "big") + bytes(self.random.randrange(100)))
            self._after(host, host.raft)

    def _hunt_leader(self, host: Host, term: int) -> None:
        """A leader just elected is the best target: cut off, or able to reach one other node only, or gone."""
        self._hunted_term = term
        if self.random.random() >= self.climate.hunt:
            return
        self.coverage["leaders hunted"] += 1
        friend = self.random.choice(self._voters)
        self.isolate(host.node, self.random.choice(((), (friend,), (friend,), self._voters)))
        self._at(self.now + self.random.choice((1.0, 2.0, 4.0, 8.0)) * self.climate.delay_s, self._end_in_hunt, host)

    def _end_in_hunt(self, host: Host) -> None:
        if self.climate.hunt:
            self.cut.clear()
            self._end_for_a_while(host, power_lost=self.random.random() < 0.5)

    def isolate(self, node: int, friends: tuple[int, ...] = ()) -> None:
        self._tell("isolate", node, friends)
        self.cut = {pair for pair in self._pairs() if node in pair and not set(pair) & set(friends)}

    def _fault(self) -> None:
        if self.climate.fault_every_s is None:
            return
        self._at(self.now + self.random.expovariate(1.0 / self.climate.fault_every_s), self._fault)
        host = self.random.choice(list(self.hosts.values()))
        match self.random.randrange(6):
            case 0:
                self.cut.clear()
            case 1:
                side = {node for node in self.hosts if self.random.random() < 0.5}
                self.cut = {(a, b) for a, b in self._pairs() if (a in side) != (b in side)}
                self.coverage["partitions"] += bool(self.cut)
            case 2:
                self.cut |= {pair for pair in self._pairs() if self.random.random() < 0.2}
                self.coverage["one-way cuts"] += 1
            case 3:
                host.stalled_until = self.now + self.random.uniform(0.1, 3.0)
                self.coverage["stalls"] += 1
            case 4:
                self._end_for_a_while(host, power_lost=False)
            case _:
                self._end_for_a_while(host, power_lost=True)
        self._tell("fault", sorted(self.cut))

    def _pairs(self) -> list[tuple[int, int]]:
        return [(a, b) for a in self.hosts for b in self.hosts if a != b]
