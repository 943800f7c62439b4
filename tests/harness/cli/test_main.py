"""How commands end: exit codes and the one line a user gets."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import bench, cluster, doctor
from harness.cli.main import COMMANDS, TO_COME, main

ROOT = Path(__file__).parents[3]


def test_without_a_command_the_help_names_every_one(capsys):
    assert main([]) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in [*COMMANDS, *TO_COME])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    try:
        assert main([command, "--help"]) == 0
    except SystemExit as end:
        assert end.code == 0
    assert f"highwater {command}" in capsys.readouterr().out


@pytest.mark.parametrize("command", TO_COME)
def test_what_is_to_come_says_in_one_line_what_is_missing(command, capsys):
    assert main([command]) == 254
    complaint = capsys.readouterr().err
    assert f"`{command}` is not built yet" in complaint
    assert complaint.count("\n") == 1


def test_an_unknown_command_is_answered_with_the_nearest(capsys):
    assert main(["clutser"]) == 254
    assert "did you mean `cluster`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["cluster"],
        ["cluster", "up", "--nodes", "0"],
        ["cluster", "up", "--nodes", "ten"],
        ["cluster", "up", "--port", "70000"],
        ["cluster", "fly"],
        ["cluster", "topics", "create"],
        ["doctor", "--fix", "--undo"],
        ["bench", "marathon"],
    ],
)
def test_a_mistake_in_the_arguments_is_one_line_and_254(arguments, capsys):
    assert main(arguments) == 254
    complaint = capsys.readouterr().err
    assert complaint.startswith("highwater: ")
    assert complaint.count("\n") == 1


def test_a_problem_of_the_system_is_one_line_and_255(monkeypatch, capsys):
    monkeypatch.setattr(cluster, "main", raising(OSError(28, "No space left on device")))
    assert main(["cluster"]) == 255
    assert capsys.readouterr().err == "highwater: [Errno 28] No space left on device\n"


def test_a_defect_of_ours_is_255_and_tells_how_to_see_more(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "main", raising(ZeroDivisionError("division by zero")))
    assert main(["doctor"]) == 255
    complaint = capsys.readouterr().err
    assert "ZeroDivisionError" in complaint and "HIGHWATER_DEBUG=1" in complaint
    assert "Traceback" not in complaint


def test_debugging_shows_the_stack_trace(monkeypatch, capsys):
    monkeypatch.setenv("HIGHWATER_DEBUG", "1")
    assert main(["clutser"]) == 254
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_is_no_stack_trace(monkeypatch, capsys):
    monkeypatch.setattr(bench, "main", raising(KeyboardInterrupt()))
    assert main(["bench"]) == 130
    assert capsys.readouterr().err == "highwater: interrupted\n"


def test_help_imports_nothing_heavy():
    program = "import sys; from harness.cli.main import main; main(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    for heavy in ("pyspark", "pandas", "docker", "kafka", "pydantic", "rich", "uvloop"):
        assert f"'{heavy}'" not in done.stderr


def raising(problem: BaseException):
    def command(argv):
        raise problem

    return command
