"""G0, G1c, their forms with real time, G-single, G2. A circle has one operation for its name: the smallest."""

from __future__ import annotations

from tests.analysis.corpus.case import has, lacks
from tests.analysis.corpus.story import FAIL, INFO, Story, ended, got, sent


def _crossed() -> Story:
    """Two transactions at the same time: in partition 0 the first is stored first, in partition 1 the second."""
    h = Story()
    with h.together():
        h.txn(1, sent(10, 0), sent(11, 1, part=1))
        h.txn(2, sent(20, 1), sent(21, 0, part=1))
    return h


@has("G0")
def two_transactions_overwrite_each_other():
    """Each is before the other in one partition."""
    h = _crossed()
    h.poll(3, (0, 10), (1, 20), got(0, 21, part=1), got(1, 11, part=1))
    h.expect("G0", 1)
    return h


@has("G0")
def three_transactions_in_a_circle():
    """No two of them contradict each other, all three do."""
    h = Story()
    with h.together():
        h.txn(1, sent(10, 0), sent(30, 1, part=2))
        h.txn(2, sent(11, 1), sent(20, 0, part=1))
        h.txn(3, sent(21, 1, part=1), sent(31, 0, part=2))
    h.poll(4, (0, 10), (1, 11), got(0, 20, part=1), got(1, 21, part=1), got(0, 31, part=2), got(1, 30, part=2))
    h.expect("G0", 1)
    return h


@has("G0")
def two_circles_are_two():
    """Two pairs of transactions, in partitions of their own; of one nobody knew the outcome."""
    h = Story()
    with h.together():
        h.txn(1, sent(10, 0), sent(11, 1, part=1))
        h.txn(2, sent(20, 1), sent(21, 0, part=1))
        h.txn(3, sent(30, 0, part=2), sent(31, 1, part=3))
        h.txn(4, sent(40, 1, part=2), sent(41, 0, part=3), outcome=INFO)
    h.poll(5, (0, 10), (1, 20), got(0, 21, part=1), got(1, 11, part=1))
    h.poll(5, got(0, 30, part=2), got(1, 40, part=2), got(0, 41, part=3), got(1, 31, part=3))
    h.expect("G0", 1)
    h.expect("G0", 3)
    return h


@lacks("G0")
def two_transactions_are_in_the_same_order_everywhere():
    """The first is first in both partitions."""
    h = Story()
    with h.together():
        h.txn(1, sent(10, 0), sent(11, 0, part=1))
        h.txn(2, sent(20, 1), sent(21, 1, part=1))
    h.poll(3, (0, 10), (1, 20), got(0, 11, part=1), got(1, 21, part=1))
    return h


@lacks("G0")
def a_phantom_breaks_the_chain():
    """Between the two in partition 1 lies a value of nobody: it overwrote, and was overwritten by, no operation."""
    h = Story()
    with h.together():
        h.txn(1, sent(10, 0), sent(11, 2, part=1))
        h.txn(2, sent(20, 1), sent(21, 0, part=1))
    h.poll(3, (0, 10), (1, 20), got(0, 21, part=1), got(1, 99, part=1), got(2, 11, part=1))
    h.expect("phantom", 99, part=1)
    return h


@lacks("G0")
def one_of_the_two_was_never_committed():
    """The second transaction has no outcome and nobody read it: where it was told to lie counts for nothing."""
    h = Story()
    with h.together():
        h.txn(1, sent(10, 0), sent(11, 1, part=1))
        h.txn(2, sent(20, 1), sent(21, 0, part=1), outcome=INFO)
    h.poll(3, (0, 10), got(1, 11, part=1))
    return h


@has("G0-realtime")
def a_later_send_is_stored_before_a_finished_one():
    """The first was acknowledged before the second was begun, and lies behind it."""
    h = Story()
    h.send(1, 10, 1)
    h.send(2, 11, 0)
    h.poll(3, (0, 11), (1, 10))
    h.expect("G0-realtime", 1)
    return h


@has("G0-realtime")
def a_later_unfinished_send_is_stored_before_a_finished_one():
    """That the second has no outcome changes nothing: it was begun later."""
    h = Story()
    h.send(1, 10, 1)
    h.send(2, 11, never_ends=True)
    h.poll(3, (0, 11), (1, 10))
    h.expect("G0-realtime", 1)
    return h


