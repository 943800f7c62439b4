"""Which circles there are is told by the corpus; here is how they are told, and that what is left out could not have been one."""

import numpy as np
import pytest

from analysis import cycles
from analysis.context import Context
from analysis.findings import merge
from harness.history.schema import Function, Kind
from tests.analysis.hand_made import FAIL, INFO, OK, Hand

EVERYTHING = cycles.Spans(True, stretches=np.array([[-(2**62), 2**62]]))


def search(*hands: Hand, within: cycles.Spans | None = None, context: Context = Context()) -> dict:  # noqa: B008
    """By name, the identity of each circle; as a driver finds them unless told where to look."""
    logs = [hand.log(context) for hand in hands]
    if within is None:
        within = cycles.join_spans([found for log in logs if (found := cycles.spans(log)) is not None])
    edges = [edge for log in logs if (edge := cycles.edges(log, within)) is not None]
    return merge(cycles.search(cycles.join_edges(edges))) if edges else {}


def test_a_circle_over_two_partitions_is_told_step_by_step_from_its_smallest_operation():
    first, second = Hand("t", 0), Hand("t", 1)
    for hand, values in ((first, (10, 20)), (second, (21, 11))):
        for offset, value in enumerate(values):
            hand.send(value, offset, op=value // 10, process=value // 10, kind=Kind.TXN, at=1, completed=2)
    (witness,) = search(first, second)["G0"].witnesses
    assert witness.sentence == (
        "T1 is op 1 of process 1 (invoked at 1.000 s, over at 2.000 s), T2 is op 2 of process 2 (invoked at 1.000 s, over at 2.000 s). "
        "T1 is before T2, because in t-0 its value 10 at offset 0 is followed by T2's value 20 at offset 1; "
        "T2 is before T1, because in t-1 its value 21 at offset 0 is followed by T1's value 11 at offset 1: a contradiction."
    )
    assert (witness.identity, witness.ops) == ((1,), (1, 2))


def test_a_circle_with_real_time_says_when_one_was_over_and_the_other_began():
    hand = Hand()
    hand.send(11, 1, op=1, at=0, completed=9)
    hand.poll((1, 11), op=2, at=0, completed=1)
    hand.send(10, 0, op=3, at=2, completed=3, process=3)
    found = search(hand)
    assert list(found) == ["G1c-realtime"]
    assert found["G1c-realtime"].witnesses[0].sentence == (
        "T1 is op 1 of process 1 (invoked at 0.000 s, over at 9.000 s), T2 is op 2 of process 2 (invoked at 0.000 s, over at 1.000 s), "
        "T3 is op 3 of process 3 (invoked at 2.000 s, over at 3.000 s). "
        "T1 is before T2, because T2 polled its value 11 at offset 1 of t-0; "
        "T2 is before T3, because it was over at 1.000 s, and T3 began at 2.000 s; "
        "T3 is before T1, because in t-0 its value 10 at offset 0 is followed by T1's value 11 at offset 1: a contradiction."
    )


def test_an_anti_dependency_is_told_with_the_end_that_was_seen():
    first, second = Hand("t", 0), Hand("t", 1)
    first.send(10, 5, op=1, kind=Kind.TXN, at=0)
    second.send(20, 0, op=1, kind=Kind.TXN, at=0)
    first.row(Function.END, Kind.POLL, op=2, process=2, offset=3, at=0)
    second.poll((0, 20), op=2, at=0)
    (witness,) = search(first, second)["G-single"].witnesses
    assert witness.sentence.endswith(
        "T1 is before T2, because T2 polled its value 20 at offset 0 of t-1; "
        "T2 is before T1, because it was told that t-0 ends at offset 3, where T1's value 10 lies at offset 5: a contradiction."
    )


def test_plain_sends_and_polls_that_overlap_leave_nothing_to_be_searched():
    hand = Hand()
    for number in range(100):
        hand.send(number, number, process=number % 7, at=number - number % 3, completed=number + 9)
        hand.poll((number, number), at=number, completed=number + 1, process=20)
    found = cycles.spans(hand.log())
    assert found is not None and not found.compound
    assert len(found.stretches) == 1 and len(found) == len(found.arcs) == 0


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("compound", [False, True])
def test_what_is_not_collected_is_no_part_of_a_circle(seed, compound):
    """Operations at random, slightly out of order: the same circles as in the graph of everything."""
    hands = _random_history(np.random.default_rng(seed), compound)
    everything, trimmed = (search(*hands, within=within) for within in (EVERYTHING, None))
    assert _circles(trimmed) == _circles(everything)


@pytest.mark.parametrize("compound", [False, True])
def test_the_random_histories_have_circles_and_lack_them(compound):
    counts = [len(search(*_random_history(np.random.default_rng(seed), compound))) for seed in range(20)]
    assert 0 in counts and max(counts) >= 2


def _circles(found: dict) -> dict[str, tuple[int, list[tuple[int, ...]]]]:
    return {name: (finding.count, [witness.identity for witness in finding.witnesses]) for name, finding in found.items()}


def _random_history(random: np.random.Generator, compound: bool) -> list[Hand]:
    """Two partitions. What lies at an offset was sent about then; polls read a few in a row, of either or both partitions."""
    hands = [Hand("t", 0), Hand("t", 1)]
    count, outcomes = 30, (OK, OK, OK, OK, INFO, FAIL)
    spread = random.choice([0.1, 2.0, 6.0])
    moments = np.arange(count) + random.uniform(-spread, spread, count)
    op, polled = 0, [0, 0]
    for number in range(count):
        op, part = op + 1, int(random.integers(2))
        at, length, outcome = float(moments[number]), float(random.uniform(0.1, 4)), outcomes[random.integers(len(outcomes))]
        about = {"op": op, "process": op, "at": at, "completed": at + length, "outcome": outcome}
        if random.random() < 0.5:
            several = compound and random.random() < 0.5
            kind = Kind.TXN if several else Kind.SEND
            hands[part].send(100 + number, number, kind=kind, **about)
            if several:
                hands[1 - part].send(200 + number, number + int(random.integers(3) * spread) + 50, kind=kind, micro=1, **about)
        else:
            for where in {part, int(random.integers(2))}:
                start, polled[where] = polled[where], number
                hands[where].poll(*((offset, 100 + offset) for offset in range(start, number, 2)), **about)
    return hands
