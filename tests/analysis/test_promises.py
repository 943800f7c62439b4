"""Cell by cell: every anomaly under every condition that decides about it."""

from typing import Any

import pytest

from analysis.anomalies import ANOMALIES
from analysis.circumstances import Circumstances
from analysis.promises import HIGHWATER, JEPSEN, TABLES, forbidden
from analysis.settled import settle
from harness.history.plan import Promises

SOUND: dict[str, Any] = {
    "acks": "all",
    "replicas": 3,
    "min_insync": 2,
    "unclean": False,
    "flush": False,
    "idempotence": True,
    "in_flight": 5,
    "isolation": "read_committed",
    "assignment": "assign",
    "progress": True,
}
SEEN: dict[str, Any] = {
    "unclean_elections": 0,
    "read_to_end": True,
    "dumped": True,
    "operations": frozenset({"send", "poll", "assign", "seek", "txn"}),
}

NEVER = {"inconsistent-offsets", "unseen", "int-send-skip", "G0", "G0-realtime", "G1c", "G1c-realtime", "G-single", "G2"}
STRICTEST = set(ANOMALIES) - NEVER
"""What is an error where everything is promised and nothing was done that excuses."""

LOSS_OF_ACKNOWLEDGED = {"lost", "lost-write", "ack-conflict", "torn-transaction"}
ORDER_OF_SENDS = {"int-nonmonotonic-send", "nonmonotonic-send", "reordered"}
ORDER_OF_POLLS = {"int-poll-skip", "int-nonmonotonic-poll", "poll-skip", "nonmonotonic-poll"}
SHOWN_AND_CHANGED = {"lost-after-read", "read-conflict", "stale-time-index", "G1b"}
LOG_REWRITTEN = LOSS_OF_ACKNOWLEDGED | ORDER_OF_SENDS | ORDER_OF_POLLS | SHOWN_AND_CHANGED | {"duplicate"}
"""All that follows where a log legally loses what it had."""


def errors(promises=None, seen=None, rules="highwater"):
    settled = settle(Promises(**(SOUND | (promises or {}))))
    return {name for name, ruling in forbidden(settled, Circumstances(**(SEEN | (seen or {}))), rules).items() if ruling.forbidden}


@pytest.mark.parametrize("rules", TABLES)
def test_every_anomaly_has_one_row_and_every_ruling_a_sentence(rules):
    assert sorted(row.anomaly for row in TABLES[rules]) == sorted(ANOMALIES)
    for ruling in forbidden(settle(None), Circumstances(), rules).values():
        assert ruling.reason.endswith(".")


def test_where_everything_is_promised_all_but_the_never_forbidden_are_errors():
    assert errors() == STRICTEST


@pytest.mark.parametrize(
    "promises, seen, excused",
    [
        # settings that promise less
        ({"acks": "1"}, {}, LOSS_OF_ACKNOWLEDGED | ORDER_OF_SENDS),
        ({"acks": "0"}, {}, LOSS_OF_ACKNOWLEDGED | ORDER_OF_SENDS),
        ({"idempotence": False}, {}, {"duplicate"} | ORDER_OF_SENDS),
        ({"idempotence": None}, {}, {"duplicate"} | ORDER_OF_SENDS),
        ({"idempotence": False, "in_flight": 1}, {}, {"duplicate"}),
        ({"assignment": "subscribe"}, {}, {"poll-skip", "nonmonotonic-poll"}),
        ({"isolation": "read_uncommitted"}, {}, {"G1a", "precommitted-read", "G1b"}),
        ({"isolation": "read_uncommitted"}, {"operations": frozenset({"send", "poll"})}, {"precommitted-read", "G1b"}),
        ({"progress": False}, {}, {"unavailable"}),
        ({"min_insync": 1}, {}, set()),
        ({"min_insync": 1, "replicas": 1}, {}, set()),
        # unclean election: allowed and seen, allowed and not told, allowed and seen not to have been, not allowed
        ({"unclean": True}, {"unclean_elections": 1}, LOG_REWRITTEN),
        ({"unclean": True}, {"unclean_elections": None}, LOG_REWRITTEN),
        ({"unclean": True}, {"unclean_elections": 0}, set()),
        ({"unclean": False}, {"unclean_elections": 3}, set()),
        ({"unclean": False}, {"unclean_elections": None}, set()),
        # tails lost: of fewer replicas than hold a copy, of as many, and where all that was acknowledged is flushed
        ({"min_insync": 2}, {"torn_together": 1}, set()),
        ({"min_insync": 2}, {"torn_together": 2}, LOG_REWRITTEN),
        ({"min_insync": 1}, {"torn_together": 1}, LOG_REWRITTEN),
        ({"min_insync": 3}, {"torn_together": 2}, set()),
        ({"min_insync": 2, "flush": True}, {"torn_together": 3}, set()),
        # faults that take nothing
        ({}, {"faults": frozenset({"kill", "partition", "pause", "clock", "deleted-index", "stop", "rolling-restart"})}, set()),
        # what the history cannot tell
        ({}, {"dumped": False}, {"duplicate"}),
        ({}, {"read_to_end": False}, {"lost-write"}),
        ({}, {"read_to_end": None}, {"lost-write"}),
        ({}, {"read_to_end": None, "operations": frozenset({"send", "poll", "txn"})}, set()),
        (
            {},
            {"complete": False},
            {"phantom", "lost", "lost-write", "lost-after-read", "int-poll-skip", "poll-skip", "G1b", "torn-transaction"},
        ),
    ],
)
def test_each_condition_excuses_exactly_these(promises, seen, excused):
    assert STRICTEST - errors(promises, seen) == excused
    assert errors(promises, seen) <= STRICTEST


