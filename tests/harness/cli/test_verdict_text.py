"""What a verdict says: errors with their witnesses, what is none in a line, and how soon service was back."""

from dataclasses import replace
from pathlib import Path

import pytest

from analysis import judge
from analysis.findings import Witness
from analysis.verdict import Judged
from harness.cli.verdict_text import summary
from tests.harness.cli.test_check import sound


def effect(fault: int, recovery: float | None, *meanwhile: int) -> dict:
    return {"id": fault, "recovery": recovery, "meanwhile": list(meanwhile)}


@pytest.fixture(scope="module")
def verdict(tmp_path_factory):
    return judge(sound(tmp_path_factory.mktemp("run")))


@pytest.mark.parametrize(
    "effects, line",
    [
        ([effect(1, 0.0), effect(2, 14.25, 3), effect(3, 4.0)], "14.2 s after a fault's end (fault 2); at most 4.0 s where no other"),
        ([effect(2, 14.25, 3), effect(4, None)], "14.2 s after a fault's end (fault 2)\n"),
        ([], None),
    ],
)
def test_the_slowest_return_is_told_and_the_slowest_that_nobody_disturbed(verdict, effects, line):
    told = summary(Path("somewhere"), replace(verdict, metrics={"faults": effects})) + "\n"
    assert ("service was back" in told) == (line is not None)
    assert line is None or f"service was back at most {line}" in told


@pytest.mark.parametrize("forbidden, doubtful, told", [(True, 0, True), (True, 2, False), (False, 0, False)])
def test_only_what_proves_an_error_is_told_at_length(verdict, forbidden, doubtful, told):
    witness = Witness("Value 7 lies at offsets 3 and 9.", ())
    found = {"duplicate": Judged(2, doubtful, forbidden, "for a reason", (witness,))}
    text = summary(Path("somewhere"), replace(verdict, anomalies=found))
    assert "duplicate: 2" in text
    assert (witness.sentence in text) == told
