"""`./highwater test`: which checks are run, and what their outcome means."""

from pathlib import Path

import pytest

from harness.cli import test as command
from harness.errors import UserMistake


@pytest.fixture
def ran(monkeypatch):
    """The commands that would have been run; `outcome` says how each ends."""

    class Ran(dict[str, list[str]]):
        outcome: dict[str, int] = {}  # noqa: RUF012

        def run(self, name: str, arguments: list[str]) -> int:
            self[name] = arguments
            return self.outcome.get(name, 0)

    found = Ran()
    monkeypatch.setattr(command, "_run", found.run)
    return found


def test_everything_is_checked_and_the_tests_come_last(ran):
    assert command.main([]) == 0
    assert list(ran) == ["ruff", "mypy", "import-linter", "pytest"]


@pytest.mark.parametrize("failing", ["ruff", "mypy", "import-linter", "pytest"])
def test_any_failure_is_exit_code_1_and_stops_nothing(ran, failing):
    ran.outcome = {failing: 1}
    assert command.main([]) == 1
    assert len(ran) == 4


def test_paths_and_expressions_run_only_those_tests(ran, monkeypatch):
    monkeypatch.chdir(Path(__file__).parent)
    assert command.main(["test_test.py::test_x", "-k", "some words", "-x"]) == 0
    assert list(ran) == ["pytest"]
    assert ran["pytest"][-4:] == [f"{__file__}::test_x", "-k", "some words", "-x"]


def test_only_the_whole_of_the_short_tests_is_run_side_by_side(ran):
    side_by_side = "--numprocesses"
    assert command.main([]) == 0
    assert side_by_side in ran["pytest"]
    for arguments in (["--long"], ["-k", "words"], [str(Path(__file__))]):
        assert command.main(arguments) == 0
        assert side_by_side not in ran["pytest"]


def test_long_lifts_the_choice_of_short_tests(ran):
    assert command.main(["--long"]) == 0
    assert ran["pytest"][ran["pytest"].index("-m", 2) :][:2] == ["-m", ""]


def test_arguments_that_fit_no_test_are_the_users_mistake(ran):
    ran.outcome = {"pytest": 5}
    with pytest.raises(UserMistake):
        command.main(["-k", "nothing"])
