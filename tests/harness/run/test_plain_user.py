"""A run as a plain user, from a copy of the tree that is the user's own, with an empty home: set up, carried out, judged, and gone."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.history.beside import PROVEN, Fault, read_rows
from harness.nodes.limits import remedy
from tests.harness.run.running import ROOT, SMALL, mounts_in, processes_in

pytestmark = pytest.mark.timeout(400)

NOBODY = 65534
FAULTS = "partition:one@n1/at=0/lasts=3,clock:bump@n2/at=0/lasts=4/offset=30,kill@n3/at=3/lasts=2"
NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", "results", "__pycache__", ".*_cache", ".hypothesis", "highwater-data")


class User:
    """Someone who owns a folder with the project in it, and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.tree, self._folder = folder / "highwater", folder
        self._becoming = [] if os.geteuid() else ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]

    def does(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        home, temporary = self._folder / "home", self._folder / "tmp"
        env = os.environ | {"HOME": str(home), "TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([*self._becoming, *command], cwd=self._folder, env=env, capture_output=True, text=True, timeout=300)

    def settle(self) -> None:
        shutil.copytree(ROOT, self.tree, ignore=NOT_COPIED)
        for name in ("home", "tmp"):
            (self._folder / name).mkdir()
        if not os.geteuid():
            for path in (self._folder, *self._folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    def make_environment(self) -> None:
        """Like the launcher's, but with the packages of ours: fetching them again would take minutes."""
        python = self._python()
        packages = next((ROOT / ".venv" / "lib").glob("python3.*/site-packages"))
        if self.does("test", "-r", packages / "pytest").returncode:
            pytest.skip(f"{packages} lies where no other user can read it")
        environment = self.tree / ".venv"
        made = self.does(python, "-m", "venv", "--without-pip", environment)
        assert made.returncode == 0, made.stderr
        shutil.copy(ROOT / ".venv" / "highwater.stamp", environment)
        next((environment / "lib").glob("python3.*/site-packages")).joinpath("packages.pth").write_text(f"{packages}\n")

    def _python(self) -> str:
        """One of our version that does not lie in root's own folder."""
        wanted = f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
        for candidate in (sys.executable, f"/usr/bin/python3.{sys.version_info[1]}"):
            real = os.path.realpath(candidate)
            if not self.does("test", "-x", real).returncode and not self.does(real, "-c", wanted).returncode:
                return real
        pytest.skip(f"another user can run no Python 3.{sys.version_info[1]} here")


@pytest.fixture(scope="module")
def user() -> Iterator[User]:
    if not (ROOT / ".venv" / "highwater.stamp").exists():
        pytest.skip("these tests do not run in the environment of the launcher")
    folder = Path(tempfile.mkdtemp(prefix="highwater-user-", dir="/tmp"))
    try:
        found = User(folder)
        found.settle()
        if (tried := found.does("unshare", "-Urn", "true")).returncode:
            pytest.skip(f"no namespaces for a plain user: {tried.stderr.strip()}; {remedy()}")
        found.make_environment()
        yield found
    finally:
        shutil.rmtree(folder)


def test_a_plain_user_with_an_empty_home_gets_a_verdict_and_nothing_is_left(user):
    done = user.does(user.tree / "highwater", "run", *SMALL, "--time-limit", "6", "--fault", FAULTS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "KEPT ITS PROMISES" in done.stdout
    run = (user.tree / "results" / "latest").resolve()
    assert {fault.fault: fault.state for fault in read_rows(run, Fault)} == dict.fromkeys(["partition:one", "clock:bump", "kill"], PROVEN)
    assert (run / "report.html").exists()
    assert processes_in(user.tree) == [] and mounts_in(user.tree) == []
