"""One directed schedule: the story of figure 8 in the Raft paper, which random schedules meet too seldom.

A leader writes an entry that reaches nobody, a second leader writes another at the same place that reaches nobody, the first leads again
and copies its old entry to a majority. If it counts that as committed and falls, the second leads and replaces it.
"""

from random import Random

from broker_impl.quorum.raft import Raft, RaftSettings
from tests.broker_impl.quorum.raft_simulation import Climate, Host, Outcome, RaftFactory, World, outcome_of

ONE_ENTRY_AT_A_TIME = RaftSettings(heartbeat_s=0.3, max_batch_bytes=1, max_inflight=1)


def figure_eight(seed: int, raft_factory: RaftFactory = Raft) -> Outcome:
    world = World(Random(seed), 3, 3, Climate(ONE_ENTRY_AT_A_TIME), raft_factory)
    return outcome_of(seed, world, lambda: _play(world))


def _play(world: World) -> None:
    first = _elected(world, *world.hosts.values())
    world.run_until(lambda: first.applied > 0, "the first leader has committed")
    old = _write_alone(world, first, propose=True)
    second = _elected(world, *(host for host in world.hosts.values() if host is not first))
    _write_alone(world, second, propose=False)
    world.start(first)
    _elected(world, first)
    (third,) = (host for host in world.hosts.values() if host not in (first, second))
    world.run_until(lambda: _match(first, third) >= old, "a majority has the old entry")
    world.isolate(first.node)
    world.end(first, power_lost=True)
    world.start(second)
    _elected(world, second)
    world.rest()


def _elected(world: World, *hosts: Host) -> Host:
    def leaders() -> list[Host]:
        return [host for host in hosts if host.raft and host.raft.role == "leader"]

    world.run_until(lambda: bool(leaders()), "one of them leads")
    return leaders()[0]


def _write_alone(world: World, host: Host, *, propose: bool) -> int:
    """Cut the leader off, let it write what it has to its own disk, and end it; the index of its last entry."""
    world.isolate(host.node)
    if propose:
        world.propose(host)
    raft = host.raft
    assert raft
    world.run_until(lambda: raft.log.stable == raft.last_index, "the leader has its own entries on disk")
    world.end(host, power_lost=True)
    world.cut.clear()
    return raft.last_index


def _match(leader: Host, peer: Host) -> int:
    assert leader.raft
    return leader.raft.progress()[peer.node].match_index