@pytest.mark.parametrize("name", ["corrupt", "misplaced", "replica-divergence", "metadata-divergence"])
def test_nothing_excuses_bytes_that_are_wrong(name):
    weakest = {"acks": "0", "unclean": True, "min_insync": 1, "idempotence": False, "isolation": "read_uncommitted", "progress": False}
    assert name in errors(weakest, {"torn_together": 3, "unclean_elections": 2, "complete": False, "read_to_end": False, "dumped": False})


@pytest.mark.parametrize(
    "promises, seen, name",
    [
        ({"idempotence": False}, {}, "duplicate"),  # a retry stored twice
        ({"acks": "1"}, {}, "lost"),  # a leader that died with what only it had
        ({"acks": "1"}, {}, "ack-conflict"),  # an offset that the next leader gave away again
        ({"acks": "0", "idempotence": False}, {}, "lost"),  # handed to a socket that nobody read
        ({"unclean": True}, {"unclean_elections": 1}, "lost"),  # an unclean election that was asked for
        ({"unclean": True}, {"unclean_elections": 1}, "lost-after-read"),
        ({"idempotence": False}, {}, "reordered"),  # a retry that was overtaken
        ({"assignment": "subscribe"}, {}, "nonmonotonic-poll"),  # a rebalance that gave a partition back
        ({}, {}, "int-send-skip"),  # another client's message between two of a transaction
        ({"isolation": "read_uncommitted"}, {}, "G1a"),  # an aborted transaction, seen by those who asked for it
        ({}, {}, "unseen"),  # the last messages of a history that just ended
        ({"min_insync": 1}, {"torn_together": 1}, "lost"),  # the last member of an ISR lost its tail
    ],
)
def test_legal_behaviour_that_looks_like_a_bug_is_no_error(promises, seen, name):
    assert name not in errors(promises, seen)


@pytest.mark.parametrize("acks", ["0", "1", "all"])
@pytest.mark.parametrize("name", ["read-conflict", "lost-after-read", "replica-divergence", "phantom", "corrupt"])
def test_what_consumers_were_shown_is_an_error_under_every_acks(acks, name):
    assert name in errors({"acks": acks, "idempotence": acks == "all"})


def test_a_promise_of_clean_election_that_is_stated_forbids_the_loss_that_the_settings_allow():
    recorded, seen = Promises(**(SOUND | {"unclean": True, "min_insync": 1})), Circumstances(**(SEEN | {"unclean_elections": 1}))
    assert not forbidden(settle(recorded), seen)["lost"].forbidden
    assert forbidden(settle(recorded, Promises(unclean=False)), seen)["lost"].forbidden


def test_duplicates_without_dumps_are_an_error_only_for_those_who_stated_idempotence():
    seen = Circumstances(**(SEEN | {"dumped": False}))
    assert not forbidden(settle(Promises(idempotence=True)), seen)["duplicate"].forbidden
    assert forbidden(settle(None, Promises(idempotence=True)), seen)["duplicate"].forbidden


def test_a_foreign_history_is_judged_as_if_acks_were_all_and_idempotence_unknown():
    rulings = forbidden(settle(None, None, {"send", "poll"}), Circumstances())
    told = {name for name, ruling in rulings.items() if ruling.forbidden}
    assert {"lost", "lost-write", "G1a", "phantom", "read-conflict", "ack-conflict", "poll-skip", "nonmonotonic-poll"} <= told
    assert not told & {"duplicate", "reordered", "nonmonotonic-send", "unavailable"}


def test_jepsen_s_rules_look_at_no_setting_but_how_partitions_are_assigned():
    always = {"inconsistent-offsets", "duplicate", "G1a", "lost-write", "unseen", "precommitted-read", "phantom", "nonmonotonic-send"}
    always |= {"int-poll-skip", "int-nonmonotonic-poll", "int-nonmonotonic-send"}
    assigned = {"poll-skip", "nonmonotonic-poll"}
    assert errors(rules="jepsen") == always | assigned
    assert errors({"assignment": "subscribe"}, rules="jepsen") == always
    weakest = {"acks": "0", "unclean": True, "idempotence": False, "isolation": "read_uncommitted"}
    assert errors(weakest, {"torn_together": 3, "unclean_elections": 1}, "jepsen") == always | assigned


def test_the_ruling_says_what_decided_it():
    seen = Circumstances(**SEEN)
    assert "acks=1" in forbidden(settle(Promises(acks="1")), seen)["lost"].reason
    assert "min.insync" in forbidden(settle(Promises(acks="all")), seen)["lost"].reason
    assert "Unclean" in forbidden(settle(Promises(unclean=True)), Circumstances())["lost"].reason


def test_the_table_prints_when_and_unless():
    cells = {row.anomaly: row.cells for row in HIGHWATER}
    assert cells["lost"][1] == "acks=all" and "unclean" in cells["lost"][2]
    assert cells["corrupt"][1:3] == ("always", "")
    assert cells["G0"][1] == "never"
    assert {row.anomaly: row.cells[1] for row in JEPSEN}["poll-skip"] == "clients assign"
