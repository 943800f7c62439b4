"""G1a, lost-write, unseen, phantom, corrupt, misplaced, lost, lost-after-read."""

from __future__ import annotations

from harness.history.schema import CORRUPT, MISPLACED, Phase
from tests.analysis.corpus.case import has, lacks
from tests.analysis.corpus.story import FAIL, INFO, Story, got, sent


@has("G1a")
def a_failed_send_is_read():
    """The broker refused a send, and a reader gets it."""
    h = Story()
    h.send(1, 10, outcome=FAIL)
    read = h.poll(2, (0, 10))
    h.expect("G1a", 10, read, 0)
    return h


@has("G1a")
def a_failed_send_is_read_by_two_and_twice_by_one():
    """Each read of an aborted value is one instance: two readers, one of whom comes back to it in the same poll."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, outcome=FAIL)
    first = h.poll(2, (0, 10), (1, 11))
    second = h.poll(3, (0, 10), (1, 11), (1, 11))
    h.expect("G1a", 11, first, 1)
    h.expect("G1a", 11, second, 1)
    h.expect("G1a", 11, second, 2)
    h.expect("int-nonmonotonic-poll", second, 2)
    return h


@has("G1a")
def an_aborted_transaction_shows_in_one_partition():
    """A transaction over two partitions was aborted; one of them gives its value to a reader."""
    h = Story(isolation="read_committed")
    h.txn(1, sent(10, part=0), sent(11, part=1), outcome=FAIL)
    read = h.poll(2, got(4, 11, part=1))
    h.expect("G1a", 11, read, 0, part=1)
    return h


@lacks("G1a")
def a_failed_send_is_never_read():
    """The broker refused a send, and readers get only what was sent besides."""
    h = Story()
    h.send(1, 10, outcome=FAIL)
    h.send(1, 11, 0)
    h.poll(2, (0, 11))
    return h


@lacks("G1a")
def an_unknown_send_is_read():
    """Nobody knew what became of a send; that it is read settles it."""
    h = Story()
    h.send(1, 10, outcome=INFO, error="REQUEST_TIMED_OUT")
    h.poll(2, (0, 10))
    return h


@lacks("G1a")
def a_value_sent_twice_belongs_to_the_first():
    """No history should have it: of two sends of one value the later failed, and the first is what was read."""
    h = Story()
    h.send(1, 10, 0)
    h.send(2, 10, outcome=FAIL)
    h.poll(3, (0, 10))
    return h


@lacks("G1a")
def only_a_failed_poll_saw_a_failed_send():
    """A poll that ended in an error has read nothing, whatever came with it."""
    h = Story()
    h.send(1, 10, outcome=FAIL)
    h.poll(2, (0, 10), outcome=FAIL)
    h.poll(2, outcome=INFO)
    return h


@has("lost-write")
def a_write_below_what_was_read_is_never_read():
    """Offsets 0 and 2 were read, the acknowledged value at 1 never was."""
    h = Story()
    for offset, value in enumerate((10, 11, 12)):
        h.send(1, value, offset)
    read = h.poll(2, (0, 10), (2, 12))
    h.expect("lost-write", 11)
    h.expect("unseen", 11)
    h.expect("int-poll-skip", read, 1)
    return h


@has("lost-write")
def the_unread_half_of_an_unfinished_transaction():
    """A transaction without an answer was committed, for one of its values is read; the other, told offset 1, is not."""
    h = Story()
    h.send(1, 9, 0)
    h.txn(1, sent(10, 1), sent(20, 5, part=1), outcome=INFO)
    h.send(1, 11, 2)
    h.poll(2, got(5, 20, part=1))
    h.poll(3, (0, 9))
    read = h.poll(3, (2, 11))
    h.expect("lost-write", 10)
    h.expect("poll-skip", read)
    return h


@has("lost-write")
def a_write_whose_duplicate_lies_below_the_bound():
    """Value 11 was told offset 1, and a poll that failed saw it at 2; both lie below what was read, and no ok poll has it."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    h.send(1, 12, 3)
    h.poll(3, (2, 11), outcome=FAIL)
    read = h.poll(2, (0, 10), (3, 12))
    h.expect("lost-write", 11)
    h.expect("unseen", 11)
    h.expect("duplicate", 11)
    h.expect("int-poll-skip", read, 1)
    return h


