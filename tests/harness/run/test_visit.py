"""A run against brokers that somebody else started: clients and topics come and go, and the brokers are left as they were."""

import signal
from collections.abc import Iterator

import pytest

from harness.history.beside import Batch, Final, read_rows
from harness.history.plan import read_plan
from harness.history.readers import open_history
from harness.systems.external_system import ExternalSystem
from harness.systems.local_cluster import LocalCluster
from tests.harness.run.running import SMALL, UNCHECKED, RunProcess, eventually, processes_in

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def brokers(tmp_path_factory) -> Iterator[LocalCluster]:
    with LocalCluster.create(tmp_path_factory.mktemp("somebody-s"), 3) as cluster:
        yield cluster


@pytest.fixture
def flags(brokers) -> list[str]:
    return ["--system", "external", "--bootstrap", brokers.bootstrap, "--fault", "none", "--time-limit", "4"]


@pytest.fixture
def seen(brokers) -> ExternalSystem:
    """What any other client sees."""
    return ExternalSystem.at(brokers.bootstrap.split(","))


def test_it_ends_with_a_verdict_and_the_brokers_have_only_what_they_had(tmp_path, brokers, seen, flags):
    before = [brokers.pid(node) for node in brokers.ids]
    seen.create_topics(["theirs"], 1, 3, {})
    with RunProcess(tmp_path, *SMALL, *flags) as run:
        assert run.end() == 0, run.text
    assert "KEPT ITS PROMISES" in run.text and "0 acknowledged and never read" in run.text
    finals = read_rows(run.folder, Final)
    assert len(finals) == 4 and all(final.topic.startswith(f"highwater-{run.folder.name.rpartition('-')[2]}-t") for final in finals)
    assert all(final.completed is not None for final in finals)
    assert not (run.folder / Batch.FILE).exists()
    assert read_plan(run.folder).promises.flush is None
    assert seen.topics_called("") == ["theirs"]
    assert [brokers.pid(node) for node in brokers.ids] == before and all(map(brokers.alive, brokers.ids))
    assert processes_in(tmp_path) == [] and not (run.folder / "work").exists()


def test_what_a_killed_harness_left_there_is_cleaned(tmp_path, seen, flags):
    with RunProcess(tmp_path, *UNCHECKED, *flags, "--time-limit", "600") as run:
        run.until("run; ")
        run.signal(signal.SIGKILL)
        run.end()
    eventually(lambda: processes_in(tmp_path) == [])
    left = f"highwater-{run.folder.name.rpartition('-')[2]}-"
    assert seen.topics_called(left) == [f"{left}t1", f"{left}t2"]
    with RunProcess(tmp_path, command=["clean"]) as cleaning:
        assert cleaning.end() == 0
    assert f"tidied {run.folder}, and saved what its workers had recorded" in cleaning.text
    assert seen.topics_called(left) == []
    assert open_history(run.folder).rows > 0


def test_topics_that_the_brokers_refuse_end_the_run_with_their_reason(tmp_path, seen, flags):
    with RunProcess(tmp_path, *UNCHECKED, *flags, "--replicas", "5", "--nodes", "5") as run:
        assert run.end() == 255
    assert "cannot be made at" in run.text and "Traceback" not in run.text
    assert seen.topics_called("highwater-") == [] and processes_in(tmp_path) == []
