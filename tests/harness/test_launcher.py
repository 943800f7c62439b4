"""The launcher in a small copy of the project: its own lock file, an empty HOME, and a command line that only repeats its arguments.

The lock file is empty, so nothing is fetched; what pip would do with a full one is pip's business.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from typing import NamedTuple

import pytest

LAUNCHER = Path(__file__).parents[2] / "highwater"
ECHO = "import os, sys; print('arguments', sys.argv[1:], 'in', os.getcwd(), 'by', sys.prefix)"


def heed_ctrl_c() -> None:
    """As at a terminal: a shell has what it starts in the background ignore Ctrl-C, and these tests with it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Project:
    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "harness" / "cli").mkdir(parents=True)
        (root / "home").mkdir()
        (root / "harness" / "cli" / "__main__.py").write_text(ECHO)
        shutil.copy(LAUNCHER, root / "highwater")
        self.lock("# nothing is needed\n")

    @property
    def stamp(self) -> Path:
        return self.root / ".venv" / "highwater.stamp"

    def lock(self, text: str) -> None:
        (self.root / "requirements.lock").write_text(text)

    def start(self, *arguments: str, through: Path | None = None, cwd: Path | None = None, **environment: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(through or self.root / "highwater"), *arguments]
        clean = {"PATH": os.environ["PATH"], "HOME": str(self.root / "home"), **environment}
        return subprocess.Popen(command, cwd=cwd or self.root, env=clean, text=True, stdout=PIPE, stderr=PIPE, preexec_fn=heed_ctrl_c)  # noqa: PLW1509 (one thread)

    def run(self, *arguments: str, through: Path | None = None, cwd: Path | None = None, **environment: str) -> tuple[int, str, str]:
        process = self.start(*arguments, through=through, cwd=cwd, **environment)
        out, err = process.communicate()
        return process.returncode, out, err


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def first_uses(tmp_path_factory) -> tuple[Project, Ended, Ended]:
    """A project whose first use was killed, and then two more at once. Making an environment takes seconds, so it is made once for all."""
    project = Project(tmp_path_factory.mktemp("project"))
    killed = project.start()
    assert killed.stderr and "making .venv" in killed.stderr.readline()
    killed.kill()
    killed.communicate()
    both = [project.start("one"), project.start("two")]
    outputs = [process.communicate() for process in both]
    one, two = (Ended(process.returncode, *output) for process, output in zip(both, outputs, strict=True))
    return project, one, two


@pytest.fixture
def made(first_uses) -> Project:
    """A project whose environment is there; tests leave it as it was."""
    return first_uses[0]


@pytest.fixture
def bare(tmp_path) -> Project:
    """A project that was never used."""
    return Project(tmp_path)


def test_a_first_use_that_was_killed_is_made_anew(first_uses):
    _, one, two = first_uses
    assert "removing an unfinished or unusable .venv" in one.err + two.err


def test_two_at_once_make_one_environment(first_uses):
    _, one, two = first_uses
    assert (one.code, two.code) == (0, 0)
    assert "['one']" in one.out and "['two']" in two.out
    assert (one.err + two.err).count("making .venv (first use") == 1


def test_the_stamp_names_the_lock_file_that_was_installed(made):
    assert made.stamp.read_text() == hashlib.sha256(b"# nothing is needed\n").hexdigest()


def test_a_sound_environment_is_used_without_a_word(made):
    code, out, err = made.run("cluster", "--help")
    assert (code, err) == (0, "")
    assert "arguments ['cluster', '--help']" in out
    assert f"by {made.root / '.venv'}" in out


def test_it_works_from_any_directory_and_through_a_symbolic_link(made, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(made.root / "highwater")
    (tmp_path / "harness").mkdir()
    (tmp_path / "harness" / "__init__.py").write_text("raise SystemExit('the wrong one')")
    code, out, _ = made.run(through=link, cwd=tmp_path)
    assert code == 0
    assert f"in {tmp_path}" in out


def test_a_changed_lock_file_is_installed_again(made):
    made.lock("# something else\n")
    assert "installing the packages" in made.run()[2]
    assert made.stamp.read_text() == hashlib.sha256(b"# something else\n").hexdigest()
    made.lock("# nothing is needed\n")
    assert made.run()[0] == 0


def test_what_pip_says_is_shown_when_it_refuses_and_the_old_environment_is_kept(made):
    made.lock("no-such-package-as-this==1.0 --hash=sha256:" + "0" * 64 + "\n")
    code, _, err = made.run(PIP_NO_INDEX="1")
    assert code == 255
    assert "No matching distribution found for no-such-package-as-this" in err
    made.lock("# nothing is needed\n")
    code, _, err = made.run()
    assert code == 0
    assert "removing" not in err


def test_an_environment_made_by_hand_is_taken_over(made):
    made.stamp.unlink()
    code, _, err = made.run()
    assert code == 0
    assert "making .venv (first use" not in err
    assert made.stamp.exists()


def test_ctrl_c_ends_it_without_a_stack_trace(bare):
    process = bare.start()
    assert process.stderr
    assert "making .venv" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert "interrupted" in err and "Traceback" not in err


def test_a_python_without_venv_is_told_which_package_to_install(bare):
    broken = bare.root / "broken"
    broken.mkdir()
    (broken / "ensurepip.py").write_text("raise ImportError('not on this system')")
    code, _, err = bare.run(PYTHONPATH=str(broken))
    assert code == 255
    assert "install python3-venv" in err
    assert "Traceback" not in err