@lacks("lost-write")
def a_write_above_what_was_read_is_not_read_yet():
    """The acknowledged value lies behind the last one read: whether it is lost or late cannot be told."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    h.poll(2, (0, 10))
    h.expect("unseen", 11)
    return h


@lacks("lost-write")
def an_unknown_write_below_what_was_read_is_not_read():
    """Nobody promised that the send without an answer would be there."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 1, outcome=INFO)
    h.send(1, 12, 2)
    h.poll(2, (0, 10), (2, 12))
    return h


@lacks("lost-write")
def the_last_place_of_a_write_is_above_the_bound():
    """Value 11 lies at 1 and, as a failed poll saw, at 5: behind the last read, so it may still come."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    h.send(1, 12, 2)
    h.poll(3, (5, 11), outcome=FAIL)
    read = h.poll(2, (0, 10), (2, 12))
    h.expect("unseen", 11)
    h.expect("duplicate", 11)
    h.expect("int-poll-skip", read, 1)
    h.expect("nonmonotonic-send", 3, rules="jepsen")
    h.expect("reordered", 12, rules="jepsen")
    h.expect("G0", 2, rules="jepsen")
    h.expect("G0-realtime", 2, rules="jepsen")
    return h


@lacks("lost-write")
def what_was_read_last_is_a_duplicate():
    """Value 10 was read at 0 and again at 9; the bound is its first place, and 11 lies behind that."""
    h = Story(idempotence=False)
    h.send(1, 10, 0)
    h.send(1, 11, 5)
    read = h.poll(2, (0, 10), (9, 10))
    h.expect("duplicate", 10)
    h.expect("unseen", 11)
    h.expect("int-poll-skip", read, 1, rules="highwater")
    h.expect("int-nonmonotonic-poll", read, 1, rules="jepsen")
    h.expect("nonmonotonic-send", 2, rules="jepsen")
    h.expect("reordered", 11, rules="jepsen")
    h.expect("G0", 1, rules="jepsen")
    h.expect("G0-realtime", 1, rules="jepsen")
    return h


@has("unseen")
def an_acknowledged_value_is_never_polled():
    """The history ends before anybody has read it."""
    h = Story()
    h.send(1, 10, 0)
    h.expect("unseen", 10)
    return h


@has("unseen")
def a_value_without_an_offset_is_never_polled():
    """With acks=0 ok means handed to the socket; that nobody ever saw it is told all the same."""
    h = Story(acks="0")
    h.send(1, 10)
    h.send(1, 11)
    h.poll(2, (0, 11))
    h.expect("unseen", 10)
    return h


@has("unseen")
def only_polls_that_did_not_succeed_saw_the_value():
    """Polls that failed or have no outcome have not read it."""
    h = Story()
    h.send(1, 10, 0)
    h.poll(2, (0, 10), outcome=FAIL)
    h.poll(2, (0, 10), outcome=INFO)
    h.expect("unseen", 10)
    return h


@has("unseen")
def the_value_was_polled_in_another_partition_only():
    """A value belongs to the partition it was sent to: in another one it is a phantom."""
    h = Story()
    h.send(1, 10, 0)
    h.poll(2, got(0, 10, part=1))
    h.expect("unseen", 10)
    h.expect("phantom", 10, part=1)
    return h


@lacks("unseen")
def an_acknowledged_value_is_polled():
    """One ok poll is enough."""
    h = Story()
    h.send(1, 10, 0)
    h.poll(2, (0, 10))
    return h


@lacks("unseen")
def only_the_final_read_has_the_value():
    """The final read is a read."""
    h = Story()
    h.send(1, 10, 0)
    h.final_read((0, 10))
    return h


@lacks("unseen")
def what_was_not_acknowledged_is_not_seen():
    """Nobody waits for a send that failed or has no answer."""
    h = Story()
    h.send(1, 10, outcome=FAIL)
    h.send(1, 11, outcome=INFO)
    h.send(1, 12, never_ends=True)
    h.poll(2)
    return h


@has("phantom")
def a_value_nobody_sent():
    """A poll gives a value that is no send's."""
    h = Story()
    h.poll(2, (0, 99))
    h.expect("phantom", 99)
    return h


