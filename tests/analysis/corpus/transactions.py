"""precommitted-read, G1b, torn-transaction."""

from __future__ import annotations

from tests.analysis.corpus.case import has, lacks
from tests.analysis.corpus.story import FAIL, INFO, Story, got, sent


@has("precommitted-read")
def a_transaction_reads_what_it_sent():
    """Its own value comes back before it is committed."""
    h = Story()
    op = h.txn(1, sent(10, 0), got(0, 10))
    h.expect("precommitted-read", op)
    return h


@has("precommitted-read")
def an_aborted_transaction_reads_what_it_sent():
    """Whatever became of it: it saw what was not committed."""
    h = Story()
    op = h.txn(1, sent(10), got(0, 10), outcome=FAIL)
    h.expect("precommitted-read", op)
    return h


@has("precommitted-read")
def a_transaction_reads_two_of_its_values():
    """One instance an operation, in whatever partitions."""
    h = Story()
    op = h.txn(1, sent(10, 0), sent(20, 0, part=1), got(0, 10), got(0, 20, part=1))
    h.expect("precommitted-read", op)
    return h


@lacks("precommitted-read")
def a_transaction_reads_what_others_sent():
    """And sends besides."""
    h = Story()
    h.send(2, 9, 0)
    h.txn(1, got(0, 9), sent(10, 1))
    h.poll(3, (0, 9), (1, 10))
    return h


@lacks("precommitted-read")
def the_next_transaction_reads_what_the_last_sent():
    """The same process, another operation."""
    h = Story()
    h.txn(1, sent(10, 0))
    h.txn(1, got(0, 10))
    return h


@lacks("precommitted-read")
def the_same_number_in_another_partition():
    """A value belongs to its partition: what was read is not what was sent, but a phantom."""
    h = Story()
    h.txn(1, sent(10, 0), got(0, 10, part=1))
    h.poll(2, (0, 10))
    h.expect("phantom", 10, part=1)
    return h


@has("G1b")
def a_reader_misses_the_last_value_of_a_transaction():
    """It read the first of two values and what lies behind both."""
    h = Story(isolation="read_committed")
    writer = h.txn(1, sent(10, 0), sent(11, 1))
    h.send(2, 12, 2)
    h.poll(4, (0, 10), (1, 11), (2, 12))
    reader = h.poll(3, (0, 10), (2, 12))
    h.expect("G1b", reader, writer)
    h.expect("int-poll-skip", reader, 1)
    return h


@has("G1b")
def two_transactions_are_read_in_part():
    """One reader, two writers: two instances; the second writer's outcome was never known."""
    h = Story(isolation="read_committed")
    first = h.txn(1, sent(10, 0), sent(11, 1))
    second = h.txn(2, sent(20, 2), sent(21, 3), outcome=INFO)
    h.send(1, 12, 4)
    h.poll(4, (0, 10), (1, 11), (2, 20), (3, 21), (4, 12))
    reader = h.poll(3, (0, 10), (2, 20), (4, 12))
    h.expect("G1b", reader, first)
    h.expect("G1b", reader, second)
    h.expect("int-poll-skip", reader, 1)
    h.expect("int-poll-skip", reader, 2)
    return h


@has("G1b")
def a_transaction_is_read_in_part_in_one_of_two_partitions():
    """Partition 0 is whole, partition 1 lacks the last."""
    h = Story(isolation="read_committed")
    writer = h.txn(1, sent(10, 0), sent(20, 0, part=1), sent(21, 1, part=1))
    h.send(2, 22, 2, part=1)
    h.poll(4, got(0, 10), got(0, 20, part=1), got(1, 21, part=1), got(2, 22, part=1))
    reader = h.txn(3, got(0, 10), got(0, 20, part=1), got(2, 22, part=1))
    h.expect("G1b", reader, writer, part=1)
    h.expect("int-poll-skip", reader, 2, part=1)
    return h


@lacks("G1b")
def a_poll_ends_in_the_middle_of_a_transaction():
    """The reader had as many messages as it asked for; the next poll has the rest."""
    h = Story(isolation="read_committed")
    h.txn(1, sent(10, 0), sent(11, 1))
    h.poll(3, (0, 10))
    h.poll(3, (1, 11))
    return h


@lacks("G1b")
def a_reader_misses_the_first_value_of_a_transaction():
    """It began in the middle."""
    h = Story(isolation="read_committed")
    h.txn(1, sent(10, 0), sent(11, 1))
    h.send(2, 12, 2)
    h.poll(4, (0, 10))
    h.poll(3, (1, 11), (2, 12))
    return h


