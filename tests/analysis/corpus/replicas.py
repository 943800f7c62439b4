"""replica-divergence, metadata-divergence. A batch is base offset, last offset, epoch and crc."""

from __future__ import annotations

from analysis.anomalies import METADATA_TOPIC
from tests.analysis.corpus.case import has, lacks
from tests.analysis.corpus.story import Story


@has("replica-divergence")
def two_replicas_have_other_bytes_at_one_offset():
    """The same batch with another checksum, below both high watermarks."""
    h = Story()
    h.replica("n1", (0, 4, 1, 111), (5, 9, 1, 222), high_watermark=10)
    h.replica("n2", (0, 4, 1, 111), (5, 9, 1, 333), high_watermark=10)
    h.expect("replica-divergence", 5)
    return h


@has("replica-divergence")
def a_replica_has_a_hole():
    """One of three lacks the batch in the middle; in another partition all is well."""
    h = Story()
    h.replica("n1", (0, 4, 1, 111), (5, 9, 1, 222), (10, 14, 1, 333), high_watermark=15)
    h.replica("n2", (0, 4, 1, 111), (10, 14, 1, 333), high_watermark=15)
    h.replica("n3", (0, 4, 1, 111), (5, 9, 1, 222), (10, 14, 1, 333), high_watermark=12)
    for node in ("n1", "n2", "n3"):
        h.replica(node, (0, 9, 1, 999), high_watermark=10, part=1)
    h.expect("replica-divergence", 5)
    return h


@has("replica-divergence")
def batches_are_cut_differently():
    """The same offsets in one batch here and in two there: both base offsets differ, and so does an epoch further on."""
    h = Story()
    h.replica("n1", (0, 4, 1, 111), (5, 9, 2, 222), high_watermark=10, part=3)
    h.replica("n2", (0, 2, 1, 112), (3, 4, 1, 113), (5, 9, 3, 222), high_watermark=10, part=3)
    for offset in (0, 3, 5):
        h.expect("replica-divergence", offset, part=3)
    return h


@has("replica-divergence")
def no_high_watermark_is_known():
    """The end of the final read stands for it."""
    h = Story()
    h.replica("n1", (0, 4, 1, 111), (5, 9, 1, 222), (10, 10, 1, 1), high_watermark=None)
    h.replica("n2", (0, 4, 1, 111), (5, 9, 1, 333), (10, 10, 1, 2), high_watermark=None)
    h.final_read(end=10)
    h.expect("replica-divergence", 5)
    return h


@lacks("replica-divergence")
def replicas_are_the_same():
    """Batch by batch, in two partitions."""
    h = Story()
    for node in ("n1", "n2", "n3"):
        h.replica(node, (0, 4, 1, 111), (5, 9, 1, 222), high_watermark=10)
        h.replica(node, (0, 0, 1, 5), high_watermark=1, part=1)
    return h


@lacks("replica-divergence")
def replicas_differ_at_their_end():
    """What lies at or above the smallest high watermark was promised to nobody."""
    h = Story()
    h.replica("n1", (0, 4, 1, 111), (5, 9, 1, 222), high_watermark=10)
    h.replica("n2", (0, 4, 1, 111), (5, 7, 2, 333), high_watermark=5)
    return h


@lacks("replica-divergence")
def retention_took_the_beginning_of_one():
    """Before the log start of the partition nothing is compared."""
    h = Story()
    h.replica("n1", (0, 4, 1, 111), (5, 9, 1, 222), high_watermark=10)
    h.replica("n2", (5, 9, 1, 222), high_watermark=10)
    h.final_read(log_start=5, end=10)
    return h


@lacks("replica-divergence")
def nothing_says_how_far_the_logs_hold():
    """No high watermark and no end: what differs may be what was never acknowledged."""
    h = Story()
    h.replica("n1", (0, 4, 1, 111), high_watermark=None)
    h.replica("n2", (0, 4, 1, 222), high_watermark=None)
    return h


@has("metadata-divergence")
def two_controllers_differ():
    """At index 2 they have entries of two terms, and both believe it is committed."""
    h = Story()
    h.replica("c1", (1, 1, 1, 11), (2, 2, 1, 22), high_watermark=3, topic=METADATA_TOPIC)
    h.replica("c2", (1, 1, 1, 11), (2, 2, 2, 22), high_watermark=3, topic=METADATA_TOPIC)
    h.expect("metadata-divergence", 2)
    return h


@has("metadata-divergence")
def one_of_three_controllers_lacks_an_entry():
    """And has what comes after it."""
    h = Story()
    for node in ("c1", "c2"):
        h.replica(node, (1, 1, 1, 11), (2, 2, 1, 22), (3, 3, 1, 33), high_watermark=4, topic=METADATA_TOPIC)
    h.replica("c3", (1, 1, 1, 11), (3, 3, 1, 33), high_watermark=4, topic=METADATA_TOPIC)
    h.expect("metadata-divergence", 2)
    return h


@has("metadata-divergence")
def entries_of_the_same_term_with_other_bytes():
    """Two entries, two instances; a third above the commit index of one is none."""
    h = Story()
    h.replica("c1", (1, 1, 1, 11), (2, 2, 1, 22), (3, 3, 1, 33), high_watermark=4, topic=METADATA_TOPIC)
    h.replica("c2", (1, 1, 1, 12), (2, 2, 1, 23), (3, 3, 1, 34), high_watermark=3, topic=METADATA_TOPIC)
    h.expect("metadata-divergence", 1)
    h.expect("metadata-divergence", 2)
    return h


@lacks("metadata-divergence")
def controllers_are_the_same():
    """Entry by entry; a topic's replicas that differ are another matter."""
    h = Story()
    for node in ("c1", "c2", "c3"):
        h.replica(node, (1, 1, 1, 11), (2, 2, 1, 22), high_watermark=3, topic=METADATA_TOPIC)
    h.replica("n1", (0, 4, 1, 111), high_watermark=5)
    h.replica("n2", (0, 4, 1, 112), high_watermark=5)
    h.expect("replica-divergence", 0)
    return h


@lacks("metadata-divergence")
def a_snapshot_replaced_the_beginning():
    """One controller's log begins at 3, behind its snapshot."""
    h = Story()
    h.replica("c1", (1, 1, 1, 11), (2, 2, 1, 22), (3, 3, 1, 33), high_watermark=4, topic=METADATA_TOPIC)
    h.replica("c2", (3, 3, 1, 33), high_watermark=4, topic=METADATA_TOPIC)
    return h


@lacks("metadata-divergence")
def a_controller_lags_behind():
    """It lacks what it has not been told is committed."""
    h = Story()
    h.replica("c1", (1, 1, 1, 11), (2, 2, 1, 22), (3, 3, 2, 33), high_watermark=4, topic=METADATA_TOPIC)
    h.replica("c2", (1, 1, 1, 11), (2, 2, 1, 99), high_watermark=2, topic=METADATA_TOPIC)
    return h
