import pytest

from analysis.settled import ASSUMED, parse_stated, settle
from harness.history.plan import Promises


def test_a_history_without_settings_is_judged_as_acks_all_with_clean_election_and_unknown_idempotence():
    settled = settle(None)
    assert (settled["acks"], settled["unclean"], settled["idempotence"], settled["in_flight"]) == ("all", False, None, None)
    assert {settled.source(name) for name in ASSUMED} == {"assumed"}


def test_what_is_stated_goes_before_what_is_recorded_and_each_says_where_it_is_from():
    settled = settle(Promises(acks="1", unclean=True), parse_stated(["unclean=false"]))
    assert (settled["acks"], settled.source("acks")) == ("1", "recorded")
    assert (settled["unclean"], settled.source("unclean")) == (False, "stated")
    assert settled.source("flush") == "assumed"


def test_how_clients_get_their_partitions_is_read_from_their_operations_unless_it_was_said():
    assert settle(None, None, {"subscribe", "poll"})["assignment"] == "subscribe"
    assert settle(None, None, {"assign", "poll"})["assignment"] == "assign"
    assert settle(Promises(assignment="assign"), None, {"subscribe"})["assignment"] == "assign"


def test_promises_are_read_as_name_and_value():
    assert parse_stated(["acks=1", "min_insync=2", "flush=True"]) == Promises(acks="1", min_insync=2, flush=True)


@pytest.mark.parametrize(
    "text, said", [("acks", "name=value"), ("speed=1", "there is no promise speed"), ("min_insync=two", "a number from 1")]
)
def test_a_promise_that_is_none_is_told_with_what_is_allowed(text, said):
    with pytest.raises(ValueError, match=said):
        parse_stated([text])
