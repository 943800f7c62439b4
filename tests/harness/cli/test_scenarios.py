"""`./highwater scenarios` lists, shows and refuses."""

import tomllib

from harness.cli.main import main
from harness.scenarios import shipped


def test_all_are_listed_with_their_paragraph(capsys):
    assert main(["scenarios"]) == 0
    text = capsys.readouterr().out
    assert all(f"{name}\n    " in text for name in shipped())


def test_one_is_shown_as_it_would_run_with_its_planned_faults(capsys):
    assert main(["scenarios", "default", "--seed", "7", "--acks", "all", "--nodes", "5"]) == 0
    text = capsys.readouterr().out
    assert tomllib.loads(text)["nodes"] == 5
    assert "# id" in text and "partition" in text.split("# id")[1]


def test_without_a_seed_no_faults_are_shown(capsys):
    assert main(["scenarios", "default"]) == 0
    assert "--seed 1" in capsys.readouterr().out


def test_mistakes_end_in_254_and_name_every_flag(capsys):
    assert main(["scenarios", "default", "--nodes", "ten", "--fault", "kil"]) == 254
    complaint = capsys.readouterr().err
    assert "--nodes: 'ten'" in complaint and "did you mean `kill`?" in complaint


def test_flags_need_a_scenario(capsys):
    assert main(["scenarios", "--nodes", "5"]) == 254
    assert "name one" in capsys.readouterr().err
