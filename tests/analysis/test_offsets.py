from tests.analysis.hand_made import FAIL, INFO, Hand, identities, names, sentence

CONFLICTS = ("inconsistent-offsets", "ack-conflict", "read-conflict")


def test_an_offset_acknowledged_for_one_value_and_polled_with_another():
    hand = Hand()
    hand.send(17, 9, process=3, op=5)
    hand.send(21, None)
    hand.poll((9, 21), process=8)
    found = hand.find()
    assert names(found, CONFLICTS) == {"inconsistent-offsets", "ack-conflict"}
    expected = (
        "Offset 9 has 2 values: value 17 was acknowledged there to process 3 (op 5, 5.000 s) "
        "and value 21 was polled there by process 8 (op 7, 7.500 s)."
    )
    assert sentence(found, "inconsistent-offsets") == sentence(found, "ack-conflict") == expected
    assert found["ack-conflict"].witnesses[0].offset == 9


def test_an_offset_polled_with_two_values_whatever_became_of_the_polls():
    hand = Hand()
    hand.send(17)
    hand.send(21)
    hand.poll((9, 17), outcome=FAIL)
    hand.poll((9, 21), outcome=INFO)
    found = hand.find()
    assert names(found, CONFLICTS) == {"inconsistent-offsets", "read-conflict"}
    assert sentence(found, "read-conflict") == (
        "Offset 9 has 2 values: value 17 was polled there by process 2 (op 3, 3.500 s) "
        "and value 21 was polled there by process 2 (op 4, 4.500 s)."
    )


def test_two_acknowledgements_of_one_offset_are_inconsistent_and_neither_of_the_others():
    hand = Hand()
    hand.send(17, 9)
    hand.send(21, 9)
    assert names(hand.find(), CONFLICTS) == {"inconsistent-offsets"}


def test_the_offset_of_a_failed_or_forgotten_send_counts_for_nothing():
    hand = Hand()
    hand.send(17, 9, FAIL)
    hand.send(18, 9, INFO)
    hand.send(21, 9)
    hand.poll((9, 21))
    assert names(hand.find(), CONFLICTS) == set()


def test_the_offset_of_an_unfinished_send_counts_once_its_operation_is_known_to_have_taken_effect():
    hand = Hand()
    op = hand.send(17, 9, INFO)
    hand.send(18, 10, INFO, op=op)
    hand.poll((9, 21), (10, 18))
    assert identities(hand.find(), "ack-conflict") == [(9,)]


def test_several_conflicts_are_several_instances():
    hand = Hand()
    for number in range(12):
        hand.send(100 + number, number)
        hand.poll((number, 200 + number))
    found = hand.find()
    assert found["ack-conflict"].count == 12
    assert identities(found, "ack-conflict") == [(number,) for number in range(10)]


def test_a_value_at_two_offsets_is_a_duplicate():
    hand = Hand()
    hand.send(17, 9, process=3)
    hand.poll((9, 17), (12, 17), process=8)
    assert sentence(hand.find(), "duplicate") == (
        "Value 17, sent by process 3 (op 1, 1.000 s), lies at offsets 9 and 12: at 9 value 17 was acknowledged there to "
        "process 3 (op 1, 1.000 s) and at 12 value 17 was polled there by process 8 (op 2, 2.500 s)."
    )


def test_a_value_read_twice_at_its_offset_is_none():
    hand = Hand()
    hand.send(17, 9)
    hand.poll((9, 17))
    hand.poll((9, 17))
    assert "duplicate" not in hand.find()


def test_a_phantom_may_be_a_duplicate():
    hand = Hand()
    hand.poll((3, 99), (5, 99))
    assert identities(hand.find(), "duplicate") == [(99,)]
