"""Apache Kafka's own tools, from Maven, as judges of files that our broker wrote."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from harness.errors import EnvironmentFault
from harness.systems.kafka_files import KafkaFiles, find_files

TOOL_S = 300


class Unavailable(Exception):
    """There is no Maven, or nothing to be had from it; the message says which."""


def fetch_tools() -> KafkaFiles:
    """Java and the jars, which are downloaded once and kept in the user's cache."""
    try:
        return find_files(None)
    except EnvironmentFault as problem:
        raise Unavailable(str(problem)) from None


def run_tool(files: KafkaFiles, main_class: str, arguments: Sequence[str]) -> str:
    command = [str(files.java / "bin" / "java"), "-Xmx256m", "-cp", f"{files.jars}/*", main_class, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_S, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout
