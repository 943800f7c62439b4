"""Debian packages, installed by apt-get when a program of theirs is missing.

The trap: a machine that has not asked for a while knows versions that the archive no longer has, so a failure is followed by one
`apt-get update` and a second attempt. Whether that update went well is not looked at: foreign sources on the machine may be away.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from harness.errors import EnvironmentFault

_PATIENCE = 600.0
_LOCK = ["-o", "DPkg::Lock::Timeout=300"]  # another installation may be under way, as on a machine that has just started


def install(packages: Sequence[str]) -> None:
    """As root."""
    if shutil.which("apt-get") is None:
        raise EnvironmentFault(f"there is no apt-get here; install {' and '.join(packages)} (names of Debian packages) yourself")
    command = ["install", "-y", "-q", "--no-install-recommends", *_LOCK, *packages]
    if _apt_get(command) is None:
        return
    _apt_get(["update", "-q", *_LOCK])
    problem = _apt_get(command)
    if problem is not None:
        raise EnvironmentFault(f"apt-get could not install {' and '.join(packages)}: {problem}")


def _apt_get(arguments: Sequence[str]) -> str | None:
    """Nothing if it succeeded, else its last words."""
    try:
        done = subprocess.run(
            ["apt-get", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
        )
    except subprocess.TimeoutExpired:
        return f"it did not end within {_PATIENCE:g} s"
    if done.returncode == 0:
        return None
    words = [line for line in (done.stderr.strip() or done.stdout.strip()).splitlines() if line.startswith("E:")]
    return words[-1] if words else f"exit code {done.returncode}"
