"""The order of a run: deploy, warm up, run under faults, heal, come to rest, read and dump; and however it ends, heal and collect.

Whatever breaks the order (an error, Ctrl-C) ends in the same place as a good run: nothing is left running, and what there is lies in
the run's folder. Load goes on while faults are healed and a little longer, so that the return of service is in the history.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from harness.errors import EnvironmentFault, HighwaterError
from harness.history.stalls import StallWatch
from harness.run import collecting
from harness.run.client_node import clock_ahead
from harness.run.cluster import Cluster
from harness.run.deaths import DeathWatch
from harness.run.display import Display, View
from harness.run.fault_news import FaultNews, faults_on_the_run_s_time, in_short, summary
from harness.run.final_phase import COMPLETE, FinalReads, await_rest
from harness.run.folder import RunFolder
from harness.run.interrupts import Interrupts
from harness.run.leader_watch import LeaderWatch
from harness.run.load_rates import LoadRates
from harness.run.opening import described, open_cluster
from harness.run.outcome import Death, RunOutcome, doubts_about_faults
from harness.run.prepared import Prepared
from harness.run.record import RunRecord
from harness.run.refusals import refuse_what_cannot_be
from harness.run.worker_plans import worker_plan
from harness.run.workers import Workers
from nemesis.healing import await_healed
from nemesis.nemesis import Nemesis
from workloads.payload import Payloads

TICK_S = 1.0
AWAIT_S = 0.2
START_PATIENCE_S = 60.0
FINAL_READER = 1000
"""A worker's number that no worker has."""


def run_scenario(prepared: Prepared, results: Path, display: Display, interrupts: Interrupts | None = None) -> RunOutcome:
    """Carry it out. Refusals and errors of the environment are raised, with everything ended and what there is collected."""
    refuse_what_cannot_be(prepared, results)
    folder = RunFolder.create(results, prepared.scenario.name)
    return Run(prepared, folder, display, interrupts or Interrupts()).carry_out()


