"""unavailable: gaps of more than fifteen seconds without an acknowledgement, where service was promised."""

from __future__ import annotations

from harness.history.beside import UNPROVEN
from tests.analysis.corpus.case import has, lacks
from tests.analysis.corpus.story import INFO, Story

SECOND = 10**9


def _promised(nodes: int | None = 3, **promises: object) -> Story:
    h = Story(**({"progress": True, "replicas": 3, "min_insync": 2} | promises))
    if nodes is not None:
        h.settings["nodes"] = nodes
    return h


def _gap(h: Story, end: float = 20.0) -> None:
    """Sends at 0 s and `end`, and one in between that was begun at 1 s and never acknowledged."""
    h.send(1, 10, 0, at=0.0, until=0.5)
    h.send(1, 11, outcome=INFO, at=1.0, until=end - 0.2)
    h.send(1, 12, 1, at=end - 0.1, until=end)
    h.poll(2, (0, 10), (1, 12), at=end + 1)


@has("unavailable")
def twenty_seconds_without_an_acknowledgement():
    """Sends were under way all the time, nothing was broken."""
    h = _promised()
    _gap(h)
    h.expect("unavailable", SECOND // 2)
    return h


@has("unavailable")
def one_slow_send():
    """It was acknowledged, after sixteen seconds; the other partition served meanwhile."""
    h = _promised()
    h.send(1, 10, 0, at=0.0, until=16.0)
    for second in range(16):
        h.send(2, 20 + second, second, part=1, at=second, until=second + 0.5)
    h.poll(3, (0, 10), at=17.0)
    for second in range(16):
        h.expect("unseen", 20 + second, part=1)
    h.expect("unavailable", 0)
    return h


@has("unavailable")
def sends_that_fail_fast_for_long():
    """Each is refused at once, and the next comes within a second: twenty seconds of refusals are one gap."""
    h = _promised()
    h.send(1, 10, 0, at=0.0, until=0.1)
    for second in range(1, 22):
        h.send(1, 10 + second, outcome=INFO, at=second - 0.1, until=float(second))
    h.poll(2, (0, 10), at=30.0)
    h.expect("unavailable", SECOND // 10)
    return h


@has("unavailable")
def one_node_of_three_is_away():
    """Two of three nodes and replicas are enough to serve; and a clock that is wrong excuses nothing."""
    h = _promised()
    h.fault("kill", ["n1"], 1.0, 20.0)
    h.fault("clock:bump", ["n1", "n2", "n3"], 0.0, 20.0)
    _gap(h)
    h.expect("unavailable", SECOND // 2)
    return h


@has("unavailable")
def service_does_not_come_back_after_the_heal():
    """Two nodes were away until 4 s; seventeen seconds later there is still no service: counted from the heal on."""
    h = _promised()
    h.fault("kill", ["n1"], 0.6, 5.0)
    h.fault("partition:halves", ["n2"], 0.6, 4.0)
    _gap(h, end=21.5)
    h.expect("unavailable", 4 * SECOND)
    return h


@has("unavailable")
def two_gaps_in_two_partitions():
    """A suspended promise parts a long gap in two: both are too long."""
    h = _promised()
    h.send(1, 10, 0, at=0.0, until=40.0)
    h.send(2, 20, 0, part=1, at=1.0, until=18.0)
    h.fault("partition:bridge", ["n1"], 17.0, 19.0)
    h.poll(3, (0, 10), at=41.0)
    h.expect("unseen", 20, part=1)
    h.expect("unavailable", 0)
    h.expect("unavailable", 19 * SECOND)
    h.expect("unavailable", SECOND, part=1)
    return h


@lacks("unavailable")
def fifteen_seconds_are_not_too_long():
    """A gap has to be longer than that."""
    h = _promised()
    h.send(1, 10, 0, at=0.0, until=15.0)
    h.poll(2, (0, 10), at=16.0)
    return h


@lacks("unavailable")
def nobody_promised_service():
    """The plan does not say that progress is expected."""
    h = _promised(progress=False)
    _gap(h)
    return h


@lacks("unavailable")
def nobody_said_what_is_promised():
    """What is not promised is not judged."""
    h = _promised(progress=None)
    _gap(h)
    return h


@lacks("unavailable")
def nobody_asked_for_service():
    """The partition was left alone for twenty seconds, but for a moment in the middle."""
    h = _promised()
    h.send(1, 10, 0, at=0.0, until=0.1)
    h.send(1, 11, outcome=INFO, at=10.0, until=11.0)
    h.send(1, 12, 1, at=20.0, until=20.1)
    h.poll(2, (0, 10), (1, 12), at=21.0)
    return h


@lacks("unavailable")
def two_nodes_of_three_are_away():
    """Different faults took them, and together they leave no majority."""
    h = _promised()
    h.fault("kill", ["n1"], 0.0, 30.0)
    h.fault("pause", ["n2"], 0.5, None)
    _gap(h)
    return h


@lacks("unavailable")
def a_replica_is_left_but_no_majority():
    """One replica would be enough; there is no quorum of controllers."""
    h = _promised(min_insync=1)
    h.fault("kill", ["n1", "n2"], 0.0, 30.0)
    _gap(h)
    return h


@lacks("unavailable")
def too_few_replicas_are_left():
    """Five nodes have a majority without one of them, but all three replicas are needed."""
    h = _promised(nodes=5, min_insync=3)
    h.fault("stop", ["n1"], 0.0, 30.0)
    _gap(h)
    return h


@lacks("unavailable")
def the_clients_were_cut_from_the_leader():
    """A leader that everyone but the clients hears stays the leader."""
    h = _promised()
    h.fault("partition:clients-from-leader", ["n1"], 0.0, 30.0)
    _gap(h)
    return h


@lacks("unavailable")
def the_harness_itself_stood_still():
    """A worker could not run for 0.6 s inside the gap: nobody can tell."""
    h = _promised()
    h.stall(10.0, 10.6)
    _gap(h)
    return h


@has("unavailable")
def a_short_stall_and_a_fault_that_never_struck_excuse_nothing():
    """Half a second is not more than half a second, and a fault without a start took nobody; other events are no stalls."""
    h = _promised(nodes=None)
    h.stall(10.0, 10.5)
    h.stall(25.0, 29.0)
    h.event("leader-changed", 10.0, part=0)
    h.fault("kill", ["n1", "n2", "n3"], None, None, UNPROVEN)
    _gap(h)
    h.expect("unavailable", SECOND // 2)
    return h


@lacks("unavailable")
def a_killed_worker_leaves_its_send_open():
    """A send that never ended was under way when it was begun, and nobody knows for how long."""
    h = _promised()
    h.send(1, 10, 0, at=0.0, until=0.1)
    h.send(2, 11, never_ends=True, at=0.2)
    h.send(1, 12, 1, at=30.0, until=30.1)
    h.poll(3, (0, 10), (1, 12), at=31.0)
    return h
