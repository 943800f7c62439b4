"""Apache Kafka's own tools, from Maven, as judges of files that our broker wrote."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness.errors import EnvironmentFault
from harness.systems.kafka_files import find_files

TOOL_S = 300


class Unavailable(Exception):
    """There is no Java, no Maven, or nothing to be had from it; the message says which."""


def fetch_tools() -> Path:
    """The folder of jars, downloaded once and kept in the user's cache."""
    if shutil.which("java") is None:
        raise Unavailable("java is not installed")
    try:
        return find_files(None).jars
    except EnvironmentFault as problem:
        raise Unavailable(str(problem)) from None


def run_tool(jars: Path, main_class: str, arguments: Sequence[str]) -> str:
    done = subprocess.run(
        ["java", "-Xmx256m", "-cp", f"{jars}/*", main_class, *arguments], capture_output=True, text=True, timeout=TOOL_S, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout
