"""A broker's clock that can be put off: the broker runs under libfaketime, which reads an offset from a file in the node's folder.

The file is only ever replaced whole: half a number in it would end the broker. Its content is kept for a second by the library, because
without that a process of several threads is ended by it sooner or later, a JVM always. The monotonic clock is left alone, and Java's
waits need the library's own correction of them switched off.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from harness.errors import EnvironmentFault
from harness.nodes import Node

_CLOCK, _FAKETIME = "clock", "libfaketime.so.1"


def clock_environment(node: Node) -> dict[str, str]:
    """For processes of the node whose clocks shall follow. The library lies in its folder, where every kind of node finds it."""
    node.put(_FAKETIME, faketime_library(), mode=0o755)
    put_clock_off(node, 0.0)
    return clock_settings(node)


def clock_settings(node: Node) -> dict[str, str]:
    """The same environment again, for a node that was prepared before and whose clock may be off now."""
    return {
        "LD_PRELOAD": f"{node.folder}/{_FAKETIME}",
        "FAKETIME_TIMESTAMP_FILE": f"{node.folder}/{_CLOCK}",
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",
    }


def put_clock_off(node: Node, offset: float) -> None:
    """By so many seconds; followed within about a second."""
    node.put(_CLOCK, f"{offset:+.6f}\n".encode())


def faketime_library() -> Path:
    """The one in the wheel of that name."""
    found = importlib.util.find_spec("libfaketime")
    if found is None or not found.submodule_search_locations:
        raise EnvironmentFault("clock faults need the package libfaketime; ./highwater installs it with the others")
    return Path(found.submodule_search_locations[0], "vendor", "libfaketime", "src", _FAKETIME)
