"""`doctor --fix` and `--undo`: only what is wanting is done, only by root, and only what was done is undone."""

from pathlib import Path

import pytest

from harness.cli import fixing
from harness.cli.main import main
from harness.errors import EnvironmentFault


class Machine:
    """What --fix would find and change."""

    def __init__(
        self, *, program: bool, answers: bool, image: bool, base: bool = False, debootstrap: bool = False, judges: bool = True
    ) -> None:
        self.program, self.answers, self.image, self.base = program, answers, image, base
        self.programs = {"debootstrap": debootstrap, "chromium": judges, "systemd-analyze": judges}
        self.done: list[str] = []

    def close(self) -> None:
        pass

    def install(self, names) -> None:
        self.done.append(f"install {names[0]}")
        self.program = self.program or names[0] == "docker.io"
        self.programs |= {{"systemd": "systemd-analyze"}.get(name, name): True for name in names}

    def start(self, folder) -> None:
        assert self.program
        self.done.append("start")
        self.answers = True

    def make_image(self, engine) -> None:
        assert self.base or self.programs["debootstrap"]
        self.done.append("image")
        self.image = True


@pytest.fixture
def fix(monkeypatch, tmp_path):
    def prepare(machine: Machine, user: int = 0):
        monkeypatch.setattr("os.geteuid", lambda: user)
        monkeypatch.setattr("harness.cli.fixing.docker_nodes.available", lambda: None if machine.answers else "none")
        monkeypatch.setattr("harness.cli.fixing.docker_nodes.connect_engine", lambda: machine)
        monkeypatch.setattr("harness.cli.fixing.node_image.has_image", lambda engine: machine.image)
        monkeypatch.setattr("harness.cli.fixing.node_image.find_base", lambda engine: "base" if machine.base else None)
        monkeypatch.setattr("harness.cli.fixing.node_image.ensure_image", machine.make_image)
        monkeypatch.setattr("harness.cli.fixing.docker_engine.find_dockerd", lambda: "dockerd" if machine.program else None)
        monkeypatch.setattr("harness.cli.fixing.docker_engine.start_engine", machine.start)
        monkeypatch.setattr("harness.cli.fixing.packages.install", machine.install)
        monkeypatch.setattr("harness.cli.fixing.shutil.which", lambda name: name if machine.programs[name] else None)
        fixing.fix(tmp_path)
        return machine.done

    return prepare


def test_a_bare_machine_gets_an_engine_and_an_image_and_each_step_is_said(fix, capsys):
    assert fix(Machine(program=False, answers=False, image=False)) == ["install docker.io", "start", "install debootstrap", "image"]
    said = capsys.readouterr().out
    for step in ("installing docker.io", "starting a Docker engine: dockerd --bip", "installing debootstrap", "making the image"):
        assert step in said


def test_what_judges_pages_and_timers_is_installed_where_it_is_missing(fix):
    assert fix(Machine(program=True, answers=True, image=True, judges=False)) == ["install chromium", "install systemd"]


def test_what_is_there_is_left_alone(fix):
    assert fix(Machine(program=True, answers=False, image=True)) == ["start"]
    assert fix(Machine(program=False, answers=True, image=False, base=True)) == ["image"]
    assert fix(Machine(program=True, answers=True, image=False, debootstrap=True)) == ["image"]


def test_a_second_time_there_is_nothing_to_do_and_it_needs_no_root(fix, capsys):
    assert fix(Machine(program=True, answers=True, image=True), user=1000) == []
    assert "nothing to fix" in capsys.readouterr().out


def test_who_is_not_root_is_told_so_and_nothing_is_done(fix):
    machine = Machine(program=False, answers=False, image=False)
    with pytest.raises(EnvironmentFault, match="--fix needs root, nothing was done"):
        fix(machine, user=1000)
    assert machine.done == []


def test_not_being_root_ends_in_255(monkeypatch, capsys):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(fixing, "_is_ready", lambda: False)
    assert main(["doctor", "--fix"]) == 255
    assert capsys.readouterr().err.count("\n") == 1


def test_without_an_engine_of_ours_there_is_nothing_to_undo(tmp_path, capsys):
    fixing.undo(tmp_path)
    assert "nothing to undo" in capsys.readouterr().out


def test_undoing_needs_root_and_stops_what_was_started(monkeypatch, tmp_path, capsys):
    stopped: list[Path] = []
    monkeypatch.setattr("harness.cli.fixing.docker_engine.started_engine", lambda folder: 4711)
    monkeypatch.setattr("harness.cli.fixing.docker_engine.stop_engine", stopped.append)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(EnvironmentFault, match="4711"):
        fixing.undo(tmp_path)
    assert stopped == []
    monkeypatch.setattr("os.geteuid", lambda: 0)
    fixing.undo(tmp_path)
    assert stopped == [tmp_path]
    assert "process 4711" in capsys.readouterr().out
