import json

import pytest

from harness.cli.main import main
from harness.history.readers import open_history


def test_a_history_is_written_and_what_is_in_it_is_said(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["synth", "--rows", "30000", "--inject", "lost=1,duplicate=2", "--partitions", "3", "--seed", "4", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "30,000 rows of 3 partitions" in shown and "duplicate 2, lost-write 1, unseen 1, int-poll-skip 2, lost 1" in shown
    assert open_history(out).rows == 30_000
    assert json.loads((out / "truth.json").read_text())["seed"] == 4


def test_the_help_lists_what_can_be_injected(capsys):
    with pytest.raises(SystemExit):
        main(["synth", "--help"])
    assert "read-conflict" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rows", "many"], "'many' is not a number like 200000 or 10M"),
        (["--rows", "1000", "--inject", "lost"], "'lost' is not like lost=3"),
        (["--rows", "1000", "--inject", "lost=1,lost=2"], "'lost=2' is not like lost=3, each kind once"),
        (["--rows", "1000", "--inject", "nonsense=1"], "`nonsense` cannot be injected"),
        (["--rows", "10"], "10 rows are too few"),
    ],
)
def test_mistakes_are_one_line_and_nothing_is_written(tmp_path, capsys, arguments, said):
    assert main(["synth", *arguments, str(tmp_path / "out")]) == 254
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
