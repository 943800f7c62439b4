"""Plugins replace what is there, and nothing else."""

from pathlib import Path

import pytest

from broker_impl import plugins
from broker_impl.quorum import elections
from broker_impl.replication.partition import Partition


def write(directory: Path, text: str) -> str:
    path = directory / "plugin.py"
    path.write_text(text)
    return str(path)


def test_a_plugin_replaces_a_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "may_append", Partition.may_append)
    plugins.load(
        write(
            tmp_path,
            "from broker_impl.plugins import replace\n"
            "def install():\n"
            "    replace('broker_impl.replication.partition:Partition.may_append', lambda self, acks: 'replaced')\n",
        )
    )
    assert Partition.may_append(None, 1) == "replaced"  # type: ignore[arg-type, func-returns-value]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "from broker_impl.plugins import replace\ndef install(): replace('broker_impl.replication.partition:Partition.gone', 1)",
            "no .*gone",
        ),
        ("from broker_impl.plugins import replace\ndef install(): replace('broker_impl.nowhere:x', 1)", "no broker_impl.nowhere:x"),
        (
            "from broker_impl.plugins import replace\n"
            "def install(): replace('broker_impl.replication.partition:Partition.may_append', lambda self: None)",
            "does not take",
        ),
        (
            "from broker_impl.plugins import replace\n"
            "def install():\n"
            "    replace('broker_impl.quorum.elections:elect', None)\n"
            "    replace('broker_impl.quorum.elections:elect', lambda partition, live: None)",
            "does not take",
        ),
        ("x = 1", "has no install"),
        ("def install(): raise ValueError('broken')", "broken"),
        ("this is not python", "failed to install"),
    ],
)
def test_a_plugin_that_does_not_fit_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, complaint: str) -> None:
    monkeypatch.setattr(elections, "elect", elections.elect)
    with pytest.raises(plugins.PluginError, match=complaint):
        plugins.load(write(tmp_path, text))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(plugins.PluginError):
        plugins.load(str(tmp_path / "absent.py"))
