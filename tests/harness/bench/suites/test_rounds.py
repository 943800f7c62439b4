"""The order of rounds: everything once a round, systems beside each other, and chance decides who is first."""

from collections import Counter

from harness.bench.suites.rounds import order_of_rounds


def test_in_every_round_each_case_is_measured_once_on_each_system():
    slots = order_of_rounds(5, [0, 2, 3], 2, seed=1)
    for number in range(1, 6):
        found = Counter((slot.case, slot.system) for slot in slots if slot.round == number)
        assert found == Counter({(case, system): 1 for case in (0, 2, 3) for system in (0, 1)})


def test_systems_follow_each_other_within_a_case():
    slots = order_of_rounds(5, [0, 1, 2], 2, seed=1)
    for one, two in zip(slots[::2], slots[1::2], strict=True):
        assert (one.round, one.case) == (two.round, two.case) and one.system != two.system


def test_the_order_differs_between_rounds_and_is_the_same_for_the_same_seed():
    slots = order_of_rounds(20, list(range(5)), 2, seed=7)
    orders = {tuple(slot.case for slot in slots if slot.round == number) for number in range(1, 21)}
    assert len(orders) > 1
    assert {slot.system for slot in slots[::2]} == {0, 1}
    assert slots == order_of_rounds(20, list(range(5)), 2, seed=7) != order_of_rounds(20, list(range(5)), 2, seed=8)
