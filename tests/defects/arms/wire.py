"""One broker and a client that says what no library would: a producer that leaves out a sequence number."""

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

from broker_impl.protocol.errors import ErrorCode
from harness.systems.local_cluster import LocalCluster
from tests.clients.running import Running
from tests.clients.wire import batch_of

SENDS = 20


def search(running: Running, seed: int) -> tuple[str | None, int]:
    """What was accepted with a gap before it, and after how many messages."""
    rng = random.Random(seed)
    topic = running.new_topic()
    with running.wire_to_leader(topic) as wire:
        producer = wire.new_producer()
        gap_after = rng.randrange(1, SENDS)
        for sequence in range(gap_after):
            assert wire.produce(topic, batch_of(b"in order", producer=producer, sequence=sequence)).error_code == ErrorCode.NONE
        leap = gap_after + rng.randrange(1, 100)
        answer = wire.produce(topic, batch_of(b"early", producer=producer, sequence=leap))
    if answer.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
        return None, gap_after + 1
    return f"sequence gap accepted: {leap} was stored at offset {answer.base_offset} where {gap_after} was to come", gap_after + 1


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.defects.arms.wire", description=__doc__)
    parser.add_argument("--defect", help="plugin to load; left out: the sound broker")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    command = [sys.executable, "-m", "broker_impl", *(["--plugin", given.defect] if given.defect else [])]
    with tempfile.TemporaryDirectory() as folder, LocalCluster.create(Path(folder) / "one", 1, command=command) as cluster:
        found, tried = search(Running(cluster), given.seed)
    print(json.dumps({"found": found, "tried": f"{tried} messages"}))


if __name__ == "__main__":
    main()
