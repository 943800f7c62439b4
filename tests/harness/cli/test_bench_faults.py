"""What a benchmark under faults may be asked on the command line, and what is told to whoever asks for something else."""

import pytest

from harness.cli import bench
from harness.errors import UserMistake


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--acks", "2"], "invalid choice: '2'"),
        (["--kills", "many"], "is not a number from 0 to 1000"),
        (["--kills", "0", "--others", "0"], "nothing would be struck"),
    ],
)
def test_a_mistake_is_told_before_anything_starts(argv, told):
    with pytest.raises(UserMistake) as problem:
        bench.main(["faults", *argv])
    assert told in str(problem.value)
