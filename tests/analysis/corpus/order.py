"""Order inside operations, along processes, of record keys, and by time: int-*, poll-skip, nonmonotonic-*, reordered, stale-time-index."""

from __future__ import annotations

from harness.history.schema import CORRUPT
from tests.analysis.corpus.case import has, lacks
from tests.analysis.corpus.story import FAIL, INFO, Story, ended, got, rebalanced, sent


def _three(**promises: object) -> Story:
    """Values 10, 11, 12 at offsets 0, 1, 2, all read by process 9."""
    h = Story(**promises)
    for offset, value in enumerate((10, 11, 12)):
        h.send(1, value, offset)
    h.poll(9, (0, 10), (1, 11), (2, 12))
    return h


@has("int-poll-skip")
def a_poll_leaves_one_out():
    """Offset 1 is missing between 0 and 2."""
    h = _three()
    h.expect("int-poll-skip", h.poll(2, (0, 10), (2, 12)), 1)
    return h


@has("int-poll-skip")
def a_failed_poll_leaves_out_much_and_twice():
    """Holes that others filled, in a poll that failed."""
    h = Story()
    for offset, value in enumerate(range(10, 20)):
        h.send(1, value, offset)
    h.poll(9, *enumerate(range(10, 20)))
    read = h.poll(2, (0, 10), (5, 15), (6, 16), (9, 19), outcome=FAIL)
    h.expect("int-poll-skip", read, 1)
    h.expect("int-poll-skip", read, 3)
    return h


@has("int-poll-skip")
def two_polls_of_one_transaction_leave_one_out():
    """The rows of another partition, and a send, lie between: the two polls are neighbours all the same."""
    h = _three()
    read = h.txn(2, got(0, 10), got(7, 20, part=1), sent(13, 3), got(2, 12))
    h.poll(9, (3, 13))
    h.expect("int-poll-skip", read, 3)
    h.expect("phantom", 20, part=1)
    return h


@lacks("int-poll-skip")
def a_hole_that_nobody_filled():
    """Transaction markers leave holes: offsets 1 and 2 hold no message."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 3)
    h.poll(2, (0, 10), (3, 11))
    return h


@lacks("int-poll-skip")
def a_rebalance_struck_between():
    """The partition was taken away and given back in the middle of the operation."""
    h = _three()
    h.poll(2, got(0, 10), rebalanced(), got(2, 12))
    return h


@lacks("int-poll-skip")
def a_skip_over_a_damaged_message():
    """The damaged message was polled too, at its place."""
    h = _three()
    read = h.poll(2, (0, 10), got(1, None, error=CORRUPT), (2, 12))
    h.expect("corrupt", 1)
    h.expect("int-poll-skip", read, 2, rules="jepsen")
    return h


@has("int-nonmonotonic-poll")
def a_poll_goes_back():
    """Offset 2 comes before 1."""
    h = _three()
    read = h.poll(2, (0, 10), (2, 12), (1, 11))
    h.expect("int-poll-skip", read, 1)
    h.expect("int-nonmonotonic-poll", read, 2)
    return h


@has("int-nonmonotonic-poll")
def a_poll_gives_a_message_twice():
    """The same offset twice in a row does not go forward."""
    h = _three()
    h.expect("int-nonmonotonic-poll", h.poll(2, (0, 10), (0, 10), outcome=INFO), 1)
    return h


@has("int-nonmonotonic-poll")
def a_rebalance_of_another_partition_excuses_nothing():
    """Partition 1 changed hands, partition 0 went back."""
    h = _three()
    read = h.poll(2, got(1, 11), rebalanced(part=1), got(0, 10))
    h.expect("int-nonmonotonic-poll", read, 2)
    return h


@lacks("int-nonmonotonic-poll")
def a_poll_goes_forward():
    """Message by message, and partition by partition."""
    h = _three()
    h.send(1, 20, 0, part=1)
    h.poll(2, (1, 11), (2, 12), got(0, 20, part=1))
    return h


@lacks("int-nonmonotonic-poll")
def a_rebalance_begins_anew():
    """After it the reader is back at the committed offset."""
    h = _three()
    h.poll(2, got(2, 12), rebalanced(), got(0, 10))
    return h


@lacks("int-nonmonotonic-poll")
def two_partitions_are_interleaved():
    """High offsets of one and low ones of the other, in turn."""
    h = Story()
    h.send(1, 10, 100)
    h.send(1, 11, 101)
    h.send(1, 20, 0, part=1)
    h.send(1, 21, 1, part=1)
    h.poll(2, got(100, 10), got(0, 20, part=1), got(101, 11), got(1, 21, part=1))
    return h


@has("int-send-skip")
def another_s_value_between_two_sends():
    """One operation sent 10 and 11; 20 of another process lies between them."""
    h = Story()
    with h.together():
        op = h.txn(1, sent(10, 0), sent(11, 2))
        h.send(2, 20, 1)
    h.poll(3, (0, 10), (1, 20), (2, 11))
    h.expect("int-send-skip", op, 1)
    h.expect("G0", op)
    return h


@has("int-send-skip")
def an_unfinished_transaction_with_room_between():
    """Its offsets are known from a reader only."""
    h = Story()
    with h.together():
        op = h.txn(1, sent(10), sent(11), outcome=INFO)
        h.send(2, 20, 1)
    h.poll(3, (0, 10), (1, 20), (2, 11))
    h.expect("int-send-skip", op, 1)
    h.expect("G0", op)
    return h


@has("int-send-skip")
def an_aborted_transaction_that_shows_has_room_between():
    """Sends of any outcome are looked at, if they have a place."""
    h = Story()
    with h.together():
        op = h.txn(1, sent(10), sent(11), outcome=FAIL)
        h.send(2, 20, 1)
    read = h.poll(3, (0, 10), (1, 20), (2, 11))
    h.expect("int-send-skip", op, 1)
    h.expect("G1a", 10, read, 0)
    h.expect("G1a", 11, read, 2)
    h.expect("G0", op)
    return h


@lacks("int-send-skip")
def two_sends_side_by_side():
    """Nobody's value lies between them, though an offset does."""
    h = Story()
    h.txn(1, sent(10, 0), sent(11, 2))
    h.poll(3, (0, 10), (2, 11))
    return h


