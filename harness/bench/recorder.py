"""`bench recorder`: what recording a history costs, without a broker.

One process, as a worker is: sends whose delivery reports come in batches while others are under way, polls of 500 messages. Times, offsets
and keys are spread as in a run, since evenly counted ones would shrink to nothing in Parquet. Segments fill and are converted while
the recorder goes on, so that cost is inside the rates.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from harness.bench.goals import Goal
from harness.bench.report import PLAIN_WIDTH, number
from harness.history.readers import open_history
from harness.history.recorder import SEGMENT_SLOTS, Polled, Recorder
from harness.history.schema import Outcome, first_number

FULL_ROWS = 3_000_000
QUICK_ROWS = 300_000
SENDS_A_SECOND_GOAL = 150_000
BYTES_A_ROW_GOAL = 25

PARTITIONS = [(f"topic-{number}", part) for number in range(5) for part in range(2)]
IN_FLIGHT = 5_000
POLLED_AT_ONCE = 500
AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class RecorderReport:
    rows: int
    sends_s: float
    sends_cpu_s: float
    polls_s: float
    polls_cpu_s: float
    send_bytes: float
    poll_bytes: float
    longest_pause_ms: float
    converted_rows_s: float
    read_rows_s: float

    def goals(self) -> list[Goal]:
        return [
            Goal("sends with delivery reports, a process", self.sends_s, "rows/s", SENDS_A_SECOND_GOAL, True),
            Goal("sends in Parquet", self.send_bytes, "bytes a row", BYTES_A_ROW_GOAL, False),
            Goal("polls in Parquet", self.poll_bytes, "bytes a row", BYTES_A_ROW_GOAL, False),
        ]


@dataclass(frozen=True, slots=True)
class Message:
    topic: str
    part: int
    key: int
    offset: int
    invoked: int
    completed: int


class Pace:
    """How long the recorded calls took, by the wall and in CPU time of the thread that made them."""

    def __init__(self) -> None:
        self._rows = 0
        self._wall = self._cpu = self.longest = 0.0

    @contextmanager
    def of(self, rows: int) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.thread_time()
        yield
        wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
        self._rows += rows
        self._wall += wall
        self._cpu += cpu
        self.longest = max(self.longest, wall)

    @property
    def rows_s(self) -> float:
        return self._rows / self._wall

    @property
    def rows_cpu_s(self) -> float:
        return self._rows / self._cpu


def run_recorder(*, quick: bool = False, json_path: Path | None = None) -> None:
    with tempfile.TemporaryDirectory(prefix="highwater-bench-") as name:
        report = measure_recorder(Path(name), QUICK_ROWS if quick else FULL_ROWS)
    show_recorder(report)
    if json_path is not None:
        json_path.write_text(json.dumps(asdict(report), indent=2) + "\n")


def measure_recorder(directory: Path, rows: int, segment_slots: int = SEGMENT_SLOTS) -> RecorderReport:
    messages = _messages(min(rows, 200_000))
    sends = _record_sends(directory / "sends", rows, messages, segment_slots)
    polls = _record_polls(directory / "polls", rows, messages, segment_slots)
    converted_s = _convert(directory / "converted", min(rows, segment_slots), messages, segment_slots)
    return RecorderReport(
        rows=rows,
        sends_s=sends.rows_s,
        sends_cpu_s=sends.rows_cpu_s,
        polls_s=polls.rows_s,
        polls_cpu_s=polls.rows_cpu_s,
        send_bytes=_bytes_a_row(directory / "sends"),
        poll_bytes=_bytes_a_row(directory / "polls"),
        longest_pause_ms=sends.longest * 1000,
        converted_rows_s=converted_s,
        read_rows_s=_read(directory / "sends"),
    )


def show_recorder(report: RecorderReport) -> None:
    console = Console() if sys.stdout.isatty() else Console(width=PLAIN_WIDTH, color_system=None)
    console.print(f"{report.rows:,} rows of each, one process, segments converted meanwhile", highlight=False)
    table = Table(box=None, pad_edge=False)
    for column in ("what", "reached", "wanted", ""):
        table.add_column(column)
    for goal in report.goals():
        wanted = f"{'>=' if goal.at_least else '<'} {number(goal.wanted)}"
        table.add_row(goal.what, f"{number(goal.reached)} {goal.unit}", wanted, "met" if goal.met else "not met")
    table.add_row("the sends by CPU time of their thread", f"{number(report.sends_cpu_s)} rows/s")
    table.add_row("polls", f"{number(report.polls_s)} rows/s")
    table.add_row("the polls by CPU time of their thread", f"{number(report.polls_cpu_s)} rows/s")
    table.add_row("from slots to Parquet", f"{number(report.converted_rows_s)} rows/s")
    table.add_row("read back, all columns, one thread", f"{number(report.read_rows_s)} rows/s")
    table.add_row(f"longest time for {AT_ONCE:,} sends or reports", f"{number(report.longest_pause_ms)} ms")
    console.print(table)


def _record_sends(run: Path, rows: int, messages: Sequence[Message], segment_slots: int) -> Pace:
    """Arguments are made outside the time that counts; a delivery report comes IN_FLIGHT sends after its send."""
    recorder = Recorder(run, 1, segment_slots=segment_slots)
    pace = Pace()
    under_way: deque[tuple[list[int], list[tuple[int, int, int]]]] = deque()
    for start in range(0, rows, AT_ONCE):
        batch = [_send(messages, index) for index in range(start, min(start + AT_ONCE, rows))]
        with pace.of(len(batch)):
            slots = [
                recorder.invoke_send(1, 1, value, 0, topic, part, key, value, now - 40_000, now) for value, topic, part, key, now in batch
            ]
        under_way.append((slots, [_report(messages, index) for index in range(start, start + len(batch))]))
        if len(under_way) > IN_FLIGHT // AT_ONCE:
            _deliver(recorder, *under_way.popleft(), pace)
    while under_way:
        _deliver(recorder, *under_way.popleft(), pace)
    recorder.close()
    return pace


def _deliver(recorder: Recorder, slots: list[int], reports: list[tuple[int, int, int]], pace: Pace) -> None:
    with pace.of(0):
        for slot, (offset, timestamp, now) in zip(slots, reports, strict=True):
            recorder.complete(slot, Outcome.OK, None, offset, timestamp, 5, now)


def _send(messages: Sequence[Message], index: int) -> tuple[int, str, int, int, int]:
    message, later = _message(messages, index)
    return first_number(1) + index, message.topic, message.part, message.key, message.invoked + later


def _report(messages: Sequence[Message], index: int) -> tuple[int, int, int]:
    message, later = _message(messages, index)
    completed = message.completed + later
    return message.offset + index // len(messages) * len(messages), completed // 1_000_000, completed


def _record_polls(run: Path, rows: int, messages: Sequence[Message], segment_slots: int) -> Pace:
    recorder = Recorder(run, 1, segment_slots=segment_slots)
    pace = Pace()
    first = first_number(1)
    for start in range(0, rows, POLLED_AT_ONCE):
        batch = [_polled(messages, index) for index in range(start, min(start + POLLED_AT_ONCE, rows))]
        message, later = _message(messages, start)
        with pace.of(len(batch)):
            recorder.polled(1, first + start, batch, message.invoked + later, message.completed + later)
    recorder.close()
    return pace


def _polled(messages: Sequence[Message], index: int) -> Polled:
    message, _ = _message(messages, index)
    offset, timestamp, _ = _report(messages, index)
    return Polled(message.topic, message.part, offset, message.key, first_number(1) + index, timestamp, 5)


def _convert(run: Path, rows: int, messages: Sequence[Message], segment_slots: int) -> float:
    """One segment and nothing else to do meanwhile."""
    recorder = Recorder(run, 1, segment_slots=segment_slots)
    for index in range(rows):
        message, later = _message(messages, index)
        invoked = message.invoked + later
        slot = recorder.invoke_send(1, 1, index, 0, message.topic, message.part, message.key, index, invoked, invoked)
        recorder.complete(slot, Outcome.OK, None, message.offset, invoked // 1_000_000, 5, message.completed + later)
    started = time.perf_counter()
    recorder.close()
    return rows / (time.perf_counter() - started)


def _read(run: Path) -> float:
    history = open_history(run)
    started = time.perf_counter()
    for bucket in history.filled_buckets():
        history.read(bucket)
    return history.rows / (time.perf_counter() - started)


def _bytes_a_row(run: Path) -> float:
    history = open_history(run)
    return sum(file.path.stat().st_size for file in history.files) / history.rows


def _message(messages: Sequence[Message], index: int) -> tuple[Message, int]:
    """Message of a row, and how much later than written there it happens: they are used again and again."""
    return messages[index % len(messages)], index // len(messages) * messages[-1].completed


def _messages(count: int) -> list[Message]:
    rng = random.Random(7)
    ends = dict.fromkeys(PARTITIONS, 0)
    weights = [2.0**-position for position in range(len(PARTITIONS))]
    now = 0
    made = []
    for _ in range(count):
        now += rng.randrange(1_000, 90_000)
        one = rng.choices(PARTITIONS, weights)[0]
        ends[one] += 1
        made.append(Message(*one, rng.randrange(1_000), ends[one], now, now + rng.randrange(2_000_000, 12_000_000)))
    return made