@has("G0-realtime")
def real_time_closes_a_circle_over_two_partitions():
    """Before the third transaction began the first was over; the second ran beside both, stored behind the third and before the first."""
    h = Story()
    h.txn(1, sent(10, 1), at=0.0, until=1.0)
    h.txn(2, sent(20, 0), sent(21, 1, part=1), at=0.0, until=9.0)
    h.txn(3, sent(30, 0, part=1), at=2.0, until=3.0)
    h.poll(4, (0, 20), (1, 10), got(0, 30, part=1), got(1, 21, part=1), at=10.0)
    h.expect("G0-realtime", 1)
    return h


@has("G0-realtime")
def a_circle_of_two_that_real_time_orders_as_well():
    """They overwrite each other, and one was over before the other began: both forms."""
    h = Story()
    h.txn(1, sent(10, 0), sent(11, 1, part=1))
    h.txn(2, sent(20, 1), sent(21, 0, part=1))
    h.poll(3, (0, 10), (1, 20), got(0, 21, part=1), got(1, 11, part=1))
    h.expect("G0", 1)
    h.expect("G0-realtime", 1)
    return h


@has("G0-realtime")
def who_was_there_by_chance_does_not_name_a_circle():
    """Between the two ran a send of another partition: real time alone puts it on the circle, and the smaller number is not the name."""
    h = Story()
    h.send(5, 50, 0, part=5, at=2.0, until=3.0)
    h.send(5, 51, 1, part=5, at=20.0, until=21.0)
    h.send(1, 10, 1, at=0.0, until=1.0)
    h.send(2, 11, 0, at=4.0, until=5.0)
    h.poll(3, (0, 11), (1, 10), got(0, 50, part=5), got(1, 51, part=5), at=30.0)
    h.expect("G0-realtime", 3)
    return h


@lacks("G0-realtime")
def sends_that_overlap_are_stored_in_any_order():
    """The second was begun before the first was acknowledged."""
    h = Story()
    h.send(1, 10, 1, at=0.0, until=2.0)
    h.send(2, 11, 0, at=1.0, until=3.0)
    h.poll(3, (0, 11), (1, 10))
    return h


@lacks("G0-realtime")
def a_send_without_outcome_orders_nothing():
    """Its time-out came before the second was begun; it landed later."""
    h = Story()
    h.send(1, 10, outcome=INFO)
    h.send(2, 11, 0)
    h.poll(3, (0, 11), (1, 10))
    return h


@lacks("G0-realtime")
def a_send_without_outcome_orders_nothing_though_another_ended_then():
    """At the moment of its time-out another send was acknowledged, elsewhere."""
    h = Story()
    with h.together():
        h.send(1, 10, outcome=INFO)
        h.send(4, 40, 0, part=1)
    h.send(4, 41, 1, part=1)
    h.send(2, 11, 0)
    h.poll(3, (0, 11), (1, 10), got(0, 40, part=1), got(1, 41, part=1))
    return h


@lacks("G0-realtime")
def a_circle_at_the_same_moment():
    """The two overwrite each other; the one began when the other ended, which is not later."""
    h = Story()
    h.txn(1, sent(10, 0), sent(11, 1, part=1), at=0.0, until=1.0)
    h.txn(2, sent(20, 1), sent(21, 0, part=1), at=1.0, until=2.0)
    h.poll(3, (0, 10), (1, 20), got(0, 21, part=1), got(1, 11, part=1), at=5.0)
    h.expect("G0", 1)
    return h


@lacks("G0-realtime")
def the_same_moment_orders_nothing():
    """The second was begun at the very moment at which the first was acknowledged."""
    h = Story()
    h.send(1, 10, 1, at=0.0, until=1.0)
    h.send(2, 11, 0, at=1.0, until=2.0)
    h.poll(3, (0, 11), (1, 10), at=5.0)
    return h


@has("G1c")
def two_transactions_read_from_each_other():
    """Each has seen what the other sent."""
    h = Story()
    with h.together():
        h.txn(1, sent(10, 0), got(0, 20, part=1))
        h.txn(2, sent(20, 0, part=1), got(0, 10))
    h.expect("G1c", 1)
    return h


@has("G1c")
def a_transaction_reads_from_one_that_overwrote_it():
    """The second is stored behind the first in partition 0, and the first has read what the second sent to partition 1."""
    h = Story()
    with h.together():
        h.txn(1, sent(10, 0), got(0, 21, part=1))
        h.txn(2, sent(20, 1), sent(21, 0, part=1))
    h.poll(3, (0, 10), (1, 20))
    h.expect("G1c", 1)
    return h


