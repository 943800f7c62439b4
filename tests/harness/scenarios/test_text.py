"""A scenario written down in full is the same scenario."""

import tomllib

import pytest

from harness.scenarios import resolve, shipped
from harness.scenarios.loading import build
from harness.scenarios.text import as_toml


@pytest.mark.parametrize("name", shipped())
def test_what_is_written_reads_back_as_the_same(name):
    scenario = resolve(name, {"--seed": 1})
    assert build(tomllib.loads(as_toml(scenario)), {}, "text", "other") == scenario
