"""A bucket looked at as a whole, partition by partition, and in pieces: the same is found wherever it can be."""

import sys
from dataclasses import replace

import pytest

from analysis import families
from analysis.bucket_tasks import Job, check_buckets
from analysis.findings import merge
from analysis.judging import Question, context_for
from analysis.material import read_material
from analysis.pieces import IN_PIECES
from analysis.synth import INJECTIONS, synthesise
from harness.history.schema import Function, Outcome

ROWS = 30_000


@pytest.fixture(scope="module")
def job(tmp_path_factory) -> Job:
    run = tmp_path_factory.mktemp("synthetic") / "run"
    synthesise(run, ROWS, dict.fromkeys(INJECTIONS, 2), 13, partitions=40, hot=0.8, rows_a_file=10_000)
    material = read_material(run)
    return Job(run, material.history, context_for(material, Question()))


def look(job: Job, most_rows: int):
    seen = check_buckets(replace(job, most_rows=most_rows), tuple(job.history.filled_buckets()))
    told = {
        name: (one.count, one.doubtful, [(each.topic, each.part, each.identity) for each in one.witnesses])
        for name, one in merge(seen.findings).items()
    }
    return seen, told


def measured(seen):
    cells = seen.measures.cells
    return cells.width, cells.keys.tolist(), cells.counts.tolist(), seen.measures.causes, seen.measures.gaps, seen.measures.operations


def test_partition_by_partition_everything_is_found_as_in_the_whole_bucket(job):
    whole, expected = look(job, sys.maxsize)
    fullest = max(job.history.rows_of(bucket) for bucket in job.history.filled_buckets())
    seen, found = look(job, fullest - 1)
    assert seen.unjudged == () and seen.problems == ()
    assert found == expected
    assert measured(seen) == measured(whole)
    assert seen.illegal == whole.illegal and seen.states == whole.states


@pytest.mark.parametrize("most_rows", [9_000, 2_500])
def test_in_pieces_everything_is_found_as_in_the_whole_bucket(job, most_rows):
    whole, expected = look(job, sys.maxsize)
    seen, found = look(job, most_rows)
    assert {name: told for name, told in found.items() if name in IN_PIECES} == {
        name: expected[name] for name in IN_PIECES if name in expected
    }
    assert {*families.CORE, "lost-write", "poll-skip", "nonmonotonic-send"} <= set(expected)
    for function, outcome in ((Function.SEND, Outcome.OK), (Function.POLL, Outcome.OK), (Function.SEND, Outcome.INFO)):
        assert seen.measures.count(function, outcome) == whole.measures.count(function, outcome)
    assert seen.measures.causes == whole.measures.causes
    assert seen.illegal.count == 0


def test_sends_and_polls_alone_are_judged_in_pieces_wholly(tmp_path):
    kinds = ("lost", "duplicate", "G1a", "phantom", "read-conflict", "ack-conflict", "reordered", "poll-skip", "corrupt")
    synthesise(tmp_path / "run", ROWS, dict.fromkeys(kinds, 3), 17, partitions=10, hot=0.9, rows_a_file=10_000)
    material = read_material(tmp_path / "run")
    job = Job(tmp_path / "run", material.history, context_for(material, Question()))
    _, expected = look(job, sys.maxsize)
    seen, found = look(job, 3_000)
    assert seen.unjudged == () and seen.spans is not None and len(seen.spans) == 0 and seen.spans.unsearched == 1
    assert found == expected and set(kinds) <= set(found)


def test_a_piece_holds_no_more_than_was_allowed_by_much(job):
    bucket = replace(job, most_rows=2_500).bucket(max(job.history.filled_buckets(), key=job.history.rows_of))
    ((spot, rows),) = bucket.too_large().items()
    sample, count = bucket.ranges_of(spot, "value")
    assert count == -(-rows // 2_500) and len(sample) > 100


def test_alone_nothing_is_measured(job):
    seen = check_buckets(replace(job, alone=True, names=families.CORE), tuple(job.history.filled_buckets()))
    assert seen.measures.cells.total == 0
    assert set(merge(seen.findings)) == set(families.CORE)
