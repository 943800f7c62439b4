import numpy as np
import pytest

from analysis import cycles, families
from analysis.anomalies import ANOMALIES
from analysis.findings import merge
from analysis.log import Log
from analysis.partition import Columns, Partition
from harness.history.schema import ROWS
from tests.analysis.hand_made import READ_TO_THE_END, Hand, sentence


def narrow(whole: Partition, names: tuple[str, ...]) -> Partition:
    """Only the columns that these anomalies say they need."""
    return Partition(whole.topic, whole.part, {name: whole[name] for name in families.columns_for(names)}, whole.names)


def history(*, sound: bool) -> Partition:
    hand = Hand()
    hand.send(17, 0)
    hand.send(18, 1)
    hand.poll((0, 17), (1, 18))
    hand.final((0, 17), (1, 18) if sound else (1, 99))
    return hand.partition()


def test_every_anomaly_has_a_family_and_one_only():
    listed = [name for check in families.CHECKS for name in check.names] + [name for one in families.JOINED for name in one.names]
    listed += cycles.NAMES
    assert sorted(listed) == sorted(ANOMALIES)
    assert set(families.CORE) <= set(ANOMALIES)


@pytest.mark.parametrize("names", [families.CORE, families.ALL], ids=["core", "all"])
def test_a_sound_partition_is_checked_with_the_columns_asked_for(names):
    log = Log(narrow(history(sound=True), names), READ_TO_THE_END)
    assert list(families.find_in(log, names)) == []
    assert [one.extract(log) for one in families.joined(names)] == [None] * len(families.joined(names))


def test_the_core_reads_few_columns():
    read = families.columns_for(families.CORE)
    assert len(read) == len(set(read)) <= 10 and set(read) <= set(ROWS.names)


def test_what_a_witness_needs_besides_is_read_then_and_once():
    whole, asked = history(sound=False), []

    def load(name: str) -> np.ndarray:
        asked.append(name)
        return whole[name]

    few = narrow(whole, families.CORE)
    found = merge(families.find(Partition("t", 0, Columns(load, few.columns), whole.names), READ_TO_THE_END, families.CORE))
    assert sentence(found, "lost").startswith("Value 18 was sent by process 1 (op 2, 2.000 s)")
    assert sorted(asked) == ["completed", "invoked", "process"]


def test_only_what_was_asked_for_is_told():
    assert set(merge(families.find(history(sound=False), READ_TO_THE_END, ("lost",)))) == {"lost"}