@lacks("int-send-skip")
def sends_to_two_partitions_have_nothing_between():
    """Places are counted in each partition."""
    h = Story()
    h.send(2, 20, 0, part=1)
    h.txn(1, sent(10, 0), sent(11, 1, part=1))
    h.poll(3, got(0, 10), got(0, 20, part=1), got(1, 11, part=1))
    return h


@lacks("int-send-skip")
def a_send_without_a_place_between():
    """The second of three was told no offset and is never read: neither pair can be judged."""
    h = Story()
    with h.together():
        h.txn(1, sent(10, 0), sent(11), sent(12, 2), outcome=INFO)
        h.send(2, 20, 1)
    h.poll(3, (0, 10), (1, 20), (2, 12))
    h.expect("G0", 1)
    return h


@has("int-nonmonotonic-send")
def two_sends_are_stored_the_other_way_round():
    """10 was sent first and lies behind 11."""
    h = Story()
    op = h.txn(1, sent(10, 1), sent(11, 0))
    h.poll(2, (0, 11), (1, 10))
    h.expect("int-nonmonotonic-send", op, 1)
    h.expect("reordered", 11)
    return h


@has("int-nonmonotonic-send")
def an_unfinished_transaction_is_stored_backwards():
    """Three sends without an answer, read in reverse."""
    h = Story()
    op = h.txn(1, sent(10), sent(11), sent(12), outcome=INFO)
    h.poll(2, (0, 12), (1, 11), (2, 10))
    h.expect("int-nonmonotonic-send", op, 1)
    h.expect("int-nonmonotonic-send", op, 2)
    h.expect("reordered", 11, doubtful=True)
    h.expect("reordered", 12, doubtful=True)
    return h


@has("int-nonmonotonic-send")
def one_value_is_sent_twice_by_an_operation():
    """The same value again has the same place, which does not go forward."""
    h = Story()
    op = h.txn(1, sent(10, 0), sent(10, 0))
    h.poll(2, (0, 10))
    h.expect("int-nonmonotonic-send", op, 1)
    return h


