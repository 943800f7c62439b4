"""Our code on executors that have never seen it: a zip that travels with the job, and a look at what must be there already.

The zip has the analysis and the history's packages, nothing else of the project. Compiled packages cannot travel that way, so they are
asked for first: an executor without them is a sentence with its host's name instead of a stack trace in the middle of a check.
"""

from __future__ import annotations

import importlib.util
import socket
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("numpy", "pyarrow", "scipy", "networkx", "crc32c")
_SHIPPED = ("analysis", "harness/history")


def packed_code(folder: Path) -> Path:
    path = folder / "highwater-code.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.write(ROOT / "harness" / "__init__.py", "harness/__init__.py")
        for source in (found for name in _SHIPPED for found in sorted((ROOT / name).rglob("*.py"))):
            packed.write(source, source.relative_to(ROOT))
    return path


def lacking_packages(_: Iterable[int]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Runs on an executor: its host, and what is not installed there."""
    yield socket.gethostname(), tuple(name for name in NEEDED if importlib.util.find_spec(name) is None)