@lacks("G1b")
def sends_that_are_no_transaction_are_read_in_part():
    """Two sends in one operation without a transaction promise nothing together; the hole is told as such."""
    h = Story()
    h.sends(1, sent(10, 0), sent(11, 1))
    h.send(2, 12, 2)
    h.poll(4, (0, 10), (1, 11), (2, 12))
    reader = h.poll(3, (0, 10), (2, 12))
    h.expect("int-poll-skip", reader, 1)
    return h


@lacks("G1b")
def a_failed_poll_misses_the_last_value():
    """It has read nothing."""
    h = Story(isolation="read_committed")
    h.txn(1, sent(10, 0), sent(11, 1))
    h.send(2, 12, 2)
    h.poll(4, (0, 10), (1, 11), (2, 12))
    reader = h.poll(3, (0, 10), (2, 12), outcome=FAIL)
    h.expect("int-poll-skip", reader, 1)
    return h


@lacks("G1b")
def a_transaction_reads_itself_in_part():
    """That it reads its own values at all is what is wrong with it."""
    h = Story(isolation="read_committed")
    with h.together():
        op = h.txn(1, sent(10, 0), sent(11, 1), got(0, 10), got(2, 12))
        h.send(2, 12, 2)
    h.poll(3, (0, 10), (1, 11), (2, 12))
    h.expect("precommitted-read", op)
    h.expect("int-poll-skip", op, 3)
    h.expect("G1c", op)
    return h


@has("torn-transaction")
def half_of_a_transaction_is_in_the_log():
    """Committed, and in the end one partition has its value and the other has not."""
    h = Story()
    op = h.txn(1, sent(10, 0), sent(20, 0, part=1))
    h.final_read((0, 10))
    h.final_read(part=1, end=2)
    h.expect("torn-transaction", op)
    h.expect("lost", 20, part=1)
    h.expect("unseen", 20, part=1)
    return h


@has("torn-transaction")
def an_unfinished_transaction_is_half_in_the_log():
    """Nobody knew whether it was committed; that a half is read says that it was."""
    h = Story()
    op = h.txn(1, sent(10), sent(20, part=1), outcome=INFO)
    h.final_read((0, 10))
    h.final_read(part=1)
    h.expect("torn-transaction", op)
    return h


@has("torn-transaction")
def a_transaction_is_torn_inside_one_partition():
    """The second of its three values is not there."""
    h = Story()
    op = h.txn(1, sent(10, 0), sent(11, 1), sent(12, 2))
    read = h.final_read((0, 10), (2, 12))
    h.expect("torn-transaction", op)
    h.expect("lost", 11)
    h.expect("unseen", 11)
    h.expect("lost-write", 11)
    h.expect("int-poll-skip", read, 1)
    return h


@lacks("torn-transaction")
def a_whole_transaction_is_in_the_log():
    """In both partitions."""
    h = Story()
    h.txn(1, sent(10, 0), sent(20, 0, part=1))
    h.final_read((0, 10))
    h.final_read((0, 20), part=1)
    return h


@lacks("torn-transaction")
def a_whole_transaction_is_lost():
    """It is not torn: nothing of it is there."""
    h = Story()
    h.txn(1, sent(10, 0), sent(20, 0, part=1))
    h.final_read()
    h.final_read(part=1)
    for part, value in ((0, 10), (1, 20)):
        h.expect("lost", value, part=part)
        h.expect("unseen", value, part=part)
    return h


@lacks("torn-transaction")
def sends_that_are_no_transaction_are_half_in_the_log():
    """One operation, but no transaction: what is missing is lost, and nothing is torn."""
    h = Story()
    h.sends(1, sent(10, 0), sent(11, 1))
    h.final_read((0, 10), end=2)
    h.expect("lost", 11)
    h.expect("unseen", 11)
    return h


@lacks("torn-transaction")
def one_of_the_final_reads_did_not_reach_its_end():
    """Of that partition nobody can tell."""
    h = Story()
    h.txn(1, sent(10, 0), sent(20, 5, part=1))
    h.final_read((0, 10))
    h.final_read(part=1, end=6, complete=False)
    h.expect("unseen", 20, part=1)
    return h


@lacks("torn-transaction")
def an_aborted_transaction_is_not_in_the_log():
    """Neither half of it is."""
    h = Story()
    h.txn(1, sent(10), sent(20, part=1), outcome=FAIL)
    h.final_read()
    h.final_read(part=1)
    return h


@lacks("torn-transaction")
def the_missing_half_was_deleted_by_retention():
    """It lay before the log start."""
    h = Story()
    h.txn(1, sent(10, 0), sent(20, 0, part=1))
    h.send(2, 21, 1, part=1)
    h.poll(3, got(0, 10), got(0, 20, part=1), got(1, 21, part=1))
    h.final_read((0, 10))
    h.final_read((1, 21), part=1, log_start=1)
    return h
