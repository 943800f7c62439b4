from harness.nightly.ledger import FILE, Ledger, outcome_of
from tests.harness.nightly.nights import entry

CASE = entry().case


def test_what_was_added_is_there_the_next_night(tmp_path):
    first = entry(reached=("leader-changed",), recovery_s=2.5)
    Ledger(tmp_path).add(first)
    Ledger(tmp_path).add(entry(night="2026-11-19"))
    assert Ledger(tmp_path).entries[0] == first
    assert Ledger(tmp_path).nights() == ["2026-11-18", "2026-11-19"]
    assert Ledger(tmp_path).of_night("2026-11-18") == [first]


def test_a_torn_line_is_left_out_and_the_rest_is_kept(tmp_path):
    Ledger(tmp_path).add(entry())
    with (tmp_path / FILE).open("a") as file:
        file.write('{"night": "2026')
    assert Ledger(tmp_path).entries == [entry()]


def test_a_seed_fails_until_it_passes(tmp_path):
    ledger = Ledger(tmp_path)
    for seed, outcome in ((1, "failed"), (2, "failed"), (1, "passed"), (3, "cannot tell")):
        ledger.add(entry(seed=seed, outcome=outcome))
    assert ledger.failing_seeds(CASE) == [2]


def test_only_a_run_that_passed_proves(tmp_path):
    ledger = Ledger(tmp_path)
    assert ledger.last_proven(CASE) is None
    ledger.add(entry(began=100.0))
    ledger.add(entry(began=200.0, outcome="failed"))
    assert ledger.last_proven(CASE) == 100.0


def test_exit_codes_are_outcomes():
    assert [outcome_of(code) for code in (0, 1, 2, 254, 255, -9)] == ["passed", "failed", "cannot tell", "error", "error", "error"]
