"""`./highwater bench` at the command line: suites by name, mistakes in one line, and an exit code that a build server understands."""

from dataclasses import replace

import pytest

from harness.bench.figures.results import write_result
from harness.cli.main import main
from harness.errors import DONE, FAILED, USER_CAN_MEND
from tests.harness.bench.made_up import load, result


@pytest.fixture(scope="module")
def made():
    return result()


def folder_of(path, found):
    path.mkdir()
    write_result(path, found)
    return str(path)


def slower(found, factor):
    return replace(found, loads=tuple(load(one.system, one.case, one.round, 100 * factor + one.round / 10) for one in found.loads))


def test_help_lists_the_suites(capsys):
    assert main(["bench", "--help"]) == DONE
    said = capsys.readouterr().out
    assert all(name in said for name in ("quick", "acks", "full", "scaling", "compare", "micro", "recorder", "analysis"))


@pytest.mark.parametrize(
    "words, told",
    [
        (["quik"], "there is no suite `quik`"),
        (["no/such.toml"], "there is no suite `no/such.toml`"),
        (["quick", "--compare", "highwater,no-such-revision"], "no system `no-such-revision`"),
        (["quick", "--warm-up", "soon"], "is not a number of minutes"),
        (["quick", "--rounds", "0"], "not a number from 1 to 100"),
        (["compare", "nowhere", "neither"], "holds no result"),
    ],
)
def test_a_mistake_is_one_line(words, told, capsys):
    assert main(["bench", *words]) == USER_CAN_MEND
    assert told in capsys.readouterr().err


def test_comparing_a_result_with_itself_finds_no_regression(made, tmp_path, capsys):
    one = folder_of(tmp_path / "one", made)
    assert main(["bench", "compare", one, one]) == DONE
    assert "No regression past 10%." in capsys.readouterr().out


def test_a_regression_past_the_threshold_ends_in_exit_code_one(made, tmp_path, capsys):
    before, after = folder_of(tmp_path / "before", slower(made, 1.0)), folder_of(tmp_path / "after", slower(made, 0.7))
    assert main(["bench", "compare", before, after]) == FAILED
    assert "Regressions past 10%" in capsys.readouterr().out
    assert main(["bench", "compare", before, after, "--threshold", "60"]) == DONE
    assert main(["bench", "compare", after, before]) == DONE


def test_results_without_anything_in_common_cannot_be_compared(made, tmp_path, capsys):
    one = folder_of(tmp_path / "one", made)
    other = folder_of(tmp_path / "other", replace(made, systems=(replace(made.systems[0], name="kafka"),)))
    assert main(["bench", "compare", one, other]) == USER_CAN_MEND
    assert "no case and system in common" in capsys.readouterr().err
