"""Spark's classes, parsed and linked once and mapped into memory afterwards: it halves the time to the first result.

The wheel's Java comes without the archive of its own classes, so that one is dumped first (a second). On top of it lies an archive of
what Spark loads, which a JVM writes when it ends. Both lie in the user's cache, in a folder named for everything they depend on: another
Java, another Spark or another place makes another folder. A file is written under a name of its own and renamed when it is whole, so
processes that start at the same time do not meet. Where any of it cannot be done, Spark starts without: slower, and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

DUMP_LIMIT_S = 120
_BASE, _CLASSES = "base.jsa", "classes.jsa"


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """`options` for the JVM. `pending`: what the JVM will write when it ends, `settle` gives it its name."""

    options: tuple[str, ...] = ()
    pending: Path | None = None
    _final: Path | None = field(default=None, repr=False)

    def settle(self, ended_well: bool) -> None:
        """To be called when the JVM is gone."""
        if self.pending is None or self._final is None:
            return
        try:
            if ended_well and self.pending.exists():
                os.replace(self.pending, self._final)
            else:
                self.pending.unlink(missing_ok=True)
        except OSError:
            return


def class_archive(java_home: Path, jars: Path) -> ClassArchive:
    """What there is for this Java and these jars; on first use it is made."""
    try:
        folder = cache_directory() / _fingerprint(java_home, jars)
        folder.mkdir(parents=True, exist_ok=True)
        base = _base_archive(java_home, folder)
    except (OSError, subprocess.SubprocessError):
        return ClassArchive()
    classes = folder / _CLASSES
    if classes.exists():
        return ClassArchive((f"-XX:SharedArchiveFile={base}:{classes}",))
    pending = folder / f"{_CLASSES}.{os.getpid()}"
    return ClassArchive((f"-XX:SharedArchiveFile={base}", f"-XX:ArchiveClassesAtExit={pending}"), pending, classes)


def cache_directory() -> Path:
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if given.startswith("/") else Path.home() / ".cache") / "highwater" / "spark"


def _base_archive(java_home: Path, folder: Path) -> Path:
    base = folder / _BASE
    if not base.exists():
        dumped = folder / f"{_BASE}.{os.getpid()}"
        command = [str(java_home / "bin" / "java"), "-Xshare:dump", f"-XX:SharedArchiveFile={dumped}", "-Xlog:disable"]
        subprocess.run(command, check=True, timeout=DUMP_LIMIT_S, stdin=subprocess.DEVNULL, capture_output=True)
        os.replace(dumped, base)
    return base


def _fingerprint(java_home: Path, jars: Path) -> str:
    """A JVM refuses an archive whose class path changed; here it would never even look at it."""
    seen = hashlib.sha256(f"{java_home}\n{jars}\n".encode())
    files = [java_home / "release", java_home / "lib" / "server" / "libjvm.so", *sorted(jars.iterdir())]
    for path in files:
        found = path.stat()
        seen.update(f"{path.name} {found.st_size} {found.st_mtime_ns}\n".encode())
    return seen.hexdigest()[:20]
