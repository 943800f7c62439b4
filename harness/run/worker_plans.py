"""What the workers of a run are told, from the scenario and the cluster it was deployed as."""

from __future__ import annotations

from harness.run.cluster import Cluster
from harness.run.folder import RunFolder
from harness.run.prepared import Prepared
from workloads.clients import ClientSettings
from workloads.worker_plan import WorkerPlan


def worker_plan(prepared: Prepared, cluster: Cluster, folder: RunFolder, base_ns: int) -> WorkerPlan:
    """`base_ns`: the run's time zero on the clock of the clients' node."""
    clients, workload = prepared.scenario.clients, prepared.scenario.workload
    settings = ClientSettings(
        acks=clients.acks,
        idempotence=clients.idempotence,
        in_flight=clients.in_flight,
        linger_ms=clients.linger_ms,
        batch_bytes=clients.batch_bytes,
        compression=clients.compression,
        retries=clients.retries,
        request_timeout_ms=round(clients.request_timeout * 1000),
        delivery_timeout_ms=round(clients.delivery_timeout * 1000),
        record_bytes=workload.record_bytes,
        isolation=clients.isolation,
    )
    return WorkerPlan(
        bootstrap=cluster.bootstrap,
        run=cluster.client.recording_folder(folder.path),
        run_id=folder.run_id,
        base_ns=base_ns,
        topics=cluster.topics,
        clients=settings,
        kind=workload.kind,
        rate=workload.rate,
        workers=workload.workers,
        senders=workload.senders,
        pollers=workload.pollers,
        live_partitions=workload.live_partitions,
        writes_per_partition=workload.writes_per_partition,
        keys=workload.keys,
        seed=prepared.seed,
    )
