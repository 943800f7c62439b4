"""Every hand-made history through the real thing: Spark finds in it what is there and nothing else, and the second checker agrees."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.anomalies import ANOMALIES
from analysis.checking import Checked, buckets_of, check_histories, check_history
from analysis.families import CORE
from analysis.findings import SHOWN, Finding, Witness
from analysis.judging import Question, context_for, verdict_on
from analysis.material import Material, read_material
from analysis.second_opinion import differences, may_be_asked
from analysis.spark import Spark, SparkOptions, open_spark
from analysis.synth import INJECTIONS, synthesise
from analysis.tasks import Room, divide
from harness.history.beside import Batch
from harness.history.readers import history_files
from harness.history.schema import Function
from tests.analysis.corpus import ALL, Case
from tests.analysis.corpus.story import Expected, Rules, Story, sent


@pytest.fixture(scope="module")
def spark():
    with open_spark(SparkOptions("local[2]")) as started:
        yield started


@pytest.fixture(scope="module")
def corpus(spark, tmp_path_factory) -> dict[str, list[tuple[Material, Question, Expected, Checked]]]:
    """All of them at once, by the rules by which they differ: what starting a task costs is paid twice and not five hundred times."""
    asked: list[tuple[str, Material, Question, Expected]] = []
    folder = tmp_path_factory.mktemp("corpus")
    for case in ALL:
        for rules, expected in distinct(case.write(folder / case.name)).items():
            asked.append((case.name, read_material(folder / case.name), Question(rules), expected))
    several = check_histories(spark, [(material, context_for(material, question)) for _, material, question, _ in asked])
    found: dict[str, list[tuple[Material, Question, Expected, Checked]]] = {case.name: [] for case in ALL}
    for (name, material, question, expected), checked in zip(asked, several, strict=True):
        found[name].append((material, question, expected, checked))
    return found


@pytest.mark.parametrize("case", ALL, ids=str)
def test_spark_finds_in_a_hand_made_history_what_is_in_it_and_the_second_checker_agrees(case: Case, corpus):
    for material, question, expected, checked in corpus[case.name]:
        found = checked.findings
        assert {name: (one.count, one.doubtful) for name, one in found.items()} == counts(expected, found)
        for name, one in found.items():
            told = {instance(name, witness) for witness in one.witnesses}
            assert told <= expected.found[name] and len(told) == min(SHOWN, one.count)
        assert differences(material, found, question) == []


def test_a_bucket_that_cannot_be_read_is_named_and_the_rest_is_checked(tmp_path, spark):
    """Two partitions in two buckets, recorded by two workers; the bytes of one bucket of one file are spoilt."""
    story = Story()
    for value, part in ((10, 0), (11, 1)):
        story.send(1, value, 0, part=part)
        story.poll(2, (0, value + 100), (0, value + 200)) if part == 0 else None
    story.write(tmp_path)
    path = history_files(tmp_path)[0]
    data = bytearray(path.read_bytes())
    data[4:100] = b"\xff" * 96
    path.write_bytes(data)
    checked = check(spark, tmp_path)
    assert len(checked.problems) == 1
    assert f"{path}: bucket " in checked.problems[0] and "cannot be read" in checked.problems[0]
    assert sum(checked.measures.causes.values(), checked.measures.cells.total) > 0


def test_a_partition_that_only_the_dumps_tell_of_is_checked(tmp_path, spark):
    story = Story()
    story.send(1, 10, 0)
    story.replica("n1", (0, 0, 1, 7), high_watermark=1, topic="elsewhere")
    story.replica("n2", (0, 0, 1, 8), high_watermark=1, topic="elsewhere")
    story.write(tmp_path)
    found = check(spark, tmp_path).findings["replica-divergence"]
    assert [(witness.topic, witness.part, witness.identity) for witness in found.witnesses] == [("elsewhere", 0, (0,))]


@pytest.mark.parametrize("epoch, valid", [(1, True), (0, False)])
def test_a_duplicate_under_two_producer_epochs_is_the_client_s_own(tmp_path, spark, epoch, valid):
    story = Story(idempotence=True)
    story.send(1, 10, 0)
    story.final_read((0, 10), (1, 10))
    story.replica("n1", (0, 0, 1, 7), (1, 1, 1, 8), high_watermark=2)
    story._batches = [replace(batch, producer_id=5, producer_epoch=0 if batch.base_offset == 0 else epoch) for batch in story._batches]
    story.write(tmp_path)
    material = read_material(tmp_path)
    assert material.batches.path == tmp_path / Batch.FILE
    assert verdict_on(material, check(spark, tmp_path), Question()).valid is valid


def test_a_gap_of_service_in_which_the_harness_stood_still_is_undecided(tmp_path, spark):
    story = Story(progress=True, replicas=3, min_insync=2)
    story.send(1, 10, 0, at=0.0, until=0.1)
    story.send(1, 11, 1, at=0.2, until=40.0)
    story.stall(10.0, 11.0)
    story.write(tmp_path)
    checked = check(spark, tmp_path)
    assert ("unavailable" in checked.findings, checked.undecided) == (False, 1)


def test_the_second_checker_is_asked_about_whole_and_small_runs_only(tmp_path):
    story = Story()
    story.txn(1, sent(10, 0), sent(11, 0, part=1))
    story.write(tmp_path)
    material = read_material(tmp_path)
    assert may_be_asked(material)
    assert not may_be_asked(replace(material, plan=None))
    assert not may_be_asked(replace(material, problems=("a part is missing",)))


def test_a_difference_between_the_checkers_is_told(tmp_path):
    story = Story()
    story.send(1, 10, 0)
    story.final_read(end=0)
    story.write(tmp_path)
    material = read_material(tmp_path)
    told = differences(material, {}, Question())
    assert "lost: Spark finds 0, the reference 1, as ('t', 0, 10)" in told


def test_no_bucket_is_left_out(tmp_path):
    story = Story()
    for part in range(50):
        story.send(1, part, 0, part=part)
    story.poll(2)
    story.write(tmp_path)
    buckets = buckets_of(read_material(tmp_path))
    assert -1 in buckets and len(buckets) > 20 and sum(buckets.values()) == 51
    assert sorted(bucket for task in divide(buckets, 3) for bucket in task) == sorted(buckets)


def test_what_is_too_large_for_its_share_of_the_memory_has_all_of_it_and_is_checked_bit_by_bit_if_need_be(tmp_path, spark, monkeypatch):
    synthesise(tmp_path / "run", 60_000, dict.fromkeys(INJECTIONS, 1), 5, partitions=20, hot=0.6)
    whole = check(spark, tmp_path / "run")
    monkeypatch.setattr("analysis.checking.room_in", lambda options: Room(shared=3_000, alone=10_000))
    bits = check(spark, tmp_path / "run")
    assert {name: bits.findings[name].count for name in CORE} == {name: whole.findings[name].count for name in CORE}
    assert not whole.unjudged and "synthetic-0 has " in bits.unjudged[0]
    assert bits.measures.count(Function.SEND) == whole.measures.count(Function.SEND)


def check(spark: Spark, run: Path) -> Checked:
    material = read_material(run)
    return check_history(spark, material, context_for(material, Question()))


def distinct(expected: dict[Rules, Expected]) -> dict[Rules, Expected]:
    """Where both rules expect the same, one of them is enough here: the checks' own tests try both."""
    ours, jepsen = expected["highwater"], expected["jepsen"]
    return {"highwater": ours, "jepsen": jepsen} if ours != jepsen else {"highwater": ours}


def counts(expected: Expected, found: Mapping[str, Finding]) -> dict[str, tuple[int, int]]:
    """Whose a duplicate is (a doubt of ours) is not expected by the corpus."""
    doubtful = {name: len(expected.doubtful.get(name, ())) for name in expected.found}
    if "duplicate" in found:
        doubtful["duplicate"] = found["duplicate"].doubtful
    return {name: (len(instances), doubtful[name]) for name, instances in expected.found.items()}


def instance(name: str, witness: Witness) -> tuple[str | int | None, ...]:
    return (*((None, None) if ANOMALIES[name].across else (witness.topic, witness.part)), *witness.identity)
