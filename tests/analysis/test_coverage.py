import json
from collections import Counter

import pytest

from analysis.columns import Rows
from analysis.context import Context
from analysis.coverage import STATES, assess, extract, late_landings, leader_changes
from analysis.log import Log
from analysis.partition import partitions_of
from harness.history.beside import PROVEN, Event, Fault
from harness.history.schema import Function, Kind, Outcome
from tests.analysis.histories import MS, NAMES, S, poll, send, table

LOST_SIGHT_OF = send(1, 0, 1, Outcome.INFO)
SCENARIOS_MAY_ASK_FOR = {
    "leader-changed",
    "epoch-fenced",
    "isr-shrunk",
    "isr-grown",
    "isr-change-refused",
    "truncated",
    "duplicate-batch",
    "session-lapsed",
    "controller-changed",
}


def told(event, epoch=1, t=None, isr=(1, 2), part=0):
    return Event(t, "n1", event, "orders", part, epoch, json.dumps({"isr": list(isr)}))


def fault(start, end, selector="one"):
    return Fault(1, "kill", selector, ["n1"], 0, start, end, None, None, PROVEN)


def reach(*events, rows=(), faults=(), acks="all"):
    found = [extract(Rows(table(*rows), NAMES), leader_changes(events))]
    found += [late_landings(Log(partition, Context())) for partition in partitions_of(table(*rows), NAMES)]
    return {name: one["state"] for name, one in assess(found, events, faults, acks).items()}


def test_every_state_a_scenario_may_ask_for_is_known():
    assert set(STATES) >= SCENARIOS_MAY_ASK_FOR


def test_what_brokers_do_not_tell_is_not_observable_and_stalls_of_the_harness_are_not_theirs():
    silent = reach(Event(1, "worker-1", "harness-stalled"))
    assert {silent[name] for name in SCENARIOS_MAY_ASK_FOR} == {"not observable"}
    talking = reach(told("isr-shrunk"))
    assert talking["isr-shrunk"] == "reached" and talking["truncated"] == "not reached"


@pytest.mark.parametrize("event", sorted(SCENARIOS_MAY_ASK_FOR - {"leader-changed", "controller-changed"}))
def test_an_event_that_was_told_is_a_state_that_was_reached(event):
    assert reach(told(event))[event] == "reached"


def test_the_first_leader_and_the_first_controller_are_no_change():
    first = [told("leader-changed", 1), told("leader-changed", 1, part=1), told("controller-changed", 3), told("controller-changed", 3)]
    assert reach(*first)["leader-changed"] == "not reached"
    assert reach(*first)["controller-changed"] == "not reached"
    assert reach(*first, told("leader-changed", 2))["leader-changed"] == "reached"
    assert reach(*first, told("controller-changed", 4))["controller-changed"] == "reached"


def test_an_isr_of_one_and_an_unclean_election_are_read_from_what_leaders_told():
    events = [told("leader-changed", 1, 1, (1, 2)), told("isr-shrunk", 1, 2, (1,))]
    assert reach(*events)["isr-alone"] == "reached"
    assert reach(*events)["unclean-election"] == "not reached"
    assert reach(*events, told("leader-changed", 2, 3, (2,)))["unclean-election"] == "reached"


def test_a_leader_that_changed_while_a_send_was_open_is_told_from_one_that_changed_in_calm():
    events = [told("leader-changed", 1, 0), told("leader-changed", 2, 2 * S)]
    name = "leader-changed-in-flight"
    assert reach(*events, rows=[send(1, S, 3 * S)])[name] == "reached"
    assert reach(*events, rows=[send(1, S, None, Outcome.INFO)])[name] == "reached"
    assert reach(*events, rows=[send(1, S, 3 * S, part=1), send(2, 0, S), send(3, 3 * S, 4 * S)])[name] == "not reached"
    unjoinable = [told("leader-changed", 1), told("leader-changed", 2)]
    assert reach(*unjoinable, rows=[send(1, S, 3 * S)])[name] == "not observable"


@pytest.mark.parametrize(
    "name, rows, twin",
    [
        ("send-refused", [send(1, 0, 1, Outcome.FAIL)], [send(1, 0, 1)]),
        ("send-unknown", [send(1, 0, 1, Outcome.INFO)], [send(1, 0, 1)]),
        (
            "late-landing",
            [LOST_SIGHT_OF, poll(1, 2, 3, offset=0)],
            [LOST_SIGHT_OF, poll(1, 2, 3, part=1, offset=0), poll(2, 2, 3, offset=0)],
        ),
        ("retry-answered", [send(1, 0, 1)], [send(1, 0, 1, offset=5), send(2, 0, 1, Outcome.INFO)]),
        ("client-replaced", [send(1, 0, 1, producer=1), send(2, 0, 1, producer=2)], [send(1, 0, 1, producer=1), send(2, 0, 1, producer=1)]),
        (
            "two-epochs-read",
            [poll(1, 0, MS, leader_epoch=1), poll(2, 0, MS, leader_epoch=2)],
            [poll(1, 0, MS, leader_epoch=1), poll(2, 0, MS, leader_epoch=2, part=1)],
        ),
        ("reader-jumped", [poll(None, 0, 1, kind=Kind.SEEK, f=Function.SEEK)], [poll(1, 0, 1)]),
        ("time-looked-up", [poll(None, 0, 1, kind=Kind.LOOKUP, f=Function.LOOKUP)], [poll(1, 0, 1)]),
    ],
)
def test_what_the_history_shows(name, rows, twin):
    assert reach(rows=rows)[name] == "reached"
    assert reach(rows=twin)[name] == "not reached"


def test_what_a_history_cannot_show_is_not_observable():
    assert reach(rows=[send(1, 0, 1)], acks="0")["retry-answered"] == "not observable"
    assert reach(rows=[poll(1, 0, 1)])["two-epochs-read"] == "not observable"


def test_what_the_faults_show():
    calm = reach(faults=[fault(0, S), fault(2 * S, 3 * S), fault(None, None, "leader")])
    assert {calm[name] for name in ("leader-struck", "controller-struck", "faults-overlapped")} == {"not reached"}
    wild = reach(faults=[fault(0, None, "leaders"), fault(S, 2 * S, "controller")])
    assert {wild[name] for name in ("leader-struck", "controller-struck", "faults-overlapped")} == {"reached"}


def test_what_brokers_tell_while_they_are_shut_down_is_no_state_of_the_run():
    events = [told("leader-changed", 1, 0), told("isr-shrunk", 1, 9)]
    assert assess([], events, [], "all", until=5)["isr-shrunk"]["state"] == "not reached"
    assert assess([], events, [], "all", until=9)["isr-shrunk"]["state"] == "reached"


def test_counts_of_several_tasks_add_up():
    found = assess([Counter({"send-unknown": 2}), Counter({"send-unknown": 3})], [], [], "all")
    assert found["send-unknown"] == {"state": "reached", "count": 5}
    assert found["send-refused"] == {"state": "not reached"}


def test_words_go_by_their_names_whatever_their_numbers():
    names = NAMES | {"outcome": ["fail", "ok"], "f": ["poll", "send"]}
    found = extract(Rows(table(send(1, 0, 1, Outcome.OK, f=1)), names), {})
    assert found["send-refused"] == 1
