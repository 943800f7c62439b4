"""Which system a name means."""

from types import SimpleNamespace
from typing import cast

import pytest

from harness.errors import UserMistake
from harness.nodes import Nodes
from harness.systems.choosing import SYSTEMS, create_system, refusal

NODES = cast(Nodes, SimpleNamespace(kind="namespaces", nodes=[SimpleNamespace(name="n1", address="198.18.0.1", folder="/n1")]))


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_has_its_name_and_tells_where_it_will_be(name):
    system = create_system(name, NODES)
    assert (system.name, system.bootstrap) == (name, "198.18.0.1:9092")
    assert 9092 in system.ports


@pytest.mark.parametrize("name", ["external", "rabbit"])
def test_what_cannot_be_deployed_is_refused_with_what_can(name):
    with pytest.raises(UserMistake, match="there are highwater, kafka"):
        create_system(name, NODES)
    assert "highwater, kafka" in (refusal(name, "namespaces") or "")
