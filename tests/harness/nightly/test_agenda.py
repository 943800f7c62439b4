import random

from harness.nightly.agenda import OVERHEAD_S, Agenda
from harness.nightly.ledger import Ledger
from tests.harness.nightly.nights import case, entry


def everything(cases, ledger, left_s=1e9):
    agenda = Agenda(cases, ledger, random.Random(1))
    found = []
    while (planned := agenda.next(left_s)) is not None:
        found.append(planned)
    return found, agenda.passed_over


def test_seeds_that_failed_come_first_then_what_is_longest_unproven(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.add(entry(case("old").key, began=100.0))
    ledger.add(entry(case("new").key, began=200.0))
    ledger.add(entry(case("new").key, seed=77, outcome="failed", began=300.0))
    found, _ = everything([case("new"), case("old"), case("never")], ledger)
    assert [planned.case.reference for planned in found] == ["new", "never", "old", "new"]
    assert (found[0].seed, found[0].why) == (77, "failed before")


def test_a_second_round_of_seeds_begins_when_every_case_had_its_turn(tmp_path):
    found, _ = everything([case("a", seeds=2), case("b"), case("c", seeds=2)], Ledger(tmp_path))
    assert [planned.case.reference for planned in found] == ["a", "b", "c", "a", "c"]
    assert len({planned.seed for planned in found}) == 5


def test_what_does_not_fit_is_passed_over_for_what_does(tmp_path):
    found, passed_over = everything([case("long", 600.0), case("short", 10.0)], Ledger(tmp_path), 10.0 + OVERHEAD_S)
    assert [planned.case.reference for planned in found] == ["short"]
    assert [planned.case.reference for planned in passed_over] == ["long"]


def test_a_case_is_expected_to_take_as_long_as_the_last_time(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.add(entry(case("quick", 600.0).key, seconds=20.0))
    found, _ = everything([case("quick", 600.0)], ledger, 20.0)
    assert len(found) == 1
