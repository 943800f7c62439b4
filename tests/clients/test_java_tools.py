"""Apache Kafka reads the files our broker wrote, and finds nothing to complain about: logs, indexes, producer snapshots.

The log has several segments, batches of every codec, of plain and of idempotent producers, and a restart in the middle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.systems.kafka_files import KafkaFiles
from tests.clients.confluent_client import ConfluentClient
from tests.clients.conftest import ONE_NODE
from tests.clients.interface import Message
from tests.clients.java_tools import Unavailable, fetch_tools, run_tool
from tests.clients.running import Running

DUMP = "org.apache.kafka.tools.DumpLogSegments"
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
ROUNDS = 6
MESSAGES = 40
COMPLAINT = re.compile(r"isvalid: false|mismatch|non-consecutive|unexpected|exception|error|corrupt|out of order|not found", re.IGNORECASE)
RECORD = re.compile(r"^\| offset: (\d+) ", re.MULTILINE)

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800), ONE_NODE]


@dataclass(frozen=True, slots=True)
class Written:
    folder: Path
    kafka: KafkaFiles
    messages: int

    def files(self, suffix: str) -> list[Path]:
        return sorted(self.folder.glob(f"*{suffix}"))

    def dump(self, suffix: str, *options: str) -> str:
        return run_tool(self.kafka, DUMP, ["--files", ",".join(map(str, self.files(suffix))), *options])


@pytest.fixture(scope="module")
def written(running: Running) -> Iterator[Written]:
    try:
        kafka = fetch_tools()
    except Unavailable as problem:
        pytest.skip(str(problem))
    topic = running.new_topic(segment_bytes=12_000, index_interval_bytes=500)
    client = ConfluentClient(running.bootstrap)
    for round_ in range(ROUNDS):
        for codec in CODECS:
            values = [Message(b"%d-%d " % (round_, index) * 30, b"key", (("header", codec.encode()),)) for index in range(MESSAGES)]
            client.produce(topic, values, codec=codec, idempotent=round_ % 2 == 1)
        if round_ == ROUNDS // 2:
            running.stop(1)
            running.start(1)
            running.wait_for_leader(topic)
    running.stop(1)
    yield Written(running.folder(topic, node=1), kafka, ROUNDS * len(CODECS) * MESSAGES)
    running.start(1)


def test_every_record_of_every_segment_is_read(written: Written) -> None:
    dumped = written.dump(".log", "--deep-iteration", "--print-data-log", "--max-message-size", str(2 << 20))
    assert not COMPLAINT.search(dumped), COMPLAINT.search(dumped)
    assert [int(offset) for offset in RECORD.findall(dumped)] == list(range(written.messages))
    assert len(written.files(".log")) > 3
    assert {codec for codec in CODECS if f"compresscodec: {codec}" in dumped} == set(CODECS)


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_the_indexes_agree_with_the_log(written: Written, suffix: str) -> None:
    assert any(path.stat().st_size for path in written.files(suffix)), "there is something to check"
    dumped = written.dump(suffix, "--deep-iteration")
    assert not COMPLAINT.search(dumped), dumped


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_the_indexes_pass_the_sanity_check(written: Written, suffix: str) -> None:
    dumped = written.dump(suffix, "--index-sanity-check")
    assert dumped.count("passed sanity check") == len(written.files(suffix)), dumped


def test_the_producer_snapshots_are_read(written: Written) -> None:
    dumped = written.dump(".snapshot")
    assert not COMPLAINT.search(dumped), dumped
    assert len(set(re.findall(r"producerId: (\d+)", dumped))) == ROUNDS // 2 * len(CODECS)


def test_the_leader_epochs_are_written_as_kafka_writes_them(written: Written) -> None:
    version, count, *entries = (written.folder / "leader-epoch-checkpoint").read_text().splitlines()
    assert (version, int(count)) == ("0", len(entries))
    epochs = [tuple(map(int, entry.split())) for entry in entries]
    assert epochs == sorted(epochs) and len(epochs) > 1
