import json

from analysis.circumstances import COPIED_ANEW_NS, circumstances_of, torn_together, unclean_elections
from harness.history.beside import PROVEN, UNPROVEN, Event, Fault, Final

S = 1_000_000_000


def torn(start, end, *nodes, state=PROVEN, fault="torn-tail"):
    return Fault(0, fault, "one", list(nodes), start, start, end, "{}", "{}", state)


def told(event, epoch, isr, t=None, part=0):
    return Event(t, "n1", event, "topic", part, epoch, json.dumps({"isr": isr}))


def test_replicas_torn_one_after_the_other_are_not_torn_together_once_the_first_was_copied_anew():
    apart = [torn(0, 10 * S, "n1"), torn(10 * S + COPIED_ANEW_NS, 99 * S, "n2")]
    close = [torn(0, 10 * S, "n1"), torn(9 * S + COPIED_ANEW_NS, 99 * S, "n2")]
    assert (torn_together(apart), torn_together(close)) == (1, 2)


def test_the_same_replica_torn_twice_is_one():
    assert torn_together([torn(0, S, "n1"), torn(2 * S, 3 * S, "n1")]) == 1


def test_a_replica_that_nobody_saw_healed_stays_torn_and_power_loss_counts_alike():
    late = torn(10 * COPIED_ANEW_NS, None, "n2", "n3", fault="power-loss")
    assert torn_together([torn(0, None, "n1"), late]) == 3
    assert torn_together([torn(0, S, "n1", state=UNPROVEN), late]) == 3
    assert torn_together([torn(0, S, "n1"), late]) == 2


def test_other_faults_tear_nothing_and_a_strike_that_found_no_target_neither():
    assert torn_together([torn(0, S, "n1", fault="kill"), torn(None, None, "n2")]) == 0


def test_a_leader_out_of_the_isr_is_an_unclean_election():
    clean = [told("leader-changed", 1, [1, 2, 3], 1), told("isr-shrunk", 1, [1, 2], 2), told("leader-changed", 2, [2], 3)]
    assert unclean_elections(clean) == 0
    assert unclean_elections([*clean, told("leader-changed", 3, [3], 4)]) == 1


def test_an_isr_that_grew_before_the_change_counts_as_grown():
    events = [told("leader-changed", 1, [1], 1), told("isr-grown", 1, [1, 2], 2), told("leader-changed", 2, [2], 3)]
    assert unclean_elections(events) == 0


def test_after_an_epoch_that_nobody_told_of_the_election_may_have_been_unclean():
    assert unclean_elections([told("leader-changed", 1, [1, 2], 1), told("leader-changed", 3, [1, 2], 2)]) == 1


def test_partitions_are_told_apart_and_silence_is_not_innocence():
    assert unclean_elections([told("leader-changed", 1, [1], 1), told("leader-changed", 2, [2], 2, part=1)]) == 0
    assert unclean_elections([]) is None
    assert unclean_elections([Event(1, "n1", "session-lapsed")]) is None


def test_what_took_place_is_put_together():
    faults = [torn(0, S, "n1"), Fault(1, "partition:halves", "one", [], 0, None, None, None, None, UNPROVEN)]
    finals = [Final("t", 0, 0, 10, 9, 1, 0, 5), Final("t", 1, 3, 3, None, 1, 0, 5)]
    found = circumstances_of(faults, [], finals, ["send", "poll"], dumped=True)
    assert (found.faults, found.torn_together, found.read_to_end) == (frozenset({"torn-tail"}), 1, True)
    assert (found.operations, found.dumped, found.complete) == (frozenset({"send", "poll"}), True, True)


def test_a_final_read_that_stopped_short_or_never_ended_did_not_reach_the_end():
    for short in (Final("t", 0, 0, 10, 8, 1, 0, 5), Final("t", 0, 0, 10, None, 1, 0, 5), Final("t", 0, 0, 10, 9, 1, 0, None)):
        assert circumstances_of([], [], [short], [], dumped=False).read_to_end is False
    assert circumstances_of([], [], [], [], dumped=False).read_to_end is None
