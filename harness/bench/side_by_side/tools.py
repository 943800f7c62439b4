"""What a benchmark needs on its machine before it starts: the client, the counter of flushes, the payload. Made once, in one folder.

With a C compiler the client is at its best and flushes are counted; without one both are said to be missing.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.bench.driver import Driver, make_driver
from harness.bench.side_by_side.payload import log_lines

_COUNTER_SOURCE = Path(__file__).with_name("count_syncs.c")


@dataclass(frozen=True, slots=True)
class Tools:
    driver: Driver
    payload: Path
    sync_counter: Path | None
    """A library to preload into brokers."""

    @property
    def is_native(self) -> bool:
        return len(self.driver.command) == 1


def make_tools(folder: Path) -> Tools:
    folder.mkdir(parents=True, exist_ok=True)
    payload = folder / "payload"
    payload.write_bytes(log_lines())
    return Tools(make_driver(folder), payload, _make_counter(folder / "count_syncs.so"))


def _make_counter(library: Path) -> Path | None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    build = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(_COUNTER_SOURCE), "-ldl"]
    return library if subprocess.run(build, capture_output=True).returncode == 0 else None
