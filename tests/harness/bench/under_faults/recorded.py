"""A run's folder without a run: a level load of ten seconds, some faults, and everything read in the end but what is to be lost."""

from harness.bench.under_faults.dips import SECOND
from harness.history.beside import PROVEN, Fault, Final, write_rows
from harness.history.plan import Plan, Promises, write_plan
from harness.history.recorder import Polled, Recorder
from harness.history.schema import Outcome, Phase

RATE = 200
ENDS_S = 10


def record_run(run, *, acks="all", faults=(), silent=None, lost=(), never=()):
    """Faults as (kind, start, end), `silent` as (start, end), all in seconds; `lost` and `never` (acknowledged) are numbers of sends."""
    with Recorder(run, 0, segment_slots=4096) as recorder:
        recorder.phase = Phase.RUN
        stored: list[int] = []
        for number in range(RATE * ENDS_S):
            due = number * SECOND // RATE
            slot = recorder.invoke_send(0, 0, number, 0, "t", 0, None, number, due, due)
            if number in never:
                recorder.complete(slot, Outcome.INFO, "_MSG_TIMED_OUT", None, None, None, due + 5_000_000)
                continue
            waits = silent is not None and silent[0] * SECOND <= due < silent[1] * SECOND
            recorder.complete(slot, Outcome.OK, None, len(stored), None, None, silent[1] * SECOND if waits else due + 5_000_000)
            stored.append(number)
        recorder.phase = Phase.FINAL
        after = (ENDS_S + 5) * SECOND
        kept = [Polled("t", 0, offset, None, value) for offset, value in enumerate(stored) if value not in lost]
        recorder.assigned(1, 10_000, [("t", 0)], [], after, after + 1)
        recorder.polled(1, 10_001, kept, after + 2, after + 3)
    rows = [
        Fault(number, kind, "leader", ["n1"], start * SECOND, start * SECOND, end * SECOND, "{}", "{}", PROVEN)
        for number, (kind, start, end) in enumerate(faults, start=1)
    ]
    write_rows(run, Fault, rows)
    write_rows(run, Final, [Final("t", 0, 0, len(stored), kept[-1].offset, 1, after, after + 3)])
    promises = Promises(acks, 3, 2, False, False, acks == "all", 5, "read_uncommitted", "assign", False)
    write_plan(run, Plan(1, promises))
    return run