@lacks("int-nonmonotonic-send")
def sends_are_stored_in_order():
    """Three sends, three places."""
    h = Story()
    h.txn(1, sent(10, 0), sent(11, 1), sent(12, 2))
    h.poll(2, (0, 10), (1, 11), (2, 12))
    return h


@lacks("int-nonmonotonic-send")
def a_retry_lies_behind():
    """The first send of two was stored again behind the second: its first place is what counts, but not for Jepsen."""
    h = Story(idempotence=False)
    op = h.txn(1, sent(10, 0), sent(11, 1))
    read = h.poll(2, (0, 10), (1, 11), (2, 10))
    h.expect("duplicate", 10)
    h.expect("int-nonmonotonic-send", op, 1, rules="jepsen")
    h.expect("int-nonmonotonic-poll", read, 1, rules="jepsen")
    h.expect("reordered", 11, rules="jepsen")
    return h


@lacks("int-nonmonotonic-send")
def an_order_that_nobody_knows():
    """The second send was told a lower offset by nobody: it has none."""
    h = Story()
    h.txn(1, sent(10, 5), sent(11), outcome=INFO)
    h.poll(2, (5, 10))
    return h


@has("poll-skip")
def the_next_poll_leaves_one_out():
    """The process had read offset 0 and goes on at 2."""
    h = _three()
    h.poll(2, (0, 10))
    h.expect("poll-skip", h.poll(2, (2, 12)))
    return h


@has("poll-skip")
def after_a_failed_poll_a_client_must_rewind():
    """What a failed poll gave counts as not read: going on behind it skips it."""
    h = _three()
    h.poll(2, (0, 10))
    h.poll(2, (1, 11), outcome=FAIL)
    h.expect("poll-skip", h.poll(2, (2, 12)))
    return h


@has("poll-skip")
def a_kept_partition_keeps_its_position():
    """Assigned again, with others: reading goes on where it stood, or skips."""
    h = _three()
    h.assign(2, 0)
    h.poll(2, (0, 10))
    h.assign(2, 0, 1)
    h.poll(2)
    h.expect("poll-skip", h.poll(2, (2, 12)))
    return h


@has("poll-skip")
def a_seek_is_not_obeyed():
    """The reader went back to offset 1 and is given 2."""
    h = _three()
    h.poll(2, (0, 10), (1, 11), (2, 12))
    h.seek(2, 1)
    h.expect("poll-skip", h.poll(2, (2, 12)))
    return h


@lacks("poll-skip")
def the_next_poll_goes_on():
    """Place by place, over a hole."""
    h = Story()
    h.send(1, 10, 0)
    h.send(1, 11, 5)
    h.poll(2, (0, 10))
    h.poll(2)
    h.poll(2, (5, 11))
    return h


@lacks("poll-skip")
def a_forgotten_partition_is_read_anew():
    """It was dropped by one assign and taken up by the next, at another offset."""
    h = _three()
    h.assign(2, 0)
    h.poll(2, (0, 10))
    h.assign(2, 1, outcome=INFO)
    h.assign(2, 0)
    h.poll(2, (2, 12))
    return h


@lacks("poll-skip")
def a_seek_forward_is_no_skip():
    """The reader asked for it; the offset sought holds nothing, the next one does."""
    h = Story()
    for offset, value in ((0, 10), (3, 11), (6, 12)):
        h.send(1, value, offset)
    h.poll(9, (0, 10), (3, 11), (6, 12))
    h.poll(2, (0, 10))
    h.seek(2, 5)
    h.poll(2, (6, 12))
    return h


@lacks("poll-skip")
def after_a_seek_nobody_knows_the_end_of():
    """A seek without an answer leaves the position unknown."""
    h = _three()
    h.poll(2, (0, 10))
    h.seek(2, 2, outcome=INFO)
    h.poll(2, (2, 12))
    return h


@has("nonmonotonic-poll")
def the_next_poll_goes_back():
    """The process had read offset 2 and is given 0."""
    h = _three()
    h.poll(2, (1, 11), (2, 12))
    h.expect("nonmonotonic-poll", h.poll(2, (0, 10)))
    return h


