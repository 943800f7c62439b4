"""What each acks setting costs and loses while brokers are struck: depth and length of the dips, latency, messages lost.

    found = measure_under_faults(FaultedLoad(kills=10), ("0", "1", "all"), results, tell=print)
    found.acks[0].of("kill").lost_spread

`plan` is the run that is made, `sends` what was recorded of it, `dips` and `figures` what follows from that, `report` shows it.
"""

from harness.bench.under_faults.figures import KindFigures, Latency, Spread, Strike
from harness.bench.under_faults.measuring import AcksUnderFaults, UnderFaults, measure_under_faults
from harness.bench.under_faults.plan import KILL, PARTITION, PAUSE, FaultedLoad

__all__ = [
    "KILL", "PARTITION", "PAUSE", "AcksUnderFaults", "FaultedLoad", "KindFigures", "Latency", "Spread", "Strike", "UnderFaults",
    "measure_under_faults",
]  # fmt: skip