@has("phantom")
def a_value_nobody_sent_is_seen_often():
    """However often it is polled in a partition, and be it by a poll that failed: it is one phantom."""
    h = Story()
    h.send(1, 10, 0)
    h.poll(2, (0, 10), (1, 99))
    h.poll(3, (0, 10), (1, 99), outcome=FAIL)
    h.poll(4, (1, 99), outcome=INFO)
    h.expect("phantom", 99)
    return h


@has("phantom")
def a_phantom_between_sound_values():
    """It has a place like others, so that readers who pass it skip nothing; only one who leaves it out does."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 2)
    h.poll(2, (0, 10), (1, 99), (2, 11))
    read = h.poll(3, (0, 10), (2, 11))
    h.expect("phantom", 99)
    h.expect("int-poll-skip", read, 1)
    return h


@lacks("phantom")
def a_value_of_a_failed_send_is_no_phantom():
    """Somebody sent it, and it is an aborted read."""
    h = Story()
    h.send(1, 10, outcome=FAIL)
    read = h.poll(2, (0, 10))
    h.expect("G1a", 10, read, 0)
    return h


@lacks("phantom")
def a_value_of_an_unfinished_send_is_no_phantom():
    """A worker was killed with the send under way; it landed."""
    h = Story()
    h.send(1, 10, never_ends=True)
    h.poll(2, (7, 10))
    return h


@lacks("phantom")
def a_damaged_message_is_no_phantom():
    """Without a value there is nothing that nobody sent."""
    h = Story()
    h.poll(2, got(0, None, error=CORRUPT))
    h.expect("corrupt", 0)
    return h


@has("corrupt")
def a_message_does_not_match_its_checksum():
    """One message is damaged; the reader goes on behind it and has skipped nothing."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 2)
    h.poll(2, (0, 10), got(1, None, error=CORRUPT), (2, 11))
    h.expect("corrupt", 1)
    return h


@has("corrupt")
def a_message_was_sound_for_one_reader_only():
    """The offset was polled whole and damaged: the damaged poll stands at its place, and no reader skipped it."""
    h = Story()
    for offset, value in enumerate((10, 11, 12)):
        h.send(1, value, offset)
    h.poll(2, (0, 10), (1, 11), (2, 12))
    read = h.poll(3, (0, 10), got(1, None, error=CORRUPT), (2, 12))
    h.expect("corrupt", 1)
    h.expect("int-poll-skip", read, 2, rules="jepsen")
    return h


@has("corrupt")
def damaged_messages_in_two_partitions_seen_twice():
    """One instance an offset and partition, however many saw it and however their polls ended."""
    h = Story()
    h.poll(2, got(3, None, error=CORRUPT), got(3, None, part=1, error=CORRUPT))
    h.poll(3, got(3, None, error=CORRUPT), got(4, None, error=CORRUPT), outcome=FAIL)
    h.expect("corrupt", 3)
    h.expect("corrupt", 4)
    h.expect("corrupt", 3, part=1)
    return h


@lacks("corrupt")
def every_message_matches_its_checksum():
    """All polled payloads are sound."""
    h = Story()
    h.send(1, 10, 0)
    h.poll(2, (0, 10))
    return h


