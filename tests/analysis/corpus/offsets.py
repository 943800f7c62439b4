"""inconsistent-offsets, duplicate, ack-conflict, read-conflict."""

from __future__ import annotations

from tests.analysis.corpus.case import has, lacks
from tests.analysis.corpus.story import FAIL, INFO, Story, got, sent


@has("inconsistent-offsets")
def two_readers_saw_two_values_at_one_offset():
    """Offset 1 is 11 for one reader and 12 for the other."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    h.send(2, 12)
    h.poll(3, (0, 10), (1, 11))
    h.poll(4, (0, 10), (1, 12))
    h.expect("inconsistent-offsets", 1)
    h.expect("read-conflict", 1)
    h.expect("ack-conflict", 1)
    return h


@has("inconsistent-offsets")
def two_acknowledgements_name_one_offset():
    """Two leaders acknowledged the same offset to two clients, and nobody has read it."""
    h = Story(acks="1")
    h.send(1, 10, 5)
    h.send(2, 11, 5)
    h.expect("inconsistent-offsets", 5)
    h.expect("unseen", 10)
    h.expect("unseen", 11)
    return h


@has("inconsistent-offsets")
def three_values_at_a_huge_offset():
    """However many values an offset has, it is one instance; and offsets may be huge."""
    h = Story()
    for value in (10, 11, 12):
        h.send(1, value, outcome=INFO)
    for process, value in enumerate((10, 11, 12), start=2):
        h.poll(process, (2**62, value), outcome=FAIL)
    h.expect("inconsistent-offsets", 2**62)
    h.expect("read-conflict", 2**62)
    return h


@lacks("inconsistent-offsets")
def one_offset_in_two_partitions():
    """The same offset in two partitions has two values, as it should."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 0, part=1)
    h.poll(2, (0, 10), got(0, 11, part=1))
    return h


@lacks("inconsistent-offsets")
def the_conflicting_offset_was_told_to_a_send_that_came_to_nothing():
    """A send without an answer that nobody read was not committed: the offset it was told counts for nothing."""
    h = Story()
    h.send(1, 10, 0, outcome=INFO)
    h.send(2, 11, 0)
    h.poll(3, (0, 11))
    return h


@lacks("inconsistent-offsets")
def one_value_read_by_many():
    """Ten polls of the same message agree."""
    h = Story()
    h.send(1, 10, 3)
    for process in range(2, 12):
        h.poll(process, (3, 10))
    return h


@has("duplicate")
def a_retry_was_stored_twice():
    """The acknowledgement was lost, the client sent again, and the log has the value twice."""
    h = Story(idempotence=True)
    h.send(1, 10, 0)
    h.poll(2, (0, 10), (1, 10))
    h.expect("duplicate", 10)
    h.expect("int-nonmonotonic-poll", 2, 1, rules="jepsen")
    return h


@has("duplicate")
def acknowledged_at_one_offset_and_read_at_another():
    """The client was told offset 3; readers find the value at 7."""
    h = Story(idempotence=True)
    h.send(1, 10, 3)
    h.poll(2, (7, 10))
    h.expect("duplicate", 10)
    return h


@has("duplicate")
def a_whole_batch_twice():
    """Two values were stored again, behind each other: two instances."""
    h = Story(idempotence=True)
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    read = h.poll(2, (0, 10), (1, 11), (2, 10), (3, 11))
    for value in (10, 11):
        h.expect("duplicate", value)
    h.expect("int-nonmonotonic-poll", read, 2, rules="jepsen")
    h.expect("G0", 1, rules="jepsen")
    h.expect("G0-realtime", 1, rules="jepsen")
    return h


@lacks("duplicate")
def every_value_is_stored_once():
    """Read by two readers, acknowledged once, always at the same offset."""
    h = Story(idempotence=True)
    h.send(1, 10, 0)
    h.poll(2, (0, 10))
    h.poll(3, (0, 10))
    return h


@lacks("duplicate")
def the_same_value_in_two_partitions():
    """A value belongs to its partition: in the other one it is a phantom and no duplicate."""
    h = Story(idempotence=True)
    h.send(1, 10, 0)
    h.poll(2, (0, 10), got(5, 10, part=1))
    h.expect("phantom", 10, part=1)
    return h


@lacks("duplicate")
def a_reader_gets_a_message_twice():
    """It is delivered twice but lies at one offset."""
    h = Story(idempotence=True)
    h.send(1, 10, 0)
    h.poll(2, (0, 10))
    again = h.poll(2, (0, 10))
    h.expect("nonmonotonic-poll", again)
    return h


