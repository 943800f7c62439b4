"""What is kept, what is broken, and what nobody can tell."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.checking import Checked
from analysis.columns import Rows
from analysis.findings import Finding, Witness
from analysis.judging import Question, context_for, disputed, verdict_on
from analysis.legality import Illegal
from analysis.material import Material
from analysis.metrics import measure
from harness.history.beside import COVERED, PROVEN, UNPROVEN, Fault, Final
from harness.history.plan import Plan, Promises
from harness.history.readers import join_files
from harness.history.schema import Outcome
from tests.analysis.histories import MS, NAMES, send, table

SOUND = Checked(measures=measure(Rows(table(send(1, 0, MS)), NAMES)))
SILENT = replace(SOUND, measures=measure(Rows(table(send(1, 0, MS, Outcome.INFO)), NAMES)))
LOST = replace(SOUND, findings={"lost": Finding("lost", 1, (Witness("Value 1 is gone.", (1,), topic="t", part=0),))})
ILLEGAL = Illegal(1, ("operation 2 of process 1 ended before it began",))


def material(promises: Promises | None = None, **more) -> Material:
    plan = None if promises is None else Plan(1, promises, scenario={"settings": {"nodes": 3}})
    return Material(Path("run"), join_files([]), plan=plan, **more)


def final(last_read: int | None, end: int = 10, completed: int | None = 5, log_start: int = 0) -> Final:
    return Final("t", 0, log_start, end, last_read, 1, 0, completed)


def fault(state: str) -> Fault:
    return Fault(3, "kill", "leader", ["n1"], 0, 1, 2, '{"exit": 9}', None, state)


def requiring(state: str) -> Material:
    return replace(OURS, plan=Plan(1, Promises(acks="all"), scenario={"settings": {"expect": {"coverage": [state]}}}))


READ = (final(9),)
FOREIGN = material()
OURS = material(Promises(acks="all"), finals=READ)


def verdict(given=OURS, checked=SOUND, **question):
    return verdict_on(given, checked, Question(**question))


def test_a_sound_run_kept_its_promises():
    assert (verdict().valid, verdict().why) == (True, ("Nothing that was promised was broken in 1 acknowledged sends.",))
    assert verdict(FOREIGN).valid is True


def test_a_forbidden_anomaly_is_a_broken_promise_and_is_named_with_its_definition():
    broken = verdict(checked=LOST)
    assert broken.valid is False
    assert broken.why[0].startswith("lost, 1 times: acknowledged, and absent from a complete final read.")
    assert broken.anomalies["lost"].witnesses[0].sentence == "Value 1 is gone."


def test_an_allowed_one_is_reported_and_no_more():
    allowed = verdict(material(Promises(acks="1"), finals=READ), LOST)
    assert (allowed.valid, allowed.anomalies["lost"].forbidden) == (True, False)


def test_what_is_stated_goes_before_what_was_recorded():
    assert verdict(checked=LOST, stated=Promises(acks="0")).valid is True
    assert verdict(material(Promises(acks="1"), finals=READ), LOST, stated=Promises(acks="all")).valid is False


def test_jepsen_s_rules_do_not_look_for_it():
    assert verdict(checked=LOST, rules="jepsen").valid is True


@pytest.mark.parametrize(
    "given, checked, why",
    [
        (OURS, SILENT, "Not one send was acknowledged"),
        (replace(OURS, problems=("a.parquet: was cut off",)), SOUND, "could not be read: a.parquet: was cut off"),
        (OURS, replace(SOUND, problems=("b.parquet: bucket 3 cannot be read",)), "b.parquet: bucket 3"),
        (replace(OURS, faults=(fault(UNPROVEN),)), SOUND, r"not proven to have taken place: kill of leader \(fault 3\)"),
        (replace(OURS, finals=(final(8),)), SOUND, r"did not reach the end of t-0 \(read to 8, its end is 10\)"),
        (replace(OURS, finals=(final(None),)), SOUND, "nothing was read, its end is 10"),
        (replace(OURS, finals=(final(9, completed=None),)), SOUND, "did not reach the end"),
        (replace(OURS, finals=()), SOUND, "There was no final read"),
        (OURS, replace(SOUND, undecided=2), "stood still in 2 gaps of service"),
        (requiring("truncated"), SOUND, r"requires states that this run does not show: truncated \(not observable\)"),
    ],
)
def test_what_keeps_a_run_without_errors_from_being_called_sound(given, checked, why):
    told = verdict(given, checked)
    assert told.valid == "unknown"
    assert re.search(why, told.why[0])


@pytest.mark.parametrize(
    "given",
    [
        replace(OURS, faults=(fault(PROVEN), fault(COVERED))),
        replace(OURS, finals=(final(3), final(9))),
        replace(OURS, finals=(final(None, end=4, log_start=4),)),
    ],
)
def test_what_keeps_nobody_from_it(given):
    assert verdict(given).valid is True


def test_a_broken_promise_stays_broken_whatever_else_is_in_doubt():
    broken = verdict(replace(OURS, faults=(fault(UNPROVEN),)), LOST)
    assert broken.valid is False
    assert "not proven" in broken.why[1]


def test_an_illegal_history_condemns_the_harness_and_no_broker():
    told = verdict(checked=replace(LOST, illegal=ILLEGAL))
    assert told.valid == "unknown"
    assert told.why[0].startswith("The history cannot have happened") and ILLEGAL.sentences[0] in told.why[0]


def test_a_second_checker_that_disagrees_takes_the_verdict_back():
    assert disputed(verdict(), "reference", []).checked_by == ("spark", "reference")
    told = disputed(verdict(checked=LOST), "reference", ["lost: 1 here, 0 there"])
    assert (told.valid, told.checked_by) == ("unknown", ("spark",))
    assert "lost: 1 here, 0 there" in told.why[0]


def test_faults_are_told_with_their_proofs():
    assert verdict(replace(OURS, faults=(fault(PROVEN),))).faults[0]["proof"] == {"exit": 9}


@pytest.mark.parametrize(
    "promises, ordered",
    [
        (Promises(idempotence=True, in_flight=5), True),
        (Promises(idempotence=False, in_flight=1), True),
        (Promises(idempotence=False, in_flight=5), False),
        (Promises(), None),
    ],
)
def test_order_is_promised_by_idempotence_or_by_one_request_at_a_time(promises, ordered):
    assert context_for(material(promises), Question()).ordered is ordered
