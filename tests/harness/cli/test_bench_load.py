"""What a shaped load may be asked on the command line, and what is told to whoever asks for something else."""

import pytest

from harness.cli import bench
from harness.errors import UserMistake


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--topic", "t"], "--topic belongs to --bootstrap"),
        (["--bootstrap", "h:1", "--nodes", "3"], "leave it out beside --bootstrap"),
        (["--rate", "0"], "is not a rate from above 0"),
        (["--shape", "wave"], "invalid choice: 'wave'"),
    ],
)
def test_a_mistake_is_told_before_anything_starts(argv, told):
    with pytest.raises(UserMistake) as problem:
        bench.main(["load", *argv])
    assert told in str(problem.value)