@has("nonmonotonic-poll")
def the_last_message_comes_again():
    """At its last place again, in a poll that then failed; afterwards it goes on."""
    h = _three()
    h.poll(2, (0, 10), (1, 11))
    h.expect("nonmonotonic-poll", h.poll(2, (1, 11), outcome=FAIL))
    h.poll(2, (2, 12))
    return h


@has("nonmonotonic-poll")
def a_seek_forward_leads_back():
    """The reader asked for offset 2 and is given 1."""
    h = _three()
    h.poll(2, (0, 10))
    h.seek(2, 2)
    h.expect("nonmonotonic-poll", h.poll(2, (1, 11), (2, 12)))
    return h


@has("nonmonotonic-poll")
def an_assign_that_failed_forgets_nothing():
    """The partition was to be dropped, but was not."""
    h = _three()
    h.assign(2, 0)
    h.poll(2, (0, 10), (1, 11))
    h.assign(2, 1, outcome=FAIL)
    h.expect("nonmonotonic-poll", h.poll(2, (0, 10)))
    return h


@lacks("nonmonotonic-poll")
def each_process_has_its_own_position():
    """One is at the end, the other begins."""
    h = _three()
    h.poll(2, (1, 11), (2, 12))
    h.poll(3, (0, 10))
    return h


@lacks("nonmonotonic-poll")
def after_a_failed_poll_the_client_rewinds():
    """It sees again what the failed poll gave."""
    h = _three()
    h.poll(2, (0, 10))
    h.poll(2, (1, 11), (2, 12), outcome=FAIL)
    h.seek(2, 1)
    h.poll(2, (1, 11), (2, 12))
    return h


@lacks("nonmonotonic-poll")
def a_subscription_that_dropped_the_partition():
    """Subscribed to it again, the process begins where the group stands."""
    h = _three(assignment="subscribe")
    h.assign(2, 0, 1, subscribe=True)
    h.poll(2, (0, 10), (1, 11))
    h.assign(2, 1, subscribe=True)
    h.assign(2, 0, subscribe=True)
    h.poll(2, (0, 10))
    return h


@has("nonmonotonic-send")
def a_later_send_lies_before_an_earlier_one():
    """Acknowledged at 1, and the next at 0."""
    h = Story(in_flight=1)
    with h.together():
        h.send(1, 10, 1)
        later = h.send(1, 11, 0)
    h.poll(2, (0, 11), (1, 10))
    h.expect("nonmonotonic-send", later)
    h.expect("reordered", 11)
    return h


@has("nonmonotonic-send")
def an_unfinished_send_lies_behind_a_later_one():
    """It landed late: told, but no error, for nobody knew when it would be tried again."""
    h = Story(in_flight=5, idempotence=False)
    h.send(1, 10, outcome=INFO)
    later = h.send(1, 11, 0)
    h.poll(2, (0, 11), (1, 10))
    h.expect("nonmonotonic-send", later, doubtful=True)
    h.expect("reordered", 11, doubtful=True)
    return h


@has("nonmonotonic-send")
def the_next_client_instance_overtakes_the_last():
    """The same process sends with a new client: told, but two clients have no order between them."""
    h = Story(idempotence=True)
    with h.together():
        h.send(1, 10, 1, producer=4)
        later = h.send(1, 11, 0, producer=5)
    h.poll(2, (0, 11), (1, 10))
    h.expect("nonmonotonic-send", later, doubtful=True)
    return h


@has("nonmonotonic-send")
def an_offset_belongs_to_the_smallest_of_its_values():
    """At offset 5 one was told 10 and one read 20: it is the place of 10, which 11 comes before, and 20 has none."""
    h = Story(acks="1", in_flight=1)
    with h.together():
        h.send(1, 10, 5)
        h.send(2, 20)
        later = h.send(1, 11, 4)
        h.send(2, 21, 3)
    h.poll(3, (3, 21), (4, 11), (5, 20))
    h.expect("nonmonotonic-send", later)
    h.expect("reordered", 11)
    h.expect("inconsistent-offsets", 5)
    h.expect("ack-conflict", 5)
    h.expect("unseen", 10)
    return h


