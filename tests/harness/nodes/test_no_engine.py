"""Without a Docker engine: one clear message, and at once."""

import pytest

from harness.errors import EnvironmentFault
from harness.nodes import available, create


def test_a_missing_engine_is_said_with_the_remedy(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    reason = available("docker")
    assert reason is not None
    assert "no Docker engine answers" in reason
    assert "./highwater doctor --fix" in reason
    with pytest.raises(EnvironmentFault, match="no Docker engine answers"):
        create("docker", 1, "none", tmp_path)