@lacks("corrupt")
def a_poll_with_another_error():
    """A poll that timed out says nothing of checksums."""
    h = Story()
    h.send(1, 10, 0)
    h.poll(2, got(0, 10, error="_TIMED_OUT"), outcome=FAIL)
    h.poll(2, (0, 10))
    return h


@lacks("corrupt")
def a_misplaced_message_is_not_corrupt():
    """Its checksum is right, it is only in the wrong place."""
    h = Story()
    h.poll(2, got(0, None, error=MISPLACED))
    h.expect("misplaced", 0)
    return h


@has("misplaced")
def a_message_of_another_partition():
    """A reader of partition 0 gets a sound message that says it belongs elsewhere."""
    h = Story()
    h.send(1, 10, 0)
    h.poll(2, (0, 10), got(1, None, error=MISPLACED))
    h.expect("misplaced", 1)
    return h


@has("misplaced")
def two_misplaced_messages_seen_by_two():
    """One instance an offset."""
    h = Story()
    h.poll(2, got(1, None, error=MISPLACED), got(2, None, error=MISPLACED))
    h.poll(3, got(1, None, error=MISPLACED))
    h.expect("misplaced", 1)
    h.expect("misplaced", 2)
    return h


@has("misplaced")
def a_misplaced_message_at_a_huge_offset_of_a_failed_poll():
    """The poll failed, the message was there."""
    h = Story()
    h.poll(2, got(2**62, None, error=MISPLACED), outcome=FAIL)
    h.expect("misplaced", 2**62)
    return h


@lacks("misplaced")
def every_message_is_where_it_belongs():
    """Two partitions, each with its own."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 0, part=1)
    h.poll(2, (0, 10), got(0, 11, part=1))
    return h


@lacks("misplaced")
def a_corrupt_message_is_not_misplaced():
    """What its bytes say of their partition is worth nothing."""
    h = Story()
    h.poll(2, got(0, None, error=CORRUPT))
    h.expect("corrupt", 0)
    return h


@lacks("misplaced")
def a_poll_of_nothing():
    """There is no message, so none is in the wrong place."""
    h = Story()
    h.poll(2)
    return h


@has("lost")
def acknowledged_and_not_in_the_final_read():
    """The last of three acknowledged values is not there when all is read in the end."""
    h = Story()
    for offset, value in enumerate((10, 11, 12)):
        h.send(1, value, offset)
    h.final_read((0, 10), (1, 11))
    h.expect("lost", 12)
    h.expect("unseen", 12)
    return h


@has("lost")
def another_value_lies_where_a_lost_one_was_acknowledged():
    """A leader fell, its last write was not replicated, and the next leader gave its offset to another."""
    h = Story(acks="1")
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    h.send(2, 12, 1)
    h.final_read((0, 10), (1, 12))
    h.expect("lost", 11)
    h.expect("unseen", 11)
    h.expect("inconsistent-offsets", 1)
    h.expect("ack-conflict", 1)
    return h


@has("lost")
def everything_is_lost():
    """The final read of the partition found nothing at all."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11)
    h.final_read()
    for value in (10, 11):
        h.expect("lost", value)
        h.expect("unseen", value)
    return h


@has("lost")
def lost_in_one_partition_of_two():
    """The same offset, two partitions: each is judged by its own final read."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 0, part=1)
    h.final_read((0, 10))
    h.final_read(part=1)
    h.expect("lost", 11, part=1)
    h.expect("unseen", 11, part=1)
    return h


@has("lost")
def only_a_failed_final_poll_has_it():
    """The final read met an error there, came back, and did not find it again."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    h.poll(7, (0, 10), (1, 11), outcome=FAIL, phase=Phase.FINAL)
    h.final_read((0, 10), end=2)
    h.expect("lost", 11)
    h.expect("unseen", 11)
    return h


