import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.anomalies import ANOMALIES
from analysis.synth.injections import INJECTIONS
from analysis.synth.plan import SynthesisError, plan_history

ONE_OF_EACH = dict.fromkeys(INJECTIONS, 1)


@given(st.integers(1, 300), st.integers(0, 2**40), st.sampled_from([None, 0.5, 0.9]))
def test_every_anomaly_has_a_full_block_to_itself(partitions, seed, hot):
    plan = plan_history(partitions * 1_000 + 60_000, ONE_OF_EACH, seed, partitions=partitions, hot=hot)
    sites = [site for one in plan.partitions for site in one.sites]
    assert sorted(site.kind for site in sites) == sorted(INJECTIONS)
    assert len({site.number for site in sites}) == len(sites)
    for one in plan.partitions:
        blocks = [site.block for site in one.sites]
        assert blocks == sorted(set(blocks))
        assert all(block % 2 == 1 and block < one.sends // 100 - 1 for block in blocks)


@given(st.integers(2, 3_000), st.integers(1, 8))
def test_what_is_left_over_is_little(rows, partitions):
    if rows >= 2 * partitions:
        assert all(one.idle <= 2 for one in plan_history(rows, {}, 1, partitions=partitions).partitions)


def test_a_hot_partition_has_its_part_of_the_rows():
    plan = plan_history(1_000_000, {}, 1, partitions=10, hot=0.9)
    assert plan.partitions[0].sends / sum(one.sends for one in plan.partitions) == pytest.approx(0.9, abs=0.001)


def test_the_truth_names_every_anomaly_and_adds_up_what_follows_from_each():
    truth = plan_history(100_000, {"lost": 3, "lost-after-read": 1, "duplicate": 2, "ack-conflict": 1}, 1, partitions=4).truth()
    assert list(truth) == list(ANOMALIES)
    assert {name: count for name, count in truth.items() if count} == {
        "inconsistent-offsets": 1, "duplicate": 3, "lost-write": 3, "unseen": 3, "int-poll-skip": 7, "lost": 3, "lost-after-read": 1,
        "ack-conflict": 1,
    }  # fmt: skip


def test_everything_that_can_be_injected_finds_itself():
    assert all(one.finds[name] >= 1 and set(one.finds) <= set(ANOMALIES) for name, one in INJECTIONS.items())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((1_000, {"lost": 3}, 1), "3 anomalies do not fit into so few rows: 1,000 have room for 0"),
        ((100_000, {"lots": 3}, 1), "`lots` cannot be injected; there is: lost, duplicate, "),
        ((3, {}, 1), "3 rows are too few for 2 partitions"),
    ],
)
def test_what_cannot_be_made_is_refused_with_the_reason(arguments, said):
    with pytest.raises(SynthesisError) as refused:
        plan_history(*arguments, partitions=2)
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(("partitions", "hot", "said"), [(0, None, "0 partitions"), (2, 1.0, "hot is 1.0"), (2, 0.0, "hot is 0.0")])
def test_partitions_and_skew_have_bounds(partitions, hot, said):
    with pytest.raises(SynthesisError, match=said):
        plan_history(10_000, {}, 1, partitions=partitions, hot=hot)
