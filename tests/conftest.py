"""How Hypothesis looks for counterexamples: the same ones every time by default, more of them and other ones in long runs.

And what is made before the first test begins, because it may take longer than a test may: the image of a node.
"""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", max_examples=2000, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci")


def pytest_collection_finish(session: pytest.Session) -> None:
    if not session.config.option.collectonly and any(item.get_closest_marker("docker") for item in session.items):
        from tests.harness.nodes.kinds import missing

        missing("docker")
