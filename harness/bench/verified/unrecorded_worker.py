"""The worker of a run without its recorder: `python -m harness.bench.verified.unrecorded_worker --plan FILE --worker N`.

Everything else is the same code, so what the two differ by is the cost of recording.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException

from harness.history.recorder import Recorder
from harness.history.schema import Phase
from workloads.worker import Commands, drive
from workloads.worker_plan import load_plan


class Forgetful(Recorder):
    """Takes what a recorder takes and keeps nothing."""

    def __init__(self) -> None:
        self.phase = Phase.WARM_UP

    def invoke_send(self, *_: Any, **__: Any) -> int:
        return 0

    def complete(self, *_: Any, **__: Any) -> None:
        pass

    def close(self) -> None:
        pass


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m harness.bench.verified.unrecorded_worker")
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--worker", type=int, required=True)
    given = parser.parse_args()
    commands = Commands(sys.stdin.fileno())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        drive(load_plan(given.plan), given.worker, Forgetful(), commands, sys.stdout).report_end()
    except (KafkaException, OSError, ValueError) as problem:
        print(f"worker {given.worker}: {problem}", file=sys.stderr)
        return 255
    return 0


if __name__ == "__main__":
    sys.exit(main())
