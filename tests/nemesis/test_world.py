"""What faults know of each other: who holds a node now, and who did while something was to be proven."""

import time

from nemesis.world import Holds


def test_who_holds_a_node_is_known_to_others_and_not_counted_among_them():
    holds = Holds()
    holds.take("n1", 1)
    holds.take("n1", 2)
    assert holds.others(["n1", "n2"], 1) == (2,)
    assert holds.others(["n2"], 1) == ()
    assert not holds.release("n1", 1)
    assert holds.release("n1", 2)
    assert holds.held() == frozenset()


def test_who_has_let_go_counts_for_those_who_began_before_that():
    holds, before = Holds(), time.monotonic()
    holds.take("n1", 1)
    holds.release("n1", 1)
    assert holds.others(["n1"], 2) == ()
    assert holds.others(["n1"], 2, before) == (1,)
    assert holds.others(["n2"], 2, before) == ()
    assert holds.others(["n1"], 2, time.monotonic() + 1) == ()


def test_who_never_held_a_node_did_not_let_go_of_it():
    holds, before = Holds(), time.monotonic()
    holds.release("n1", 1)
    assert holds.others(["n1"], 2, before) == ()