@has("G1c")
def an_unfinished_transaction_in_a_circle_of_three():
    """Nobody knew its outcome, but others read from it, and it read from others."""
    h = Story()
    with h.together():
        h.txn(1, sent(10), got(0, 30, part=2), outcome=INFO)
        h.txn(2, got(0, 10), sent(20, 0, part=1))
        h.txn(3, got(0, 20, part=1), sent(30, 0, part=2))
    h.poll(4, got(0, 30, part=2))
    h.expect("G1c", 1)
    return h


@has("G1c")
def a_circle_of_overwriting_with_a_reader_inside():
    """The two overwrite each other, and a third reads from one and is overwritten by the other: G0 of two in a G1c of three."""
    h = Story()
    with h.together():
        h.txn(2, sent(10, 0), sent(11, 1, part=1), sent(12, 1, part=2))
        h.txn(3, sent(20, 1), sent(21, 0, part=1))
        h.txn(1, got(0, 21, part=1), sent(30, 0, part=2))
    h.poll(4, (0, 10), (1, 20), got(0, 21, part=1), got(1, 11, part=1), got(0, 30, part=2), got(1, 12, part=2))
    h.expect("G0", 1)
    h.expect("G1c", 1)
    return h


@lacks("G1c")
def a_transaction_reads_and_is_not_read():
    """Reading in one direction only."""
    h = Story()
    with h.together():
        h.txn(1, sent(10, 0), got(0, 20, part=1))
        h.txn(2, sent(20, 0, part=1))
    h.poll(3, (0, 10))
    return h


@lacks("G1c")
def what_is_overwritten_as_well_as_read_counts_as_overwritten():
    """The second reads the first's value and is stored behind it: a circle of overwriting alone."""
    h = Story()
    with h.together():
        h.txn(1, sent(10, 0), sent(11, 1, part=1))
        h.txn(2, got(0, 10), sent(20, 1), sent(21, 0, part=1))
    h.poll(3, (0, 10), (1, 20), got(0, 21, part=1), got(1, 11, part=1))
    h.expect("G0", 1)
    return h


@lacks("G1c")
def a_transaction_that_reads_itself_is_no_circle():
    """No edge leads from an operation to itself."""
    h = Story()
    op = h.txn(1, sent(10, 0), got(0, 10))
    h.expect("precommitted-read", op)
    return h


@has("G1c-realtime")
def a_value_is_read_before_it_is_sent():
    """The poll was over before the send was begun."""
    h = Story()
    h.poll(2, (0, 10))
    h.send(1, 10, 0)
    h.expect("G1c-realtime", 1)
    return h


@has("G1c-realtime")
def overwritten_read_and_later():
    """The send that overlaps both was read by a poll that was over when the last one began, which is stored before it."""
    h = Story()
    h.send(1, 11, 1, at=0.0, until=9.0)
    h.poll(2, (1, 11), at=0.0, until=1.0)
    h.send(3, 10, 0, at=2.0, until=3.0)
    h.poll(4, (0, 10), (1, 11), at=10.0)
    h.expect("G1c-realtime", 1)
    return h


@has("G1c-realtime")
def two_transactions_read_from_each_other_one_after_the_other():
    """The second began when the first was over, which had read from it: with and without real time a circle."""
    h = Story()
    h.txn(1, sent(10, 0), got(0, 20, part=1))
    h.txn(2, sent(20, 0, part=1), got(0, 10))
    h.expect("G1c", 1)
    h.expect("G1c-realtime", 1)
    return h


@lacks("G1c-realtime")
def a_value_is_read_before_it_is_acknowledged():
    """The send was under way: a reader may be faster than the acknowledgement."""
    h = Story()
    h.send(1, 10, 0, at=0.0, until=5.0)
    h.poll(2, (0, 10), at=1.0, until=2.0)
    return h


@lacks("G1c-realtime")
def a_failed_poll_that_came_before():
    """Only what ended ok orders what comes later."""
    h = Story()
    h.poll(2, (0, 10), outcome=FAIL)
    h.send(1, 10, 0)
    h.poll(2, (0, 10))
    return h


@lacks("G1c-realtime")
def a_poll_that_ended_when_the_send_began():
    """At the same moment nothing is before anything."""
    h = Story()
    h.poll(2, (0, 10), at=0.0, until=1.0)
    h.send(1, 10, 0, at=1.0, until=2.0)
    return h


@has("G-single")
def a_transaction_is_seen_in_one_partition_only():
    """The reader has its value of partition 1 and was told that partition 0 ends before the other."""
    h = Story()
    with h.together():
        h.txn(1, sent(10, 0), sent(20, 0, part=1))
        h.poll(2, got(0, 20, part=1), ended(0))
    h.poll(3, (0, 10))
    h.expect("G-single", 1)
    return h


