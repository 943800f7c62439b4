import pytest

from harness.history import names as names_module
from harness.history.errors import HistoryError, MalformedFile
from harness.history.names import DeadWorker, Names, read_names


def test_a_name_is_on_file_before_its_number_is_given_out(tmp_path):
    names = Names(tmp_path / "n")
    assert [names.add("topic", "a"), names.add("error", "a"), names.add("topic", "grüße\n\u2028")] == [1, 1, 2]
    assert read_names(tmp_path / "n") == {"topic": ["a", "grüße\n\u2028"], "error": ["a"], "group": []} == names.listed()


def test_a_line_cut_off_by_a_kill_is_not_a_name(tmp_path):
    (tmp_path / "n").write_text('["topic", "a"]\n["topic", "b')
    assert read_names(tmp_path / "n")["topic"] == ["a"]


def test_a_damaged_file_is_named_with_its_line(tmp_path):
    (tmp_path / "n").write_text('["topic", "a"]\n{}\n')
    with pytest.raises(MalformedFile, match=r"n: line 2 is not a name"):
        read_names(tmp_path / "n")


def test_too_many_names_are_refused_and_the_others_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(names_module, "MAX_NAMES", 2)
    names = Names(tmp_path / "n")
    names.add("topic", "a")
    names.add("topic", "b")
    with pytest.raises(HistoryError, match="more than 2 different names of a topic: 'c'"):
        names.add("topic", "c")
    assert read_names(tmp_path / "n")["topic"] == ["a", "b"]


def test_a_number_of_a_worker_is_used_once(tmp_path):
    Names(tmp_path / "n").close(remove=False)
    with pytest.raises(HistoryError, match="used once"):
        Names(tmp_path / "n")


def test_a_living_worker_is_not_taken_for_dead(tmp_path):
    names = Names(tmp_path / "n")
    with pytest.raises(HistoryError, match="still records"):
        DeadWorker(tmp_path / "n")
    names.close(remove=False)
    with DeadWorker(tmp_path / "n"):
        pass
