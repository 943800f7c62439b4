"""What a verdict says of the service's return."""

from dataclasses import replace
from pathlib import Path

import pytest

from analysis import judge
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
