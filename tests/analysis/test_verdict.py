import json

import pytest

from analysis.circumstances import Circumstances
from analysis.findings import Finding, Witness
from analysis.promises import forbidden
from analysis.settled import settle
from analysis.verdict import UNKNOWN, Promised, Verdict, as_data, as_json, from_data, judge, read_verdict, write_verdict
from harness.history.errors import MalformedFile

LOST = Finding("lost", 3, (Witness("Value 7 was acknowledged and is gone.", (7,), (1, 2), "orders", 0, 12),), doubtful=1)
SKIP = Finding("int-send-skip", 2, (Witness("Between 1 and 2 lies 3.", (4, 1), (4,), "orders", 0, 5, doubtful=True),), doubtful=1)


def verdict(valid: bool | str = False) -> Verdict:
    settled = settle(None)
    rulings = forbidden(settled, Circumstances())
    judged = judge({"int-send-skip": SKIP, "lost": LOST}, rulings)
    return Verdict(valid, ("2 messages are lost.",), Promised("highwater", settled, rulings), judged, checked_by=("spark",))  # type: ignore[arg-type]


def test_verdict_json_has_the_fields_of_its_contract():
    data = json.loads(as_json(verdict()))
    assert list(data) == ["version", "valid", "why", "promises", "anomalies", "coverage", "faults", "metrics", "checked_by"]
    assert (data["version"], data["valid"], data["why"]) == (1, False, ["2 messages are lost."])
    lost = data["anomalies"]["lost"]
    assert (lost["count"], lost["doubtful"], lost["forbidden"]) == (3, 1, True)
    assert lost["witnesses"] == [
        {
            "sentence": "Value 7 was acknowledged and is gone.",
            "topic": "orders",
            "part": 0,
            "offset": 12,
            "ops": [1, 2],
            "identity": [7],
            "doubtful": False,
        }
    ]
    assert data["promises"]["settings"]["acks"] == {"value": "all", "source": "assumed"}


@pytest.mark.parametrize("valid", [True, False, UNKNOWN])
def test_what_is_written_is_read_again(tmp_path, valid):
    written = verdict(valid)
    write_verdict(tmp_path, written)
    assert read_verdict(tmp_path) == written


def test_errors_come_first_and_doubtful_instances_are_none():
    judged = verdict().anomalies
    assert list(judged) == ["lost", "int-send-skip"]
    assert (judged["lost"].errors, judged["int-send-skip"].errors) == (2, 0)


@pytest.mark.parametrize(
    "spoil, said",
    [
        ({"version": 2}, "version 2"),
        ({"valid": 1}, "it may be true, false"),
        ({"valid": "perhaps"}, "it may be true, false"),
        ({"why": None}, "no sound field"),
        ({"anomalies": {"lost": {}}}, "no sound field 'witnesses'"),
    ],
)
def test_a_file_that_is_no_verdict_is_named_with_what_is_wrong(tmp_path, spoil, said):
    (tmp_path / "verdict.json").write_text(json.dumps(as_data(verdict()) | spoil))
    with pytest.raises(MalformedFile, match=said) as refused:
        read_verdict(tmp_path)
    assert "verdict.json" in str(refused.value)


def test_a_verdict_that_is_not_there_or_not_json_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(MalformedFile, match=r"verdict.json"):
        read_verdict(tmp_path)
    (tmp_path / "verdict.json").write_text("{")
    with pytest.raises(MalformedFile, match=r"verdict.json"):
        read_verdict(tmp_path)


def test_data_of_another_version_is_refused_before_anything_else_of_it_is_looked_at():
    with pytest.raises(ValueError, match="version 9"):
        from_data({"version": 9})
