"""Suites: tables become every combination, and what no broker could serve is refused with its reason."""

import pytest

from harness.bench.suites.case import Case, client_settings, names_of, topic_settings
from harness.bench.suites.suite import build_suite, read_suite, shipped_suites
from harness.errors import UserMistake


def suite_of(**table):
    return build_suite({"name": "mine", "description": "", "matrix": [table]}, "mine.toml")


def test_a_table_stands_for_every_combination_of_its_values():
    cases = suite_of(acks=["0", "1", "all"], record_bytes=[100, 1024]).cases
    assert [(case.acks, case.record_bytes) for case in cases] == [(acks, size) for acks in ("0", "1", "all") for size in (100, 1024)]


def test_a_case_that_two_tables_name_is_measured_once():
    suite = build_suite({"name": "mine", "description": "", "matrix": [{"acks": ["1", "all"]}, {"acks": "all"}]}, "mine.toml")
    assert [case.acks for case in suite.cases] == ["1", "all"]


@pytest.mark.parametrize(
    "table, told",
    [
        ({"replicas": 4}, "4 replicas on 3 nodes"),
        ({"replicas": 1}, "min_insync 2 of 1 replicas"),
        ({"acks": "1", "idempotence": True}, "an idempotent producer needs acks=all"),
        ({"acks": "2"}, "matrix.0.acks"),
        ({"record_bites": 100}, "matrix.0.record_bites"),
        ({"partitions": 0}, "matrix.0.partitions"),
    ],
)
def test_a_case_that_cannot_be_is_refused_and_the_reason_told(table, told):
    with pytest.raises(UserMistake, match=r"mine\.toml") as refused:
        suite_of(**table)
    assert told in str(refused.value)


def test_every_mistake_is_told_at_once():
    with pytest.raises(UserMistake) as refused:
        suite_of(acks="2", partitions=0)
    assert "matrix.0.acks" in str(refused.value) and "matrix.0.partitions" in str(refused.value)


def test_an_unknown_suite_is_told_with_those_there_are():
    with pytest.raises(UserMistake, match="acks, full, quick, scaling"):
        read_suite("quik")


def test_the_shipped_suites_measure_at_least_five_rounds_and_cover_what_people_ask():
    suites = shipped_suites()
    assert set(suites) == {"acks", "full", "quick", "scaling"}
    assert all(suite.method.rounds >= 5 for suite in suites.values())
    full = suites["full"].cases
    assert {case.record_bytes for case in full} == {100, 1024, 10_240}
    assert {case.compression for case in full} == {"none", "gzip", "snappy", "lz4", "zstd"}
    assert {case.replicas for case in full} == {1, 3} and {case.min_insync for case in full} == {1, 2, 3}
    assert any(case.flush_messages for case in full) and any(case.idempotence for case in full)
    assert {case.partitions for case in suites["scaling"].cases} == {1, 16, 256, 1000}
    assert {case.producers for case in suites["scaling"].cases} == {1, 4, 16}


def test_the_acks_suite_has_every_acks_setting_and_single_messages():
    cases = read_suite("acks").cases
    assert {case.acks for case in cases if case.batch_messages > 1} == {"0", "1", "all"}
    assert {case.acks for case in cases if case.batch_messages == 1} == {"1", "all"}


def test_names_say_what_tells_cases_apart_and_nothing_else():
    assert names_of([Case(acks="1"), Case(acks="all", batch_messages=1, linger_ms=0)]) == [
        "acks=1",
        "acks=all, single messages",
    ]
    assert names_of([Case(record_bytes=100), Case(record_bytes=1024)]) == ["100 B", "1 KiB"]
    assert names_of([Case()]) == ["acks=all"]
    assert names_of([Case(partitions=1), Case(partitions=1000)]) == ["1 partition", "1,000 partitions"]


def test_a_case_is_named_by_its_load_and_not_by_what_is_measured():
    assert Case(measure=("throughput",)).key == Case().key != Case(linger_ms=1).key


def test_settings_follow_from_the_case():
    case = Case(acks="all", flush_messages=1, idempotence=True, compression="zstd", batch_messages=1, segment_bytes=1 << 20)
    assert topic_settings(case)["flush.messages"] == "1" and topic_settings(case)["segment.bytes"] == str(1 << 20)
    assert topic_settings(Case())["flush.messages"] == str((1 << 63) - 1)
    settings = client_settings(case)
    assert (settings["acks"], settings["enable.idempotence"], settings["compression.type"]) == ("all", "true", "zstd")
    assert settings["batch.num.messages"] == 1
