import pytest

from harness.cli.prove import main
from harness.errors import DONE, FAILED, UserMistake
from harness.prove.attempts import SOUND, Attempt, Attempts


def test_what_there_is_is_listed_and_nothing_is_run(capsys, tmp_path):
    assert main(["--list", "--results", str(tmp_path)]) == DONE
    told = capsys.readouterr().out
    assert "sequence-gaps" in told and "cut-and-kill" in told
    assert not any(tmp_path.iterdir())


def test_there_is_nothing_to_resume_where_nothing_was_begun(tmp_path):
    with pytest.raises(UserMistake, match="nothing to resume"):
        main(["sequence-gaps", "--resume", "--results", str(tmp_path)])


@pytest.mark.parametrize("caught, code", [(True, DONE), (False, FAILED)])
def test_a_campaign_that_is_done_is_told_once_more_and_all_three_tables_are_written(capsys, tmp_path, caught, code):
    folder = tmp_path / "prove" / "20261118-000000"
    made = Attempts(folder)
    made.add(Attempt("sequence-gaps", "wire", "", 1, caught, "sequence gap accepted", tried="5 messages", seconds=1.0))
    made.add(Attempt(SOUND, "wire", "wire", 1, False, cycles=1, tried="5 messages"))
    assert main(["sequence-gaps", "--resume", "--results", str(tmp_path)]) == code
    assert "the sound broker" in capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} == {"attempts.jsonl", "table.md", "table.html", "table.json"}
