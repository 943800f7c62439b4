"""The quorum on virtual time, through one directed and many random schedules of a seed."""

import argparse
import json

from broker_impl import plugins
from tests.broker_impl.quorum.raft_figure_eight import figure_eight
from tests.broker_impl.quorum.raft_simulation import simulate

SCHEDULES = 150
STEPS = 3000
VOTERS = 5


def search(seed: int, schedules: int) -> tuple[str | None, int]:
    """The first promise broken, and after how many schedules."""
    if found := figure_eight(seed).violation:
        return found, 1
    for number in range(schedules):
        if found := simulate(seed * 100_000 + number, VOTERS, STEPS).violation:
            return found, number + 2
    return None, schedules + 1


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.defects.arms.simulation", description=__doc__)
    parser.add_argument("--defect", help="plugin to load; left out: the sound broker")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schedules", type=int, default=SCHEDULES)
    given = parser.parse_args()
    if given.defect:
        plugins.load(given.defect)
    found, tried = search(given.seed, given.schedules)
    print(json.dumps({"found": found, "tried": f"{tried} schedules"}))


if __name__ == "__main__":
    main()