@has("lost")
def it_lay_behind_the_log_start_as_well():
    """Retention took the first place of a duplicate; the second, behind the log start, is gone for no reason."""
    h = Story(idempotence=False)
    h.send(1, 10, 0)
    h.send(1, 11, 6)
    h.poll(2, (0, 10))
    h.seek(2, 5)
    h.poll(2, (5, 10))
    h.final_read((6, 11), log_start=3)
    h.expect("lost", 10)
    h.expect("lost-after-read", 10)
    h.expect("duplicate", 10)
    return h


@lacks("lost")
def everything_acknowledged_is_in_the_final_read():
    """And a value without an answer besides."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    h.send(1, 12, outcome=INFO)
    h.final_read((0, 10), (1, 11), (2, 12))
    return h


@lacks("lost")
def the_final_read_did_not_reach_the_end():
    """What was not read to its end says nothing of what is behind."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    h.final_read((0, 10), end=2, complete=False)
    h.expect("unseen", 11)
    return h


@lacks("lost")
def what_is_before_the_log_start_was_deleted():
    """Retention took the first message before the final read."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    h.final_read((1, 11), log_start=1)
    h.expect("unseen", 10)
    h.expect("lost-write", 10)
    return h


@lacks("lost")
def two_final_readers_have_it_between_them():
    """The reader had to begin anew in the middle: what both read is the final read."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    h.final_read((0, 10), end=2, complete=False)
    h.final_read((1, 11), end=2)
    return h


@has("lost-after-read")
def a_value_was_read_and_is_gone():
    """A consumer had it; the final read has not."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    h.poll(2, (0, 10), (1, 11))
    h.final_read((0, 10))
    h.expect("lost-after-read", 11)
    h.expect("lost", 11)
    return h


@has("lost-after-read")
def an_unacknowledged_value_was_read_and_is_gone():
    """Nobody promised that it would be stored, but once it was read it has to stay."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, outcome=INFO)
    h.poll(2, (0, 10), (1, 11))
    h.final_read((0, 10))
    h.expect("lost-after-read", 11)
    return h


@has("lost-after-read")
def a_value_was_read_and_is_in_no_replica():
    """The final read could not be made; the dumps show it."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    h.poll(2, (0, 10), (1, 11))
    h.dump("n1", (0, 10))
    h.dump("n2", (0, 10), (1, None))
    h.expect("lost-after-read", 11)
    return h


@has("lost-after-read")
def even_a_phantom_must_not_vanish():
    """Whoever put it there: it was read, and is gone."""
    h = Story()
    h.send(1, 10, 0)
    h.poll(2, (0, 10), (1, 99))
    h.final_read((0, 10))
    h.expect("phantom", 99)
    h.expect("lost-after-read", 99)
    return h


@lacks("lost-after-read")
def what_was_read_stays():
    """All that was read before is read in the end and lies in the replicas."""
    h = Story()
    h.send(1, 10, 0)
    h.poll(2, (0, 10))
    h.final_read((0, 10))
    h.dump("n1", (0, 10))
    return h


@lacks("lost-after-read")
def one_replica_has_what_was_read():
    """The others lack it: the replicas differ, but the value is not gone."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    h.poll(2, (0, 10), (1, 11))
    h.dump("n1", (0, 10))
    h.dump("n2", (0, 10), (1, 11))
    return h


@lacks("lost-after-read")
def only_a_failed_poll_had_it():
    """A poll that failed has read nothing."""
    h = Story(acks="1")
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    h.poll(2, (0, 10))
    h.poll(2, (1, 11), outcome=FAIL)
    h.final_read((0, 10))
    h.expect("lost", 11)
    h.expect("unseen", 11)
    return h


@lacks("lost-after-read")
def what_was_read_is_before_the_log_start():
    """Retention took it after it was read."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 1)
    h.poll(2, (0, 10), (1, 11))
    h.final_read((1, 11), log_start=1)
    h.dump("n1", (1, 11))
    return h
