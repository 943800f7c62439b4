"""Recovery believes every batch whose length fits, without looking at its checksum.

Stands for recovery that trusts what a crash left. Half a batch of garbage is served to consumers, and a
replica that has it differs from the others.

Exposed by garbling the unflushed tail of killed brokers.
"""

from broker_impl.plugins import replace

ARM = "cluster"
PLAN = "torn-tail"
ANOMALIES = ("corrupt", "replica-divergence", "lost", "unseen")


def install() -> None:
    replace("broker_impl.storage.loading:crc_matches", lambda batch, header: True)
