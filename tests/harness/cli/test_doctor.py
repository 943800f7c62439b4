"""`./highwater doctor` reports and never fails for what is missing."""

from harness.cli import doctor
from harness.cli.probes import Finding


def test_what_is_missing_comes_with_a_remedy_and_exit_code_0(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "PROBES", [lambda: Finding("Python", "3.11"), lambda: Finding("netem", "none", "modprobe sch_netem")])
    assert doctor.main([]) == 0
    text = capsys.readouterr().out
    assert "netem: modprobe sch_netem" in text
    assert "Python: " not in text


def test_the_real_probes_find_what_the_lock_file_brings(capsys):
    assert doctor.main(["--fix"]) == 0
    marks = {line[:15].rstrip(): line[17:20].rstrip() for line in capsys.readouterr().out.splitlines()}
    assert [marks[what] for what in ("Python", "uvloop", "faketime", "Java for Spark")] == ["yes"] * 4


def test_there_is_nothing_to_undo(capsys):
    assert doctor.main(["--undo"]) == 0
    assert "nothing to undo" in capsys.readouterr().out
