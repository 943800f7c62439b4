"""What runs have left whose harness was killed: found by its owner being gone, and taken away. A living run's is never touched.

Namespaces end with their harness; their folders stay. Containers and what was started on other hosts stay, too. The history such a run
recorded is saved first: it is as good as one that was interrupted.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from harness.errors import HighwaterError
from harness.history.convert import convert_leftovers
from harness.history.errors import HistoryError
from harness.history.files import history_directory
from harness.history.plan import read_plan
from harness.nodes import available
from harness.nodes.messages import Plan as KeeperPlan
from harness.run.folder import RunFolder, ownerless

_KEEPER = b"harness.nodes.keeper"


def clean(results: Path) -> Iterator[str]:
    """Each thing that was removed, or why it could not be."""
    for pid in _orphaned_keepers():
        os.kill(pid, signal.SIGKILL)
        yield f"ended nodes whose harness is gone (keeper, process {pid})"
    yield from _clean_docker()
    for folder in ownerless(results):
        yield from _clean_run(folder)


def _clean_run(folder: RunFolder) -> Iterator[str]:
    try:
        saved = _saved(folder) if history_directory(folder.path).is_dir() else []
    except (HistoryError, HighwaterError, OSError) as problem:
        yield f"{folder.path} stays as it is: {problem}"
        return
    folder.release()
    yield f"tidied {folder.path}" + (f", and saved what its workers had recorded ({len(saved)} files)" if saved else "")


def _saved(folder: RunFolder) -> list[Path]:
    """A benchmark has no history and no plan, and no hosts but namespaces."""
    _clean_hosts(folder)
    return convert_leftovers(folder.path)


def _clean_hosts(folder: RunFolder) -> None:
    """Hosts and brokers of the user's: by the inventory and the bootstrap servers that the plan names."""
    settings = read_plan(folder.path).scenario.get("settings", {})
    if settings.get("system") == "external":
        from harness.run.visit import take_topics_away

        take_topics_away(settings["bootstrap"], folder.run_id)
        return
    if settings.get("nodes_kind") == "ssh" and settings.get("inventory"):
        from harness.nodes.ssh_nodes import SshNodes

        SshNodes.create(settings["nodes"], folder.run_id, Path(settings["inventory"])).close()


def _clean_docker() -> Iterator[str]:
    if available("docker") is not None:
        return
    from harness.nodes import docker_nodes

    for run_id in docker_nodes.clean():
        yield f"removed the containers and the network of run {run_id}"


def _orphaned_keepers() -> Iterator[int]:
    """Keepers that belong to a harness (those of `cluster up --detach` do not) which is not their parent any more."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError, IndexError, msgspec.MsgspecError):
            words = Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
            if _KEEPER not in words:
                continue
            owner = msgspec.json.decode(words[words.index(_KEEPER) + 1], type=KeeperPlan).owner
            if owner and not Path("/proc", str(owner)).exists():
                yield int(entry)
