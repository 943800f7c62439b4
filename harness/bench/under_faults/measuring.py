"""A run an acks setting, one after the other, each with a cluster of its own; then its files become figures.

What was acknowledged and is missing in the end is counted from a complete final read, or the figures say that nobody can tell.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.bench.under_faults.dips import rate_of
from harness.bench.under_faults.figures import KindFigures, Latency, Span, Strike, calm_latency, kind_figures, strikes_of
from harness.bench.under_faults.plan import FaultedLoad, scenario_for
from harness.bench.under_faults.sends import read_sends
from harness.bench.verified import Checked, check_run
from harness.errors import EnvironmentFault
from harness.history.beside import UNPROVEN, Fault, read_rows
from harness.run import prepare, run_scenario
from harness.run.display import PlainLines
from harness.run.interrupts import Interrupts
from workloads.clients import Acks

KEPT_UP, CAUGHT_UP = 0.9, 1.25


@dataclass(frozen=True, slots=True)
class AcksUnderFaults:
    """Of one acks setting. `doubts` say why a figure may not be what it looks like: a fault not proven, an end not read.

    `checked`: the verdict on the whole history, where it was asked for.
    """

    acks: Acks
    run: str
    sent: int
    acknowledged: int
    rate: float
    calm: Latency
    kinds: tuple[KindFigures, ...]
    strikes: tuple[Strike, ...]
    doubts: tuple[str, ...]
    checked: Checked | None = None

    def of(self, kind: str) -> KindFigures | None:
        return next((figures for figures in self.kinds if figures.kind == kind), None)


@dataclass(frozen=True, slots=True)
class UnderFaults:
    """`session_s`: how long a broker may be silent before the cluster takes it for dead."""

    load: FaultedLoad
    session_s: float
    acks: tuple[AcksUnderFaults, ...]
    seconds: float


def measure_under_faults(
    load: FaultedLoad, acks: Sequence[Acks], results: Path, *, verify: bool = False, tell: Callable[[str], None] = lambda _: None
) -> UnderFaults:
    """The runs are kept there like any other. `verify`: each is checked on Spark. Ctrl-C ends the one under way and is raised again."""
    began = time.monotonic()
    found = []
    for one in acks:
        figures = measure_acks(load, one, results, tell)
        found.append(replace(figures, checked=check_run(Path(figures.run))) if verify else figures)
    session = int(scenario_for(load, "all").broker["broker.session.timeout.ms"]) / 1000
    return UnderFaults(load, session, tuple(found), time.monotonic() - began)


def measure_acks(load: FaultedLoad, acks: Acks, results: Path, tell: Callable[[str], None] = lambda _: None) -> AcksUnderFaults:
    tell(f"acks={acks}: {len(load.strikes)} faults in {load.seconds:.0f} s")
    with Interrupts() as interrupts:
        outcome = run_scenario(prepare(scenario_for(load, acks)), results, PlainLines(lambda _: None), interrupts)
    if outcome.interrupted:
        raise KeyboardInterrupt
    return figures_of(outcome.folder, acks, load.rate, outcome.doubts)


def figures_of(run: Path, acks: Acks, wanted: float, doubts: Sequence[str] = ()) -> AcksUnderFaults:
    """Of a run that is over: its history and its faults, as they lie in its folder. `wanted` is the rate that was asked for."""
    sends = read_sends(run)
    rows = read_rows(run, Fault)
    faults = sorted((Span(_kind(row), row.start, row.end) for row in rows if row.start is not None and row.end is not None), key=_start)
    if not faults or not len(sends.due):
        raise EnvironmentFault(f"{run}: no fault took place, or nothing was sent; see its logs")
    acknowledged = sends.acknowledgements
    load_ends = int(sends.due[-1])
    strikes = strikes_of(sends, faults, load_ends)
    kinds = dict.fromkeys(fault.kind for fault in faults)
    unproven = [f"fault {row.id} ({row.fault}) was not proven" for row in rows if row.state == UNPROVEN]
    return AcksUnderFaults(
        acks,
        str(run),
        len(sends.due),
        len(acknowledged),
        rate_of(acknowledged, int(sends.due[0]), faults[0].start),
        calm_latency(sends, faults),
        tuple(kind_figures(kind, strikes, sends, faults, load_ends) for kind in kinds),
        tuple(strikes),
        tuple(dict.fromkeys((*doubts, *unproven, *_not_kept_up(strikes, wanted)))),
    )


def _not_kept_up(strikes: Sequence[Strike], wanted: float) -> Iterator[str]:
    """Where the load is not level before a fault, nobody can tell what the fault did to it."""
    rates = [strike.rate_before for strike in strikes if not KEPT_UP * wanted <= strike.rate_before <= CAUGHT_UP * wanted]
    if rates:
        yield (
            f"before {len(rates)} of {len(strikes)} faults the load was not level ({min(rates):,.0f} to {max(rates):,.0f} acknowledged "
            f"a second of {wanted:,.0f} due): the machine is too busy for this rate; --rate asks for less"
        )


def _kind(row: Fault) -> str:
    return row.fault.partition(":")[0]


def _start(span: Span) -> int:
    return span.start
