"""Who can be measured: names mean systems or revisions, and a checkout is gone when it is no longer needed."""

import subprocess

import pytest

from harness.bench.side_by_side.contenders import ROOT, contenders, require
from harness.errors import UserMistake

IS_CHECKOUT = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True).returncode == 0
in_a_checkout = pytest.mark.skipif(not IS_CHECKOUT, reason="this is no git checkout, so there are no revisions")


def test_our_broker_and_kafka_are_known_by_name(tmp_path):
    with contenders(["highwater", "kafka"], tmp_path) as [ours, kafka]:
        assert ours.source == ROOT and not ours.compiles_itself
        assert kafka.source is None and kafka.compiles_itself


@in_a_checkout
def test_a_revision_is_checked_out_beside_the_working_tree_and_gone_afterwards(tmp_path):
    with contenders(["highwater", "HEAD"], tmp_path) as [ours, then]:
        assert then.source is not None and then.source != ours.source and not then.compiles_itself
        assert (then.source / "broker_impl" / "__main__.py").is_file()
    assert not list(tmp_path.iterdir())
    listed = subprocess.run(["git", "-C", str(ROOT), "worktree", "list"], capture_output=True, text=True).stdout
    assert str(tmp_path) not in listed


def test_what_is_neither_a_system_nor_a_revision_is_told():
    with pytest.raises(UserMistake, match="no system `pulsar`, and no such revision"):
        require(["highwater", "pulsar"])


def test_a_system_is_not_compared_with_itself(tmp_path):
    with pytest.raises(UserMistake, match="with itself"), contenders(["highwater", "highwater"], tmp_path):
        pass