class Run:
    """Invariant: what was started is in a field from the moment it exists, so that the end finds it."""

    def __init__(self, prepared: Prepared, folder: RunFolder, display: Display, interrupts: Interrupts) -> None:
        self._prepared, self._folder = prepared, folder
        self._display, self._interrupts = display, interrupts
        self._record = RunRecord(prepared, folder.run_id)
        self._cluster: Cluster | None = None
        self._workers: Workers | None = None
        self._nemesis: Nemesis | None = None
        self._striking: threading.Thread | None = None
        self._cancelled = threading.Event()
        self._deaths: DeathWatch | None = None
        self._leaders: LeaderWatch | None = None
        self._news = FaultNews()
        self._rates = LoadRates()
        self._doubts: list[str] = []
        self._finals_complete = False

    def carry_out(self) -> RunOutcome:
        interrupts, problem = self._interrupts, None
        interrupts.farewell = f"`./highwater clean` removes what is left of the run in {self._folder.path}"
        self._record.write(self._folder.path)
        with StallWatch(self._folder.path, "harness", self._record.now):
            try:
                for phase in (self._deploy, self._warm_up, self._strike, self._heal, self._come_to_rest):
                    phase()
                interrupts.ending = True
            except BaseException as reason:
                interrupts.ending = True
                problem = reason
                self._display.line(_told(reason))
            self._enter("collect")
            self._end_processes()
        faults = faults_on_the_run_s_time(self._nemesis.rows() if self._nemesis else (), self._record.load_began)
        deaths = tuple(self._deaths.deaths) if self._deaths else ()
        our_clock = self._cluster.our_clock if self._cluster else ()
        self._doubts += collecting.write_files(self._folder, self._record, faults, deaths, our_clock)
        self._folder.release()
        if problem is not None and not isinstance(problem, KeyboardInterrupt):
            raise problem
        if faults:
            self._display.line(summary(faults))
        return RunOutcome(
            self._folder.path,
            self._folder.run_id,
            self._prepared.seed,
            faults,
            deaths,
            self._finals_complete,
            problem is not None,
            () if problem is not None else (*doubts_about_faults(faults), *self._doubts),
        )

    def _deploy(self) -> None:
        self._enter("deploy", described(self._prepared.scenario))
        self._cluster = open_cluster(self._prepared, self._folder.run_id, self._folder.work)
        self._cluster.start(self._prepared)

    def _warm_up(self) -> None:
        scenario, cluster = self._prepared.scenario, self._opened
        self._enter("warm up", f"{scenario.workload.workers} workers, workload {scenario.workload.kind}")
        self._nemesis = cluster.nemesis(self._prepared.seed)
        if self._nemesis is not None:
            self._deaths = DeathWatch(self._nemesis.world, self._record.now, self._tell_death, restart=scenario.restart_dead)
        if self._display.wants_leaders:
            self._leaders = cluster.watch_leaders()
        base_ns = self._record.base_ns + clock_ahead(cluster.client.node)
        plan = worker_plan(self._prepared, cluster, self._folder, base_ns)
        self._workers = Workers(cluster.client, plan, self._folder.work)
        self._workers.start()
        self._go_on("warm up", START_PATIENCE_S, until=lambda: self._rates.last.sends["ok"] > 0 or scenario.clients.acks == "0")
        self._go_on("warm up", scenario.durations.warm_up)

    def _strike(self) -> None:
        assert self._workers is not None
        self._enter("run", f"{self._prepared.scenario.durations.time_limit:g} s, {len(self._prepared.faults)} faults")
        self._workers.tell("phase 1")
        began = time.monotonic()
        self._record.load_began = self._record.now()
        if self._nemesis is not None:
            arguments = (self._prepared.faults, began, self._cancelled)
            self._striking = threading.Thread(target=self._nemesis.run, args=arguments, name="nemesis", daemon=True)
            self._striking.start()
        self._go_on("run", began + self._prepared.scenario.durations.time_limit - time.monotonic())

    def _heal(self) -> None:
        self._enter("heal")
        striking = self._striking
        while striking is not None and striking.is_alive():
            self._go_on("heal", TICK_S, until=lambda: not striking.is_alive())
        kinds = {fault.kind for fault in self._prepared.faults}
        if kinds and self._nemesis is not None:
            world = self._nemesis.world
            self._doubts += [f"not healed: {wound}" for wound in await_healed(world, kinds, world.system.start_timeout)]
        self._go_on("heal", self._prepared.scenario.durations.after_heal)

    def _come_to_rest(self) -> None:
        assert self._workers is not None
        cluster = self._opened
        self._enter("final reads")
        for number, words in self._workers.stop().items():
            raise EnvironmentFault(f"worker {number} {words}")
        patience = self._prepared.scenario.durations.recovery
        rest = await_rest(cluster.look, patience, self._note("final reads"))
        if rest.unrest is not None:
            self._doubts.append(f"the cluster did not come to rest within {patience:g} s: {rest.unrest}")
        else:
            self._read_to(FinalReads(cluster.client, self._folder.work, rest.ends, FINAL_READER))
        self._enter("dump")
        self._stop_watching()
        payloads = Payloads(self._folder.run_id, self._prepared.scenario.workload.record_bytes)
        cluster.stop_and_dump(self._folder.path, payloads.value_of, self._display.line)

    def _read_to(self, reads: FinalReads) -> None:
        note = self._note("final reads")
        while (code := reads.wait(TICK_S)) is None:
            note(reads.progress())
        if code not in (COMPLETE, 2):
            raise EnvironmentFault(f"the final reads failed: {reads.last_words()}")
        self._finals_complete = code == COMPLETE
        self._display.line(reads.progress() or "nothing was read")
        if not self._finals_complete:
            self._doubts.append("the final reads did not reach the end of every partition")

    def _enter(self, phase: str, what: str = "") -> None:
        self._record.enter(phase)
        self._display.line(f"{phase}: {what}" if what else phase)
        self._display.show(View(phase))

    def _go_on(self, phase: str, seconds: float, until: Callable[[], bool] | None = None) -> None:
        """Watch, until it is so or time is up; while the load runs nothing else is to be done here."""
        ends = time.monotonic() + seconds
        while not (until and until()) and (left := ends - time.monotonic()) > 0:
            time.sleep(min(AWAIT_S if until else TICK_S, left))
            self._tick(phase, ends)

    def _tick(self, phase: str, ends: float) -> None:
        assert self._workers is not None
        for number, words in self._workers.ended().items():
            raise EnvironmentFault(f"worker {number} ended before its time: {words}")
        rows = self._nemesis.rows() if self._nemesis else []
        for line in self._news.lines(rows):
            self._display.line(line)
        under_way = {fault.id for fault in self._nemesis.under_way()} if self._nemesis else set()
        faults = tuple(in_short(row) for row in rows if row.id in under_way)
        view = self._rates.view(self._workers.counts(), phase, ends, faults)
        if self._leaders is not None:
            view = self._leaders.added_to(view)
        self._display.show(view)

    def _note(self, phase: str) -> Callable[[str], None]:
        return lambda text: self._display.show(View(phase, note=text))

    def _tell_death(self, death: Death) -> None:
        again = "started again" if death.restarted else "not started again"
        self._display.line(f"the broker on {death.node} died on its own (exit code {death.code}); {again}")

    @property
    def _opened(self) -> Cluster:
        assert self._cluster is not None
        return self._cluster

    def _stop_watching(self) -> None:
        for watch in (self._deaths, self._leaders):
            if watch is not None:
                watch.close()

    def _end_processes(self) -> None:
        """Heal, end the clients, save what the nodes hold, and end the nodes; each though another failed."""
        self._cancelled.set()
        if self._striking is not None:
            self._striking.join()
        self._stop_watching()
        self._doubts += collecting.empty_nodes(self._cluster, self._workers, self._folder)


def _told(reason: BaseException) -> str:
    if isinstance(reason, KeyboardInterrupt):
        return "interrupted: healing and collecting; once more leaves at once"
    words = str(reason) if isinstance(reason, HighwaterError | OSError) else f"{type(reason).__name__}: {reason}"
    return f"given up: {words}"
