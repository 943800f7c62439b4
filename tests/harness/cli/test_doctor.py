"""`./highwater doctor` reports and never fails for what is missing."""

from typing import cast

from harness.cli import doctor, fault_probes
from harness.cli.probes import Finding
from harness.errors import EnvironmentFault
from harness.nodes import KINDS, Node, available
from nemesis.catalogue import CATALOGUE, Need


def test_what_is_missing_comes_with_a_remedy_and_exit_code_0(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "PROBES", [lambda: Finding("Python", "3.11"), lambda: Finding("netem", "none", "modprobe sch_netem")])
    monkeypatch.setattr(doctor, "faults", list)
    assert doctor.main([]) == 0
    text = capsys.readouterr().out
    assert "netem: modprobe sch_netem" in text
    assert "Python: " not in text


def test_every_kind_of_node_and_every_fault_is_tried(capsys):
    assert doctor.main([]) == 0
    marks = {line[:22].rstrip(): line[24:27].rstrip() for line in capsys.readouterr().out.split("what to do:")[0].splitlines()}
    assert [marks[what] for what in ("Python", "uvloop", "Java for Spark", "nodes: ssh")] == ["yes"] * 4
    for kind in KINDS:
        assert marks[f"nodes: {kind}"] == ("no" if available(kind) else "yes")
    for fault in CATALOGUE:
        assert marks[f"fault: {fault}"] == ("no" if available("namespaces") else "yes")


def test_a_fault_without_effect_is_told_from_one_that_works():
    def broken(node):
        raise EnvironmentFault("a routing rule was made and is not there")

    needs = {need: (need is not Need.NETWORK, "tried") for need in Need}
    assert fault_probes._finding(CATALOGUE["partition"], needs).remedy
    assert not fault_probes._finding(CATALOGUE["torn-tail"], needs).remedy
    assert fault_probes._try(broken, cast(Node, None)) == (False, "a routing rule was made and is not there")


def test_without_nodes_no_fault_is_said_to_work(monkeypatch):
    def none(*_):
        raise EnvironmentFault("no namespaces here")

    monkeypatch.setattr(fault_probes, "create", none)
    assert {finding.what for finding in fault_probes.faults() if finding.remedy} == {f"fault: {name}" for name in CATALOGUE}
