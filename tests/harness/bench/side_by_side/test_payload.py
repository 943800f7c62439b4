"""The payload compresses as logs do: several times, neither a thousand times nor not at all."""

import gzip
import json

from harness.bench.side_by_side.payload import log_lines


def test_it_compresses_like_json_logs():
    lines = log_lines(1 << 20)
    assert 4 < len(lines) / len(gzip.compress(lines)) < 12


def test_every_line_is_json_and_no_two_are_the_same():
    lines = log_lines(200_000).splitlines()
    assert len(set(lines)) == len(lines)
    assert all({"ts", "level", "message"} <= json.loads(line).keys() for line in lines)


def test_the_same_seed_makes_the_same_payload():
    assert log_lines(10_000, seed=3) == log_lines(10_000, seed=3) != log_lines(10_000, seed=4)
