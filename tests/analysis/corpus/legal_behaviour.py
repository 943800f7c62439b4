"""What sound systems do and what looks like a bug. What is told of it here is reported, and forbidden by none of these promises."""

from __future__ import annotations

from tests.analysis.corpus.case import legal
from tests.analysis.corpus.story import FAIL, INFO, Story, empty, got, rebalanced, sent


@legal
def nothing_happened():
    """A history without a single operation but an empty poll."""
    h = Story()
    h.poll(1)
    return h


@legal
def a_duplicate_without_idempotence():
    """A retry stored the value twice: readers see v at 5, w at 6, v at 9, and go forward all the time."""
    h = Story(idempotence=False, in_flight=5)
    with h.together():
        h.send(1, 10, 5)
        h.send(2, 11, 6)
    h.poll(3, (5, 10))
    h.poll(3, (6, 11))
    h.poll(3, (9, 10))
    read = h.final_read((5, 10), (6, 11), (9, 10), log_start=0)
    h.expect("duplicate", 10)
    h.expect("nonmonotonic-poll", 4, rules="jepsen")
    assert read is not None
    h.expect("int-nonmonotonic-poll", read, 1, rules="jepsen")
    h.expect("G0", 1, rules="jepsen")
    return h


@legal
def not_enough_replicas_after_append():
    """The broker stored the write and then answered with an error: unknown, and there later."""
    h = Story(acks="all", min_insync=2)
    h.send(1, 10, 0)
    h.send(1, 11, outcome=INFO, error="NOT_ENOUGH_REPLICAS_AFTER_APPEND")
    h.send(1, 12, 2)
    h.poll(2, (0, 10), (1, 11), (2, 12))
    h.final_read((0, 10), (1, 11), (2, 12))
    return h


@legal
def not_enough_replicas_without_retries():
    """The broker refused the write before it stored anything, and it never appears."""
    h = Story(acks="all", min_insync=2)
    h.send(1, 10, outcome=FAIL, error="NOT_ENOUGH_REPLICAS")
    h.send(1, 11, 0)
    h.final_read((0, 11))
    return h


@legal
def an_unfinished_send_lands_late():
    """A worker was killed; its send lies behind what was begun and acknowledged long after."""
    h = Story(idempotence=False)
    h.send(1, 10, never_ends=True)
    h.send(2, 11, 0)
    h.send(2, 12, 1)
    h.poll(3, (0, 11), (1, 12))
    h.poll(3, (2, 10))
    h.final_read((0, 11), (1, 12), (2, 10))
    return h


@legal
def unfinished_sends_that_never_land():
    """Some of what has no answer is there, some is not."""
    h = Story()
    for number in range(6):
        h.send(1, 10 + number, outcome=INFO, error="REQUEST_TIMED_OUT")
    h.final_read((0, 11), (1, 14))
    return h


@legal
def loss_with_acks_1():
    """The leader acknowledged and fell before a follower had the write: its offset is another's now."""
    h = Story(acks="1")
    h.fault("kill", ["n1"], 0.02, 1.0)
    h.send(1, 10, 0)
    h.send(1, 12, 1)
    h.send(2, 11, 1)
    h.final_read((0, 10), (1, 11))
    h.expect("lost", 12)
    h.expect("unseen", 12)
    h.expect("ack-conflict", 1)
    h.expect("inconsistent-offsets", 1)
    return h


@legal
def loss_with_acks_0():
    """Handed to the socket and never seen again."""
    h = Story(acks="0", idempotence=False)
    h.send(1, 10)
    h.send(1, 11)
    h.final_read((0, 11))
    h.expect("lost", 10)
    h.expect("unseen", 10)
    return h


@legal
def holes_of_transaction_markers():
    """Each transaction leaves an offset that holds no message, an aborted one leaves more."""
    h = Story(isolation="read_committed")
    h.txn(1, sent(10, 0), sent(11, 1))
    h.txn(1, sent(12), sent(13), outcome=FAIL)
    h.txn(2, sent(14, 6))
    h.poll(3, (0, 10), (1, 11), (6, 14))
    h.poll(4, (1, 11))
    h.poll(4, (6, 14))
    h.final_read((0, 10), (1, 11), (6, 14), end=8)
    return h


@legal
def huge_offsets():
    """Offsets near 2^62 cost nothing: places are counted, not offsets."""
    h = Story()
    base = 2**62
    for number in range(4):
        h.send(1, 10 + number, base + 1000 * number)
    h.poll(2, (base, 10), (base + 1000, 11))
    h.poll(2, (base + 2000, 12), (base + 3000, 13))
    h.final_read(*((base + 1000 * number, 10 + number) for number in range(4)), log_start=base)
    return h


@legal
def a_partition_polled_as_empty():
    """Foreign histories tell of partitions polled in vain: nothing was read, and nobody's position moved."""
    h = Story()
    h.poll(2, empty(), empty(part=1))
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    h.poll(2, (0, 10))
    h.poll(2, empty())
    h.poll(2, (1, 11), empty(part=1))
    return h


@legal
def a_rebalance_in_the_middle():
    """The group gave the partition away and back: within the operation the reader goes back to what was committed."""
    h = Story(assignment="subscribe")
    for offset, value in enumerate((10, 11, 12)):
        h.send(1, value, offset)
    h.assign(2, 0, subscribe=True)
    h.poll(2, got(0, 10), got(1, 11), rebalanced(), got(0, 10), got(1, 11), got(2, 12))
    return h


@legal
def a_group_s_reader_goes_back():
    """Where clients subscribe, a rebalance may send a reader back and on: told, and forbidden by nobody."""
    h = Story(assignment="subscribe")
    for offset, value in enumerate((10, 11, 12, 13)):
        h.send(1, value, offset)
    h.poll(3, (1, 11))
    h.assign(2, 0, subscribe=True)
    h.poll(2, (0, 10))
    skipped = h.poll(2, (2, 12), (3, 13))
    back = h.poll(2, (2, 12))
    h.expect("poll-skip", skipped)
    h.expect("nonmonotonic-poll", back)
    return h


@legal
def a_crashed_process_goes_on_under_another_number():
    """The new process begins where it likes."""
    h = Story()
    for offset, value in enumerate((10, 11, 12)):
        h.send(1, value, offset)
    h.poll(2, (0, 10), (1, 11), (2, 12))
    h.crash(2)
    h.poll(3, (0, 10))
    h.poll(3, (1, 11), outcome=INFO)
    h.poll(4, (2, 12))
    return h


@legal
def an_acknowledgement_without_an_offset():
    """The broker found a duplicate and did not say where it lies; readers do."""
    h = Story(idempotence=True)
    h.send(1, 10, 0)
    h.send(1, 11)
    h.send(1, 12, 2)
    h.final_read((0, 10), (1, 11), (2, 12))
    return h


@legal
def two_topics_with_the_same_partitions():
    """Topic and partition together are one log; neither alone is."""
    h = Story()
    h.send(1, 10, 0, topic="a")
    h.send(1, 11, 0, topic="b")
    h.poll(2, got(0, 10, topic="a"), got(0, 11, topic="b"))
    h.final_read((0, 10), topic="a")
    h.final_read((0, 11), topic="b")
    return h


@legal
def a_phantom_and_nothing_else():
    """A value that nobody sent must not make a checker give up on the rest of the history."""
    h = Story()
    h.send(1, 10, 0)
    h.poll(2, (0, 10), (1, 77))
    h.send(1, 11, 2)
    h.poll(2, (2, 11))
    h.final_read((0, 10), (1, 77), (2, 11))
    h.expect("phantom", 77)
    return h
