from dataclasses import replace
from pathlib import Path

import pytest

from harness.prove import campaign
from harness.prove.attempts import FILE, SOUND, Attempt, Attempts
from harness.prove.cluster_arm import ClusterArm, Judgement
from harness.prove.defects import Defect
from harness.prove.table import as_json, html, markdown

LOSES = Defect("loses", Path("loses.py"), "It loses.\n\nMore.", "cluster", "calm", ("lost",))
SKIPS = Defect("skips", Path("skips.py"), "It skips.", "cluster", "calm", ("poll-skip",))


class Cluster:
    """Catches a defect in the cycle it is told; nothing is run."""

    def __init__(self, **cycles):
        self.cycles, self.sound = cycles, []

    def try_defect(self, defect, seed):
        cycles = self.cycles[defect.name]
        caught = cycles is not None
        return Attempt(
            defect.name, "cluster", defect.plan, seed, caught, "lost" if caught else "", "Value <1>.", cycles or 6, confirmed=caught or None
        )

    def try_sound(self, plan, seed, cycles):
        self.sound.append((plan, seed, cycles))
        return Attempt(SOUND, "cluster", plan, seed, False, cycles=cycles)


def prove(tmp_path, cluster, *seeds):
    attempts, said = Attempts(tmp_path), list[str]()
    campaign.prove([LOSES, SKIPS], seeds, attempts, cluster, said.append)
    return attempts, "\n".join(said)


def test_the_sound_broker_stands_what_the_slowest_catch_took_once_a_plan_and_seed(tmp_path):
    cluster = Cluster(loses=2, skips=4)
    attempts, said = prove(tmp_path, cluster, 1, 2)
    assert cluster.sound == [("calm", 1, 4), ("calm", 2, 4)]
    assert campaign.succeeded(attempts, [LOSES, SKIPS], [1, 2])
    assert "caught by lost" in said


def test_a_defect_that_escapes_is_a_failure(tmp_path):
    attempts, said = prove(tmp_path, Cluster(loses=1, skips=None), 1)
    assert not campaign.succeeded(attempts, [LOSES, SKIPS], [1])
    assert "ESCAPED" in said


def test_a_defect_may_escape_one_seed_in_three(tmp_path):
    attempts, _ = prove(tmp_path, Cluster(loses=1, skips=1), 1, 2, 3)
    attempts.add(replace(attempts.made["loses", "calm", 2], caught=False))
    assert campaign.succeeded(attempts, [LOSES, SKIPS], [1, 2, 3])
    attempts.add(replace(attempts.made["loses", "calm", 3], caught=False))
    assert not campaign.succeeded(attempts, [LOSES, SKIPS], [1, 2, 3])


@pytest.mark.parametrize(
    "wrong",
    [
        {"defect": SOUND, "caught": True, "cycles": 1},
        {"defect": SOUND, "caught": False, "cycles": 2, "undecided": 2},
        {"defect": "loses", "caught": True, "confirmed": False},
    ],
)
def test_a_sound_broker_that_is_accused_or_never_judged_or_a_catch_that_spark_does_not_confirm_is_a_failure(tmp_path, wrong):
    attempts, _ = prove(tmp_path, Cluster(loses=1, skips=1), 1)
    attempts.add(Attempt(arm="cluster", plan="calm", seed=1, **wrong))
    assert not campaign.succeeded(attempts, [LOSES, SKIPS], [1])


def test_what_was_done_is_not_done_again(tmp_path):
    prove(tmp_path, Cluster(loses=2, skips=4), 1)
    with (tmp_path / FILE).open("a") as file:
        file.write('{"defect": "torn')
    cluster = Cluster()
    attempts, said = prove(tmp_path, cluster, 1)
    assert (cluster.sound, said, len(attempts.made)) == ([], "", 3)


def test_the_tables_have_the_rates_as_found_and_cannot_be_broken_by_a_witness(tmp_path):
    attempts, _ = prove(tmp_path, Cluster(loses=2, skips=None), 1, 2)
    text = markdown([LOSES, SKIPS], attempts)
    assert "| It loses | cluster | calm | 2 of 2 | lost |" in text
    assert "| It skips | cluster | calm | 0 of 2 |" in text
    assert "| the sound broker |  | all of them | 0 of 2 |" in text
    page = html([LOSES, SKIPS], attempts)
    assert "Value &lt;1&gt;." in page
    assert page.count('class="escaped"') == 1
    assert '"defect": "skips"' in as_json(attempts)


def arm(tmp_path, monkeypatch, judgements, confirm=lambda run, anomaly: f"Spark says {anomaly}."):
    """A cluster arm whose runs are folders and whose judge says what it is told."""
    said = iter(judgements)
    seeds = []

    def run(prepared, results, display, interrupts):
        seeds.append(prepared.seed)
        folder = results / str(prepared.seed)
        folder.mkdir(parents=True)
        return type("Outcome", (), {"folder": folder, "interrupted": False})()

    monkeypatch.setattr("harness.prove.cluster_arm.run_scenario", run)
    return ClusterArm(tmp_path, lambda _: next(said), confirm, lambda _: None), seeds


def test_the_first_condemned_cycle_ends_it_and_only_that_run_is_kept(tmp_path, monkeypatch):
    judged = [Judgement(True, {}, 10), Judgement(None, {}, 20), Judgement(False, {"duplicate": "twice", "lost": "gone"}, 30)]
    cluster, seeds = arm(tmp_path, monkeypatch, judged)
    attempt = cluster.try_defect(LOSES, 7)
    assert (attempt.caught, attempt.by, attempt.witness, attempt.cycles, attempt.undecided, attempt.messages) == (
        True,
        "lost",
        "Spark says lost.",
        3,
        1,
        60,
    )
    assert seeds == [7001, 7002, 7003]
    assert [path.name for path in (tmp_path / "calm").iterdir()] == ["7003"]


def test_a_catch_that_nobody_confirms_is_told_in_the_first_judge_s_words(tmp_path, monkeypatch):
    cluster, _ = arm(tmp_path, monkeypatch, [Judgement(False, {"lost": "gone"}, 1)], confirm=lambda run, anomaly: None)
    attempt = cluster.try_defect(LOSES, 1)
    assert (attempt.caught, attempt.confirmed, attempt.witness) == (True, False, "gone")


def test_the_sound_broker_has_another_cycle_for_one_that_nobody_could_judge(tmp_path, monkeypatch):
    judged = [Judgement(None, {}, 1), Judgement(True, {}, 1), Judgement(True, {}, 1), Judgement(True, {}, 1)]
    cluster, seeds = arm(tmp_path, monkeypatch, judged)
    attempt = cluster.try_sound("calm", 1, 2)
    assert (attempt.caught, attempt.cycles, attempt.undecided, len(seeds)) == (False, 3, 1, 3)


def test_another_anomaly_than_expected_does_not_catch_a_defect_but_condemns_the_sound_broker(tmp_path, monkeypatch):
    cluster, _ = arm(tmp_path, monkeypatch, [Judgement(False, {"duplicate": "twice"}, 1)] * 3)
    assert not cluster.try_defect(LOSES, 1, most=2).caught
    assert cluster.try_sound("calm", 1, 1).by == "duplicate"
