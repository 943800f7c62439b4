"""How long it will take: more to measure takes longer, and a warm-up counts as it is bounded."""

from harness.bench.suites.budget import in_words, seconds_needed
from harness.bench.suites.suite import read_suite


def test_the_shipped_suites_are_expected_to_take_what_they_say():
    assert seconds_needed(read_suite("quick"), [False], None) <= 180
    assert seconds_needed(read_suite("acks"), [False], None) <= 600


def test_a_second_system_more_than_doubles_it_and_a_jit_adds_its_warm_up():
    acks = read_suite("acks")
    alone = seconds_needed(acks, [False], None)
    beside = seconds_needed(acks, [False, True], None)
    assert beside > 2 * alone + 800
    assert seconds_needed(acks, [False, True], 60.0) < beside - 700


def test_it_is_told_in_words():
    assert in_words(61) == "about 61 seconds" and in_words(3600) == "about 60 minutes"