@lacks("nonmonotonic-send")
def two_processes_are_stored_in_any_order():
    """Between two processes nothing is promised."""
    h = Story(in_flight=1)
    with h.together():
        h.send(1, 10, 1)
        h.send(2, 11, 0)
    h.poll(3, (0, 11), (1, 10))
    return h


@lacks("nonmonotonic-send")
def a_failed_send_between_is_passed_over():
    """The failed send is not in the log, and no neighbour."""
    h = Story(in_flight=1)
    h.send(1, 10, 0)
    h.send(1, 11, outcome=FAIL)
    h.send(1, 12, 1)
    h.poll(2, (0, 10), (1, 12))
    return h


@lacks("nonmonotonic-send")
def a_retry_lies_behind_a_later_send():
    """Without idempotence 10 is stored again behind 11: its first place counts, but not for Jepsen."""
    h = Story(in_flight=1, idempotence=False)
    with h.together():
        h.send(1, 10, 0)
        later = h.send(1, 11, 1)
    read = h.poll(2, (0, 10), (1, 11), (2, 10))
    h.expect("duplicate", 10)
    h.expect("nonmonotonic-send", later, rules="jepsen")
    h.expect("reordered", 11, rules="jepsen")
    h.expect("int-nonmonotonic-poll", read, 1, rules="jepsen")
    h.expect("G0", 1, rules="jepsen")
    return h


@lacks("nonmonotonic-send")
def an_assign_parts_the_sends():
    """The process dropped the partition and took it up again between the two."""
    h = Story(in_flight=1)
    h.assign(1, 0)
    with h.together():
        h.send(1, 10, 1)
        h.assign(1)
        h.assign(1, 0)
        h.send(1, 11, 0)
    h.poll(2, (0, 11), (1, 10))
    h.expect("reordered", 11)
    return h


@has("reordered")
def two_sends_of_one_key_swapped():
    """Sent later, stored earlier, with one request in flight."""
    h = Story(in_flight=1)
    with h.together():
        h.send(1, 10, 1, key=7)
        later = h.send(1, 11, 0, key=7)
    h.poll(2, (0, 11), (1, 10))
    h.expect("reordered", 11)
    h.expect("nonmonotonic-send", later)
    return h


@has("reordered")
def two_values_overtook_one():
    """10 lies behind all that were sent after it: each of those is one instance, a later one behind it is none."""
    h = Story(idempotence=True)
    with h.together():
        h.send(1, 10, 2, key=7)
        second = h.send(1, 11, 0, key=7)
        h.send(1, 12, 1, key=7)
        h.send(1, 13, 3, key=7)
    h.poll(2, (0, 11), (1, 12), (2, 10), (3, 13))
    h.expect("reordered", 11)
    h.expect("reordered", 12)
    h.expect("nonmonotonic-send", second)
    return h


@has("reordered")
def reordered_though_no_neighbours_are():
    """With sends of another key between them no two neighbours of the process are swapped, those of the key are."""
    h = Story(idempotence=True)
    with h.together():
        h.send(1, 10, 5, key=7)
        h.send(1, 20, outcome=INFO, key=8)
        h.send(1, 11, 4, key=7)
    h.poll(2, (4, 11), (5, 10))
    h.expect("reordered", 11)
    return h


@has("reordered")
def one_process_with_two_clients():
    """The sends of client 3 are swapped around one of client 4."""
    h = Story(idempotence=True)
    with h.together():
        h.send(1, 10, 1, producer=3)
        h.send(1, 20, 2, producer=4)
        last = h.send(1, 11, 0, producer=3)
    h.poll(2, (0, 11), (1, 10), (2, 20))
    h.expect("reordered", 11)
    h.expect("nonmonotonic-send", last, doubtful=True)
    return h


@lacks("reordered")
def two_keys_may_be_stored_in_any_order():
    """Order is looked at for each record key; that the process's sends are swapped is told as such."""
    h = Story(in_flight=1)
    with h.together():
        h.send(1, 10, 1, key=7)
        later = h.send(1, 11, 0, key=8)
    h.poll(2, (0, 11), (1, 10))
    h.expect("nonmonotonic-send", later)
    return h


@lacks("reordered")
def one_key_in_two_partitions():
    """Places of two partitions have no order between them."""
    h = Story(in_flight=1)
    h.send(1, 10, 5, key=7)
    h.send(1, 11, 0, key=7, part=1)
    h.poll(2, (5, 10), got(0, 11, part=1))
    return h


