import numpy as np
import pytest

from analysis.context import Context, Progress
from tests.analysis.hand_made import FAIL, INFO, Hand, identities, sentence

SECOND = 10**9


def times(*pairs: tuple[float, float]):
    return np.array([[round(start * SECOND), round(end * SECOND)] for start, end in pairs], np.int64).reshape(-1, 2)


def promised(suspended=(), stalled=()) -> Context:
    return Context(progress=Progress(times(*suspended), times(*stalled)))


def refused_for(seconds: int) -> Hand:
    """A send a second, none acknowledged but the first, which is over at once."""
    hand = Hand()
    hand.send(1, 0, at=0, completed=0)
    for number in range(1, seconds + 1):
        hand.send(100 + number, None, FAIL if number % 2 else INFO, at=number - 0.9, completed=number)
    return hand


def test_a_gap_without_an_acknowledgement_is_told_with_who_asked_first():
    found = refused_for(20).find(promised())
    assert identities(found, "unavailable") == [(0,)]
    assert sentence(found, "unavailable") == (
        "No send was acknowledged from 0.000 s to 20.000 s, for 20.000 s, though service was promised and asked for by 20 sends, "
        "first by process 1 (op 2, 0.100 s)."
    )


@pytest.mark.parametrize(
    ("seconds", "context"),
    [
        (15, promised()),
        (20, Context()),
        (20, promised(suspended=[(6, 7)])),
        (20, promised(suspended=[(-5, 2), (1, 6)])),
        (20, promised(stalled=[(19, 30)])),
    ],
    ids=["not too long", "not promised", "parted", "begun later", "the harness stood still"],
)
def test_a_gap_that_is_short_or_excused_is_none(seconds, context):
    assert "unavailable" not in refused_for(seconds).find(context)


def test_what_is_left_of_a_gap_may_be_several():
    found = refused_for(50).find(promised(suspended=[(30, 31), (16, 17), (29, 30)]))
    assert identities(found, "unavailable") == [(0,), (31 * SECOND,)]


def test_a_pause_of_the_clients_is_no_gap():
    hand = Hand()
    hand.send(1, 0, at=0, completed=1)
    hand.send(2, None, INFO, at=10, completed=20)
    hand.send(3, 1, at=31, completed=32)
    assert "unavailable" not in hand.find(promised())
