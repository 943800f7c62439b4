"""Warm is when the rate no longer climbs, however slowly it did."""

from harness.bench.figures.warming import is_warm


def one_case(rates):
    return [(0, rate) for rate in rates]


def test_a_level_rate_is_warm_after_enough_loads_and_not_before():
    assert not is_warm(one_case([100] * 5))
    assert is_warm(one_case([100] * 6))


def test_a_system_that_compiles_itself_must_do_many_loads_before_it_counts_as_warm():
    assert not is_warm(one_case([100] * 39), compiles_itself=True)
    assert is_warm(one_case([100] * 40), compiles_itself=True)


def test_a_rate_that_climbs_by_little_in_each_load_is_not_warm():
    assert not is_warm(one_case(range(100, 200)))


def test_a_rate_that_climbed_and_has_levelled_off_is_warm():
    assert is_warm(one_case([*range(50, 180, 10), *[180] * 40]))


def test_noise_does_not_keep_it_from_being_warm():
    assert is_warm(one_case([100, 130, 90, 110, 95, 120, 105, 90, 100]))


def test_a_rate_that_falls_is_warm():
    assert is_warm(one_case([200, 190, 150, 150, 120, 100]))


def test_cases_of_different_rates_take_turns():
    level = [(number % 2, 100.0 if number % 2 else 9000.0) for number in range(12)]
    climbing = [(number % 2, (100.0 if number % 2 else 9000.0) * (1 + number / 10)) for number in range(12)]
    assert is_warm(level) and not is_warm(climbing)
