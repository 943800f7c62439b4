"""A quick part of `./highwater prove`: broken brokers on real clusters, each caught by the faults its plan scripts, and the sound broker
through the same plans. All of them, with more seeds and confirmed on Spark, are the campaign's business."""

import pytest

from harness.prove.cluster_arm import ClusterArm
from harness.prove.defects import find_defects
from harness.prove.judges import judge_by_reference
from tests.harness.nodes.kinds import missing

QUICK = find_defects(
    [
        "fetch-of-another-partition",
        "no-duplicate-detection",
        "recovery-keeps-torn-batch",
        "recovery-skips-tail",
        "time-index-off-by-one",
        "truncates-to-watermark",
    ]
)
PATIENCE_S = 900
"""Of a machine that stalls: a cycle takes some fifteen seconds, and one that catches nothing is followed by another."""


@pytest.fixture
def arm(tmp_path):
    if reason := missing("namespaces"):
        pytest.skip(reason)
    said = list[str]()
    yield ClusterArm(tmp_path, judge_by_reference, lambda run, anomaly: anomaly, said.append)
    print("\n".join(said))


@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.parametrize("defect", QUICK, ids=lambda defect: defect.name)
def test_a_broken_broker_is_caught(arm, defect):
    attempt = arm.try_defect(defect, seed=1)
    assert attempt.caught, attempt.tried
    assert attempt.by in defect.anomalies


@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.parametrize("plan", sorted({defect.plan for defect in QUICK}))
def test_the_sound_broker_is_not_accused_by_the_same_plan(arm, plan):
    attempt = arm.try_sound(plan, seed=1, cycles=1)
    assert not attempt.caught, f"{attempt.by}: {attempt.witness}"
    assert attempt.messages > 0
    assert attempt.cycles - attempt.undecided == 1
