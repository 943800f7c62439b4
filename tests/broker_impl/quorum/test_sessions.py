from broker_impl.quorum.sessions import Sessions


def watched(sessions: Sessions, start: float, end: float, *beating: int) -> list[int]:
    """Looks every 0.1 s, these brokers being heard each time; returns who lapsed, in order."""
    lapsed = []
    for tenth in range(round(start * 10) + 1, round(end * 10) + 1):
        for broker in beating:
            sessions.hear(broker, tenth / 10)
        lapsed += sessions.lapsed(tenth / 10)
    return lapsed


def test_a_broker_lapses_after_a_silence_of_the_timeout_and_only_once() -> None:
    sessions = Sessions(3.0, frozenset({1}), 0.0)
    assert watched(sessions, 0, 2.9) == []
    assert watched(sessions, 2.9, 9) == [1]


def test_a_broker_that_is_heard_does_not_lapse() -> None:
    assert watched(Sessions(3.0, frozenset({1}), 0.0), 0, 20, 1) == []


def test_a_heartbeat_begins_a_session_anew() -> None:
    sessions = Sessions(3.0, frozenset(), 0.0)
    sessions.hear(1, 0.0)
    assert watched(sessions, 0, 4) == [1]
    sessions.hear(1, 4.0)
    assert watched(sessions, 4, 6.9) == []


def test_the_longest_silent_lapses_first() -> None:
    sessions = Sessions(3.0, frozenset({1, 2, 3}), 0.0)
    sessions.hear(3, 0.2)
    sessions.hear(1, 0.3)
    watched(sessions, 0, 2.5)
    assert sessions.lapsed(3.4) == [2, 3, 1]


def test_a_pause_of_the_controller_itself_is_counted_against_nobody() -> None:
    sessions = Sessions(3.0, frozenset({1}), 0.0)
    assert sessions.lapsed(60.0) == []
    assert watched(sessions, 60, 62.9) == []
    assert watched(sessions, 62.9, 64) == [1]


def test_a_clock_that_stands_still_or_steps_back_ends_no_session() -> None:
    sessions = Sessions(3.0, frozenset({1}), 10.0)
    assert sessions.lapsed(10.0) == []
    assert sessions.lapsed(0.0) == []
    assert sessions.lapsed(10.5) == []


def test_a_controller_counts_the_silence_before_its_election_but_leaves_half_a_session() -> None:
    assert watched(Sessions(3.0, frozenset({1}), 10.0, 1.0), 10, 11.9) == []
    assert watched(Sessions(3.0, frozenset({1}), 10.0, 1.0), 10, 12.1) == [1]
    assert watched(Sessions(3.0, frozenset({1}), 10.0, 60.0), 10, 11.4) == []
    assert watched(Sessions(3.0, frozenset({1}), 10.0, 60.0), 10, 11.6) == [1]
