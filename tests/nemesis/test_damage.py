"""Damaged files of real brokers: looked at on the disk, and mended by the broker from its replicas."""

import time
from pathlib import Path

from nemesis.damage import has_index, has_tail
from nemesis.nemesis import PROVEN, UNPROVEN
from tests.nemesis.cluster import Running, eventually, fill, planned, told


def sizes(system, node: str, topic: str, pattern: str) -> dict[str, int]:
    folder = Path(system.data_path(node))
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.glob(f"{topic}-*/{pattern}")}


def contents(system, topic: str) -> dict[str, list[list[int | None]]]:
    """What each node has of the topic, a list a partition."""
    found: dict[str, list[list[int | None]]] = {}
    for replica in system.dump(int):
        if replica.topic == topic:
            found.setdefault(replica.node, []).append(replica.records["value"])
    return found


def test_a_torn_tail_is_shorter_on_disk_and_fetched_again_after_the_restart(nodes, system, nemesis):
    fill(nodes, system, "torn", 200)
    before = sizes(system, "n1", "torn", "*.log")
    with Running(nemesis, planned("torn-tail", target="n1", how="cut", bytes=50)) as struck:
        assert told(struck.proof())["n1"]["changed"] >= 2
        assert sizes(system, "n1", "torn", "*.log") == {name: size - 50 for name, size in before.items()}
    assert struck.end()[0].state == PROVEN
    eventually(lambda: contents(system, "torn")["n1"] == [list(range(0, 200, 2)), list(range(1, 200, 2))])


def test_a_garbled_tail_keeps_its_length_and_is_not_believed(nodes, system, nemesis):
    fill(nodes, system, "garbled", 200)
    before = sizes(system, "n2", "garbled", "*.log")
    with Running(nemesis, planned("torn-tail", target="n2", how="garble", bytes=50)) as struck:
        struck.proof()
        assert sizes(system, "n2", "garbled", "*.log") == before
    assert struck.end()[0].state == PROVEN
    eventually(lambda: contents(system, "garbled")["n2"] == contents(system, "garbled")["n3"])


def test_deleted_indexes_are_gone_and_made_anew(nodes, system, nemesis):
    fill(nodes, system, "indexed", 2)
    assert sizes(system, "n3", "indexed", "*index")
    with Running(nemesis, planned("deleted-index", target="n3", which="both")) as struck:
        struck.proof()
        assert sizes(system, "n3", "indexed", "*index") == {}
    assert struck.end()[0].state == PROVEN
    assert len(sizes(system, "n3", "indexed", "*.index")) == 2


def test_a_strike_waits_for_a_tail_where_everything_is_flushed(nodes, system, nemesis):
    assert system.stop_node("n1", 60.0)
    system.start_node("n1")
    system.wait_up(["n1"])
    assert not has_tail(nodes.nodes[0], system.data_path("n1"))
    with Running(nemesis, planned("torn-tail", target="n1", how="cut", bytes=50)) as struck:
        fill(nodes, system, "late", 20)
        assert told(struck.proof())["n1"]["changed"] > 0
    assert struck.end()[0].state == PROVEN


def test_a_strike_waits_for_an_index_where_there_is_none(nodes, system, nemesis):
    fill(nodes, system, "bare", 20)
    data = Path(system.data_path("n2"))
    for index in data.glob("*/*.timeindex"):
        index.unlink()
    assert not has_index(nodes.nodes[1], str(data), (".timeindex",))
    with Running(nemesis, planned("deleted-index", target="n2", which="time")) as struck:
        fill(nodes, system, "indexed-later", 20)
        assert told(struck.proof())["n2"]["changed"] > 0
    assert struck.end()[0].state == PROVEN


def test_files_that_did_not_change_prove_nothing(nodes, system, nemesis, monkeypatch):
    fill(nodes, system, "unchanged", 20)
    monkeypatch.setattr("nemesis.torn_tail.tear_tails", lambda *arguments: None)
    [row] = nemesis.run([planned("torn-tail", target="n1", end=0.1, how="cut", bytes=50)], time.monotonic())
    assert row.state == UNPROVEN
    assert told(row)["n1"]["changed"] == 0
