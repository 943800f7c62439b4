"""A load that is recorded and checked, so that a fast number which lost messages is never taken for a good one; and what recording costs.

    found = verify_load(VerifiedLoad(acks="1"), cluster.bootstrap, folder)
    found.checked.valid, found.lost, found.cost

`check_run` alone judges a run that another benchmark recorded.
"""

from harness.bench.verified.checked_load import Verified, verify_load
from harness.bench.verified.checking import Checked, check_run
from harness.bench.verified.pairs import VerifiedLoad

__all__ = ["Checked", "Verified", "VerifiedLoad", "check_run", "verify_load"]
