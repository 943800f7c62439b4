"""The tutorial does what it says: its commands are run one after the other in a clean clone, each with the exit code told behind it."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.harness.clone import clone
from tests.harness.nodes.kinds import missing

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOLD = re.compile(r" # exit code (\d+)$")


def commands() -> list[tuple[str, int]]:
    lines = [line for block in BLOCK.findall(TUTORIAL.read_text()) for line in block.splitlines()]
    return [(TOLD.sub("", line), int(told[1]) if (told := TOLD.search(line)) else 0) for line in lines]


def test_the_tutorial_finds_a_bug():
    assert [code for _, code in commands()].count(1) >= 1
    assert all(command.startswith("./highwater ") for command, _ in commands())


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)", TUTORIAL.read_text()))
def test_what_the_tutorial_links_to_is_there(link):
    assert (TUTORIAL.parent / link).exists()


@pytest.mark.long
def test_every_command_of_the_tutorial_ends_as_it_says(tmp_path):
    if reason := missing("namespaces"):
        pytest.skip(reason)
    project = clone(tmp_path / "clone")
    for command, code in commands():
        ended = subprocess.run(
            ["bash", "-c", command], cwd=project, env=os.environ | {"HOME": str(tmp_path)}, capture_output=True, text=True, timeout=900
        )
        assert ended.returncode == code, f"{command}\n{ended.stdout}\n{ended.stderr}"
