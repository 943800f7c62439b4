"""Where a benchmark leaves its files: `results/bench-NAME/<time>-<id>/`, beside the runs."""

from __future__ import annotations

import secrets
import time
from pathlib import Path


def new_folder(results: Path, name: str) -> Path:
    folder = results.resolve() / f"bench-{name}" / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"
    folder.mkdir(parents=True)
    return folder
