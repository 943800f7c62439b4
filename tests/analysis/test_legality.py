"""A history that cannot have happened is told from one that can."""

import pytest

from analysis.columns import Rows
from analysis.legality import SHOWN, add_up, illegal_rows
from harness.history.schema import Outcome
from tests.analysis.histories import MS, NAMES, poll, send, table


def found(*rows):
    return illegal_rows(Rows(table(*rows), NAMES))


def told(*rows):
    illegal = found(*rows)
    assert illegal.count == 1
    return illegal.sentences[0]


def test_pipelined_sends_and_polls_one_after_the_other_are_fine():
    sends = [send(1, 0, 9 * MS), send(2, MS, 3 * MS), send(3, MS, None, Outcome.INFO)]
    assert found(*sends, poll(1, 0, 2 * MS, process=1, op=11), poll(2, 2 * MS, 2 * MS, process=1, op=12)).count == 0


def test_rows_of_one_operation_do_not_overlap_each_other():
    assert found(*(poll(value, 0, 2 * MS, process=1, op=11, micro=value) for value in range(3))).count == 0


def test_nothing_ends_before_it_began():
    assert told(send(1, 5, 4, process=3)) == "operation 1 of process 3 ended before it began"


def test_what_took_effect_has_ended():
    assert told(send(7, 5, None)) == "operation 7 of process 0 took effect and never ended"


def test_who_polls_does_one_thing_at_a_time():
    overlapping = (poll(1, 0, 5, process=1, op=11), poll(2, 4, 6, process=1, op=12))
    assert told(*overlapping) == "operation 12 of process 1 began before its process's last one had ended"
    assert found(overlapping[0], overlapping[1] | {"process": 2}).count == 0


@pytest.mark.parametrize("order", [1, -1])
def test_times_do_not_run_back_whatever_the_order_of_the_rows(order):
    rows = [send(1, 10, 20, process=70_000), send(2, 5, 20, process=70_000), send(3, 0, 1)][::order]
    assert "operation 2 of process 70000 was called after another of its process and began before it" in told(*rows)


def test_words_are_read_by_name():
    names = NAMES | {"outcome": ["info", "ok", "fail"]}
    assert illegal_rows(Rows(table(send(1, 0, None, Outcome(0))), names)).count == 0
    assert illegal_rows(Rows(table(send(1, 0, None, Outcome(1))), names)).count == 1


def test_counts_add_up_and_only_a_few_are_told():
    many = [found(*(send(number, 5, 4) for number in range(start, start + 5))) for start in (0, 5)]
    assert add_up(many).count == 10
    assert len(add_up(many).sentences) == SHOWN


def test_no_rows_are_legal():
    assert illegal_rows(Rows(table(), NAMES)).count == 0
