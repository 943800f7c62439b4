"""A file of this machine, put in place of any other at once: readers see the old one or the new one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def put_file(target: Path, content: bytes | Path, mode: int) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
        try:
            file.write(content if isinstance(content, bytes) else content.read_bytes())
            os.fchmod(file.fileno(), mode)
            os.replace(file.name, target)
        except BaseException:
            os.unlink(file.name)
            raise
