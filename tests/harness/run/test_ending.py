"""Counts from the files of a small history, and what they do to the exit code."""

from harness.errors import CANNOT_TELL, DONE
from harness.history.beside import PROVEN, UNPROVEN, Fault
from harness.history.recorder import Polled, Recorder
from harness.history.schema import Outcome
from harness.run.display import PlainLines
from harness.run.ending import Counts, count, end_run
from harness.run.outcome import INTERRUPTED, RunOutcome, doubts_about_faults


def record(run, *, reads=(), sends=()):
    """Sends as (partition, value, outcome); reads as (partition, value)."""
    with Recorder(run, 0, segment_slots=64) as recorder:
        for number, (part, value, outcome) in enumerate(sends):
            slot = recorder.invoke_send(0, 0, number, 0, "t", part, None, value, None, number)
            if outcome is not None:
                recorder.complete(slot, outcome, None, None, None, None, number + 1)
        for number, (part, value) in enumerate(reads, start=1000):
            recorder.polled(1, number, [Polled("t", part, value, None, value)], number, number + 1)


def outcome_in(run, *doubts):
    return RunOutcome(run, "id", 1, finals_complete=True, doubts=doubts)


def test_messages_are_counted_by_outcome_over_all_buckets(tmp_path):
    ok, fail, info = Outcome.OK, Outcome.FAIL, Outcome.INFO
    sends = [(0, 1, ok), (1, 2, ok), (2, 3, ok), (2, 4, fail), (3, 5, info), (3, 6, None)]
    record(tmp_path, sends=sends, reads=[(0, 1), (1, 2), (1, 2), (3, 5)])
    assert count(tmp_path) == Counts(sends=6, acknowledged=3, failed=1, unknown=2, reads=4, never_read=1)


def test_a_value_read_from_another_partition_of_the_same_bucket_or_not_counts_by_its_bucket(tmp_path):
    record(tmp_path, sends=[(part, part, Outcome.OK) for part in range(40)], reads=[(part, part) for part in range(0, 40, 2)])
    assert count(tmp_path).never_read == 20


def test_a_run_with_acknowledgements_and_no_doubt_is_done(tmp_path):
    record(tmp_path, sends=[(0, 1, Outcome.OK)])
    said: list[str] = []
    assert end_run(outcome_in(tmp_path), PlainLines(said.append)).exit_code == DONE
    assert any("1 sends: 1 acknowledged" in line for line in said)


def test_nothing_acknowledged_means_that_nobody_can_tell(tmp_path):
    record(tmp_path, sends=[(0, 1, Outcome.INFO)])
    said: list[str] = []
    ended = end_run(outcome_in(tmp_path), PlainLines(said.append))
    assert (ended.exit_code, ended.doubts) == (CANNOT_TELL, ("nothing was acknowledged",))
    assert any("cannot tell: nothing was acknowledged" in line for line in said)


def test_an_interrupted_run_without_a_history_ends_as_interrupted(tmp_path):
    (tmp_path / "history").mkdir()
    ended = end_run(RunOutcome(tmp_path, "id", 1, interrupted=True), PlainLines(lambda _: None))
    assert (ended.exit_code, ended.doubts) == (INTERRUPTED, ())


def test_any_doubt_means_that_nobody_can_tell(tmp_path):
    assert outcome_in(tmp_path, "the final reads did not reach the end of every partition").exit_code == CANNOT_TELL


def test_only_unproven_faults_are_a_doubt():
    faults = tuple(Fault(number, "kill", "one", [], 0, None, None, None, None, state) for number, state in ((1, PROVEN), (2, UNPROVEN)))
    assert doubts_about_faults(faults) == ["fault 2 (kill on one) was not proven"]
