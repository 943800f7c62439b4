"""Messages lost under kills are taken over from the runs that counted them, and only where those vouch for their count."""

from types import SimpleNamespace

import pytest

from harness.bench.figures.results import LostUnderKills
from harness.bench.side_by_side import losses
from harness.bench.suites.case import Case
from harness.errors import UserMistake


def test_each_acks_setting_of_the_cases_is_struck_once_on_each_system(monkeypatch, tmp_path):
    asked = []

    def measure(load, acks, results, tell):
        asked.append((load.system, load.kills, load.others, acks, results))
        killed = SimpleNamespace(lost=(0, 4, 1))
        found = [SimpleNamespace(acks=one, doubts=() if one == "1" else ("an end not read",), of=lambda _kind: killed) for one in acks]
        return SimpleNamespace(acks=found)

    monkeypatch.setattr(losses, "measure_under_faults", measure)
    said: list[str] = []
    cases = [Case(acks="1"), Case(acks="all"), Case(acks="all", batch_messages=1)]
    found = list(losses.measure_losses(["highwater", "kafka"], cases, 3, tmp_path, None, said.append))
    assert asked == [(name, 3, 0, ["1", "all"], tmp_path) for name in ("highwater", "kafka")]
    assert found == [LostUnderKills(0, "1", (0, 4, 1)), LostUnderKills(1, "1", (0, 4, 1))]
    assert sum("cannot be told: an end not read" in line for line in said) == 2


def test_leaders_of_a_revision_cannot_be_killed():
    losses.require_killable(["highwater", "kafka"])
    with pytest.raises(UserMistake, match="leaders of HEAD"):
        losses.require_killable(["highwater", "HEAD"])
