import os
from collections import Counter

import pytest

from broker_impl.quorum.raft import HardState, Raft
from tests.broker_impl.quorum.raft_figure_eight import figure_eight
from tests.broker_impl.quorum.raft_simulation import simulate

SCHEDULES = int(os.environ.get("RAFT_SCHEDULES", "300"))
STEPS = 3000
SIZES = (3, 5, 3, 2, 4, 3, 5, 1)
MUST_HAPPEN = {
    "elections",
    "commits",
    "partitions",
    "one-way cuts",
    "stalls",
    "kills",
    "power losses",
    "leaders hunted",
    "leaders that hand over",
    "ends while writing",
    "unsynced writes lost",
    "torn tails",
    "truncations",
    "snapshot chunks",
    "snapshots installed",
    "elections after a silence",
}


class ForgetsItsVote(Raft):
    """Remembers the term over a restart, but not whom it voted for."""

    def _durable_state(self) -> HardState:
        return HardState(self.term, None)


class CountsOldEntries(Raft):
    """Takes an entry of an earlier term for committed because a majority has it."""

    def _counts(self, index: int) -> bool:
        return True


class ForgetsWhomItHeard(Raft):
    """Takes the time before its start for silence."""

    def __init__(self, *given) -> None:
        super().__init__(*given)
        self._heard_leader_at = float("-inf")


def play(seeds):
    coverage: Counter[str] = Counter()
    for seed in seeds:
        outcome = simulate(seed, SIZES[seed % len(SIZES)], STEPS)
        assert outcome.violation is None, f"seed {seed}: {outcome.violation}\n" + "\n".join(outcome.story)
        coverage += outcome.coverage
    return coverage


@pytest.mark.parametrize("first", range(0, SCHEDULES, 100))
def test_no_schedule_breaks_a_promise_and_all_kinds_of_trouble_take_place(first):
    coverage = play(range(first, first + 100))
    assert set(coverage) >= MUST_HAPPEN


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("thousand", range(10))
def test_no_schedule_of_ten_thousand_breaks_a_promise(thousand):
    play(range(10_000 + thousand * 1000, 11_000 + thousand * 1000))


def test_a_schedule_is_repeatable_from_its_seed():
    assert simulate(5, 3, 1000) == simulate(5, 3, 1000)


def test_a_raft_that_forgets_its_vote_is_caught():
    found = (simulate(seed, 5, STEPS, ForgetsItsVote).violation for seed in range(150))
    assert "voted for" in next(filter(None, found), "nothing found")


def test_a_raft_that_makes_silences_too_long_is_caught():
    found = (simulate(seed, 5, STEPS, ForgetsWhomItHeard).violation for seed in range(150))
    assert "says nobody was since" in next(filter(None, found), "nothing found")


def test_a_disk_that_does_not_sync_is_caught():
    assert any(simulate(seed, 3, STEPS, sync_works=False).violation for seed in range(20))


@pytest.mark.parametrize("seed", range(5))
def test_a_raft_that_counts_old_entries_is_caught_by_the_story_of_figure_eight(seed):
    assert "without entry 2 committed in term 3" in (figure_eight(seed, CountsOldEntries).violation or "nothing found")


@pytest.mark.parametrize("seed", range(5))
def test_the_story_of_figure_eight_does_a_sound_raft_no_harm(seed):
    assert figure_eight(seed).violation is None