@lacks("reordered")
def two_clients_may_overtake_each_other():
    """The same key, two client instances."""
    h = Story(idempotence=True)
    with h.together():
        h.send(1, 10, 1, key=7)
        h.send(2, 11, 0, key=7)
    h.poll(3, (0, 11), (1, 10))
    return h


@lacks("reordered")
def a_failed_send_has_no_order():
    """It is read, which is another matter."""
    h = Story(idempotence=True)
    with h.together():
        h.send(1, 10, outcome=FAIL, key=7)
        h.send(1, 11, 0, key=7)
    read = h.poll(2, (0, 11), (1, 10))
    h.expect("G1a", 10, read, 1)
    return h


def _timed() -> Story:
    """Values 10, 11, 12 at offsets 0, 4, 8, with the timestamps 100, 200, 300; all read by process 9."""
    h = Story()
    for offset, value in ((0, 10), (4, 11), (8, 12)):
        h.send(1, value, offset)
    h.poll(9, got(0, 10, timestamp=100), got(4, 11, timestamp=200), got(8, 12, timestamp=300))
    return h


@has("stale-time-index")
def a_look_up_answers_too_late_an_offset():
    """Asked for 150 the broker passes over the message of 200."""
    h = _timed()
    h.expect("stale-time-index", h.lookup(2, 150, 8))
    return h


@has("stale-time-index")
def a_look_up_answers_too_early_an_offset():
    """Asked for 150 the broker answers the message of 100."""
    h = _timed()
    h.expect("stale-time-index", h.lookup(2, 150, 0))
    return h


@has("stale-time-index")
def a_look_up_answers_that_there_is_none():
    """The message of 300 had been read before."""
    h = _timed()
    h.expect("stale-time-index", h.lookup(2, 300, None))
    return h


@has("stale-time-index")
def a_look_up_answers_an_offset_nobody_knows():
    """Nothing is known of offset 9, but the message of 300 lies before it; who read that came later."""
    h = Story()
    h.send(1, 10, 8)
    stale = h.lookup(2, 250, 9)
    h.poll(9, got(8, 10, timestamp=300))
    h.expect("stale-time-index", stale)
    return h


@lacks("stale-time-index")
def a_look_up_answers_the_first_of_that_time():
    """Exactly that time, a time between, and a time before all."""
    h = _timed()
    h.lookup(2, 200, 4)
    h.lookup(2, 201, 8)
    h.lookup(2, 1, 0)
    return h


@lacks("stale-time-index")
def there_is_none_of_that_time():
    """Nothing is as late as asked for, or it came later; and a look-up that failed answers nothing."""
    h = _timed()
    h.lookup(2, 301, None)
    h.lookup(2, 100, None, outcome=FAIL)
    h.lookup(2, 350, None)
    h.send(1, 13, 9)
    h.poll(9, got(9, 13, timestamp=400))
    return h


@lacks("stale-time-index")
def clocks_of_clients_differ():
    """A message of 500 lies before one of 300: the first in the log is the answer, not the first in time."""
    h = Story()
    h.send(1, 10, 0)
    h.send(2, 11, 1)
    h.poll(9, got(0, 10, timestamp=500), got(1, 11, timestamp=300))
    h.lookup(3, 250, 0)
    h.lookup(3, 400, 0)
    return h


@lacks("stale-time-index")
def an_answer_of_which_nothing_is_known():
    """Offset 2 was never read, and nothing of that time lies before it."""
    h = _timed()
    h.lookup(2, 150, 2)
    return h


@lacks("stale-time-index")
def the_first_of_that_time_was_deleted():
    """Retention moved the log start past the message of 100."""
    h = _timed()
    h.lookup(2, 50, 4)
    h.final_read(got(4, 11, timestamp=200), got(8, 12, timestamp=300), log_start=4)
    return h


@lacks("stale-time-index")
def the_end_of_a_partition_is_no_answer():
    """Where a reader was told that the partition ends nothing is looked up."""
    h = _timed()
    h.poll(9, ended(9))
    h.lookup(2, 250, 8)
    return h
