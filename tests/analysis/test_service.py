from dataclasses import replace

import numpy as np

from analysis.service import KEPT, Gap, effects, gaps_of, longest
from harness.history.beside import PROVEN, Fault

S = 1_000_000_000


def fault(start, end):
    return Fault(1, "kill", "one", ["n1"], 0, start, end, None, None, PROVEN)


def test_the_longest_gap_that_overlaps_a_fault_is_its_unavailability():
    gaps = [Gap("t", 0, 2 * S, 5 * S), Gap("t", 1, 0, 9 * S), Gap("t", 2, 20 * S, 60 * S)]
    (found,) = effects([fault(4 * S, 6 * S)], gaps)
    assert (found.unavailable, found.partitions) == (9 * S, 2)


def test_recovery_lasts_from_the_end_of_the_fault_until_the_last_partition_has_service_again():
    gaps = [Gap("t", 0, 2 * S, 5 * S), Gap("t", 1, 2 * S, 9 * S)]
    assert effects([fault(S, 6 * S)], gaps)[0].recovery == 3 * S
    assert effects([fault(S, 6 * S)], gaps[:1])[0].recovery == 0


def test_recovery_is_unknown_where_service_never_returned_or_the_fault_never_ended():
    assert effects([fault(S, 6 * S)], [Gap("t", 0, 2 * S, 9 * S, open=True)])[0].recovery is None
    assert effects([fault(S, None)], [Gap("t", 0, 2 * S, 9 * S)])[0].recovery is None


def test_a_fault_that_struck_nobody_has_no_effect():
    assert effects([fault(None, None)], [Gap("t", 0, 0, S)]) == []


def gaps(*sends):
    """Each invoked, ended, and whether it was acknowledged; in seconds."""
    invoked, ended = (np.array([send[place] * S for send in sends], np.int64) for place in (0, 1))
    acknowledged = np.array([end * S for _, end, ok in sends if ok], np.int64)
    return [(gap.start / S, gap.end / S, gap.open) for gap in gaps_of("t", 0, invoked, ended, acknowledged)]


def test_waiting_for_the_first_acknowledgement_counts_from_the_first_attempt():
    assert gaps((1, 4, True), (2, 4, True)) == [(1, 4, False)]
    assert gaps() == []


def test_a_gap_begins_with_the_last_acknowledgement_while_another_send_is_under_way():
    assert gaps((1, 1.1, True), (1, 5, True)) == [(1.1, 5, False)]


def test_a_partition_that_nobody_writes_to_is_not_away():
    assert gaps((1, 1.1, True), (50, 50.1, True)) == []
    assert gaps((1, 1.1, True), (50, 53, True)) == [(50, 53, False)]


def test_what_is_given_up_after_the_last_acknowledgement_is_a_gap_that_stays_open():
    assert gaps((1, 1.1, True), (2, 12, False)) == [(2, 12, True)]


def test_faults_at_work_between_the_end_of_one_and_its_recovery_are_named():
    one, other, later = (replace(fault(start * S, end * S), id=number) for number, start, end in ((1, 1, 2), (2, 3, 4), (3, 9, 10)))
    found = effects([one, other, later], [Gap("t", 0, S, 5 * S)])
    assert [effect.meanwhile for effect in found] == [(2,), (), ()]


def test_of_many_gaps_the_longest_are_remembered():
    found = longest(Gap("t", part, 0, S + part) for part in range(KEPT + 10))
    assert len(found) == KEPT and found[0].part == KEPT + 9 and found[-1].part == 10