@has("ack-conflict")
def an_acknowledged_offset_is_read_with_another_value():
    """Process 1 was told offset 1 for its value; whoever reads there finds another's."""
    h = Story(acks="1")
    h.send(1, 11, 1)
    h.send(2, 10)
    h.poll(3, (1, 10))
    h.expect("ack-conflict", 1)
    h.expect("inconsistent-offsets", 1)
    h.expect("unseen", 11)
    return h


@has("ack-conflict")
def a_failed_poll_contradicts_an_acknowledgement():
    """What a poll of any outcome gave was in the log."""
    h = Story(acks="1")
    h.send(1, 10, 0)
    h.send(2, 11, outcome=INFO)
    h.poll(3, (0, 11), outcome=FAIL)
    h.expect("ack-conflict", 0)
    h.expect("inconsistent-offsets", 0)
    h.expect("unseen", 10)
    return h


@has("ack-conflict")
def a_committed_transaction_was_told_an_offset_that_reads_otherwise():
    """The transaction has no answer, but one of its values is read: what it was told for the other is an acknowledgement."""
    h = Story(acks="1")
    h.txn(1, sent(10, 4), sent(20, 0, part=1), outcome=INFO)
    h.send(2, 11)
    h.poll(3, got(0, 20, part=1), got(4, 11))
    h.expect("ack-conflict", 4)
    h.expect("inconsistent-offsets", 4)
    return h


@lacks("ack-conflict")
def acknowledgements_and_polls_agree():
    """Three sends, read where they were told to be."""
    h = Story(acks="1")
    for offset, value in enumerate((10, 11, 12)):
        h.send(1, value, offset)
    h.poll(2, (0, 10), (1, 11), (2, 12))
    return h


@lacks("ack-conflict")
def readers_contradict_each_other_and_no_acknowledgement():
    """The sends were told no offset."""
    h = Story(acks="0")
    h.send(1, 10)
    h.send(1, 11)
    h.poll(2, (0, 10))
    h.poll(3, (0, 11))
    h.expect("read-conflict", 0)
    h.expect("inconsistent-offsets", 0)
    return h


@lacks("ack-conflict")
def the_acknowledged_value_is_read_elsewhere():
    """Nothing else was read at the offset it was told."""
    h = Story(acks="1")
    h.send(1, 10, 0)
    h.poll(2, (1, 10))
    h.expect("duplicate", 10)
    return h


@has("read-conflict")
def a_reader_comes_back_to_another_value():
    """Offset 0 was 10, and later it is 11."""
    h = Story()
    h.send(1, 10, outcome=INFO)
    h.send(2, 11, 0)
    h.poll(3, (0, 10))
    h.seek(3, 0)
    h.poll(3, (0, 11))
    h.expect("read-conflict", 0)
    h.expect("ack-conflict", 0)
    h.expect("inconsistent-offsets", 0)
    return h


@has("read-conflict")
def the_final_read_contradicts_an_earlier_one():
    """What was read before the election is another value after it."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 12, 1)
    h.send(2, 11)
    h.poll(3, (0, 10), (1, 12))
    h.final_read((0, 10), (1, 11))
    h.expect("read-conflict", 1)
    h.expect("ack-conflict", 1)
    h.expect("inconsistent-offsets", 1)
    h.expect("lost", 12)
    h.expect("lost-after-read", 12)
    return h


@has("read-conflict")
def one_poll_gives_two_values_at_one_offset():
    """And another partition is sound."""
    h = Story()
    h.send(1, 10, outcome=INFO)
    h.send(1, 11, outcome=INFO)
    h.send(1, 20, 0, part=1)
    read = h.poll(3, (0, 10), (0, 11), got(0, 20, part=1))
    h.expect("read-conflict", 0)
    h.expect("inconsistent-offsets", 0)
    h.expect("int-nonmonotonic-poll", read, 1, rules="highwater")
    return h


@lacks("read-conflict")
def all_readers_agree():
    """Only the acknowledgement does not fit."""
    h = Story(acks="1")
    h.send(1, 11, 0)
    h.send(2, 10)
    h.poll(3, (0, 10))
    h.final_read((0, 10))
    h.expect("ack-conflict", 0)
    h.expect("inconsistent-offsets", 0)
    h.expect("unseen", 11)
    h.expect("lost", 11)
    return h


@lacks("read-conflict")
def a_damaged_poll_is_no_other_value():
    """Offset 0 was read whole once and damaged once: it had one value only."""
    h = Story()
    h.send(1, 10, 0)
    h.poll(2, (0, 10))
    h.poll(3, got(0, None, error="corrupt"))
    h.expect("corrupt", 0)
    return h


@lacks("read-conflict")
def two_values_at_two_offsets():
    """Neighbours are no conflict."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    h.poll(2, (0, 10), (1, 11))
    h.poll(3, (1, 11))
    return h
