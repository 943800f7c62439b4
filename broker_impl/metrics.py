"""The broker's numbers as Prometheus reads them. Each is counted where it happens; here they are only gathered."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from broker_impl.machine import limits
from broker_impl.replication.partition import Role

if TYPE_CHECKING:
    from broker_impl.broker import Broker

Sample = tuple[str, str, str, float]


def render(broker: "Broker") -> bytes:
    lines = []
    for name, kind, meaning, value in _samples(broker):
        lines += [f"# HELP highwater_{name} {meaning}", f"# TYPE highwater_{name} {kind}", f"highwater_{name} {value:.17g}"]
    return ("\n".join(lines) + "\n").encode()


def _samples(broker: "Broker") -> Iterable[Sample]:
    produce, fetch = broker.dispatcher.produce, broker.dispatcher.fetch
    replicas = broker.replicas
    led = [replica for replica in replicas if replica.state.role is Role.LEADER]
    yield "produce_bytes_total", "counter", "Bytes of records appended as a leader.", produce.bytes_in
    yield "produce_messages_total", "counter", "Records appended as a leader.", produce.messages_in
    yield "produce_requests_total", "counter", "Produce requests.", produce.requests
    yield "duplicate_batches_total", "counter", "Batches of idempotent producers that were here already.", produce.duplicates
    yield "fetch_bytes_total", "counter", "Bytes of records sent to consumers and followers.", fetch.bytes_out
    yield "fetch_requests_total", "counter", "Fetch requests.", fetch.requests
    yield "flushes_total", "counter", "fdatasync calls asked for by flush.messages and flush.ms.", replicas.flusher.flushes
    yield "connections", "gauge", "Open connections.", broker.server.connection_count
    yield "connections_refused_total", "counter", "Connections closed for what they sent or for a limit.", broker.server.refused
    yield "reserved_bytes", "gauge", "Memory held for large requests.", broker.server.reserved_bytes
    yield "delayed_produces", "gauge", "Produce requests that wait for replicas.", replicas.produces.pending()
    yield "delayed_fetches", "gauge", "Fetch requests that wait for data.", replicas.fetches.pending()
    yield "partitions", "gauge", "Partitions held.", len(replicas)
    yield "leaders", "gauge", "Partitions led.", len(led)
    yield (
        "under_replicated",
        "gauge",
        "Led partitions with replicas out of sync.",
        sum(len(r.state.isr) < len(r.state.replicas) for r in led),
    )
    yield "under_min_isr", "gauge", "Led partitions that refuse acks=all.", sum(r.state.below_min_isr for r in led)
    yield "offline_logs", "gauge", "Logs taken offline by an error.", sum(r.log.failed is not None for r in replicas)
    yield "metadata_offset", "gauge", "Offset of the metadata image.", broker.quorum.image.offset
    yield "controller", "gauge", "Whether this node is the controller.", broker.quorum.raft.serving
    yield "quorum_epoch", "gauge", "Term of the quorum.", broker.quorum.raft.term
    yield "resident_bytes", "gauge", "Resident memory of the process.", limits.resident_bytes()
    yield "cpu_seconds_total", "counter", "User and system time of the process.", limits.cpu_seconds()