@has("G-single")
def a_writer_overwrites_whom_it_did_not_see():
    """The second found partition 0 empty though the first, stored before it in partition 1, had written there."""
    h = Story()
    with h.together():
        h.txn(1, sent(10, 0), sent(20, 0, part=1))
        h.txn(2, ended(0), sent(21, 1, part=1))
    h.poll(3, (0, 10), got(0, 20, part=1), got(1, 21, part=1))
    h.expect("G-single", 1)
    return h


@has("G-single")
def the_end_lies_before_a_hole():
    """The reader was told that the partition ends at 3; the next value lies at 5."""
    h = Story()
    with h.together():
        h.txn(1, sent(10, 5), sent(20, 0, part=1))
        h.poll(2, got(0, 20, part=1), ended(3))
    h.poll(3, (5, 10))
    h.expect("G-single", 1)
    return h


@lacks("G-single")
def a_transaction_is_seen_in_both_partitions():
    """The end that was told lies behind its value."""
    h = Story()
    with h.together():
        h.txn(1, sent(10, 0), sent(20, 0, part=1))
        h.poll(2, got(0, 20, part=1), got(0, 10), ended(1))
    return h


@lacks("G-single")
def a_poll_merely_stops():
    """Nobody told the reader that nothing follows."""
    h = Story()
    with h.together():
        h.txn(1, sent(10, 0), sent(20, 0, part=1))
        h.poll(2, got(0, 20, part=1))
    h.poll(3, (0, 10))
    return h


@lacks("G-single")
def a_failed_poll_was_told_of_an_end():
    """It has seen nothing, and nothing's absence."""
    h = Story()
    with h.together():
        h.txn(1, sent(10, 0), sent(20, 0, part=1))
        h.poll(2, got(0, 20, part=1), ended(0), outcome=FAIL)
    h.poll(3, got(0, 10), got(0, 20, part=1))
    return h


@has("G2")
def write_skew():
    """Each found empty the partition to which the other wrote."""
    h = Story()
    with h.together():
        h.txn(1, ended(0), sent(20, 0, part=1))
        h.txn(2, ended(0, part=1), sent(10, 0))
    h.poll(3, (0, 10), got(0, 20, part=1))
    h.expect("G2", 1)
    return h


@has("G2")
def three_that_did_not_see_each_other():
    """A circle of three anti-dependencies."""
    h = Story()
    with h.together():
        h.txn(1, ended(0), sent(30, 0, part=2))
        h.txn(2, ended(0, part=1), sent(10, 0))
        h.txn(3, ended(0, part=2), sent(20, 0, part=1))
    h.poll(4, (0, 10), got(0, 20, part=1), got(0, 30, part=2))
    h.expect("G2", 1)
    return h


@has("G2")
def two_readers_disagree_about_two_writers():
    """One saw the first and not the second, the other the second and not the first."""
    h = Story()
    with h.together():
        h.send(1, 10, 0)
        h.send(2, 20, 0, part=1)
        h.poll(3, got(0, 10), ended(0, part=1))
        h.poll(4, got(0, 20, part=1), ended(0))
    h.expect("G2", 1)
    return h


@lacks("G2")
def one_of_the_two_saw_the_other():
    """Without the second anti-dependency there is no circle."""
    h = Story()
    with h.together():
        h.txn(1, ended(0), sent(20, 0, part=1))
        h.txn(2, got(0, 20, part=1), ended(1, part=1), sent(10, 0))
    h.poll(3, (0, 10))
    return h


@lacks("G2")
def a_circle_that_one_anti_dependency_closes():
    """It has two, but one is enough: that is a G-single."""
    h = Story()
    with h.together():
        h.txn(1, ended(0), sent(20, 0, part=1), sent(30, 0, part=2))
        h.txn(2, ended(0, part=1), sent(10, 0), sent(31, 1, part=2))
    h.poll(3, (0, 10), got(0, 20, part=1), got(0, 30, part=2), got(1, 31, part=2))
    h.expect("G-single", 1)
    return h


@lacks("G2")
def the_next_value_is_a_phantom():
    """Whoever did not see it overlooked nobody."""
    h = Story()
    with h.together():
        h.txn(1, ended(0), sent(20, 0, part=1))
        h.txn(2, ended(0, part=1), sent(10, 1))
    h.poll(3, (0, 99), (1, 10), got(0, 20, part=1))
    h.expect("phantom", 99)
    return h
