"""What installing our broker does where it runs from the source."""

from types import SimpleNamespace
from typing import cast

from harness.nodes import Nodes
from harness.systems.highwater_system import HighwaterSystem

NODES = cast(Nodes, SimpleNamespace(nodes=[SimpleNamespace(name="n1", address="198.18.0.1", folder="/n1", shares_files=True)]))


def test_the_broker_is_compiled_once_before_it_is_started(tmp_path):
    package = tmp_path / "broker_impl"
    package.mkdir()
    (package / "module.py").write_text("number = 1\n")
    HighwaterSystem(NODES, source=tmp_path).install()
    [compiled] = (package / "__pycache__").glob("module.*.pyc")
    before = compiled.stat().st_mtime_ns
    HighwaterSystem(NODES, source=tmp_path).install()
    assert compiled.stat().st_mtime_ns == before


def test_a_source_that_cannot_be_compiled_into_is_run_as_it_is(tmp_path):
    package = tmp_path / "broker_impl"
    package.mkdir()
    (package / "module.py").write_text("number = 1\n")
    (package / "__pycache__").write_text("in the way")
    HighwaterSystem(NODES, source=tmp_path).install()
