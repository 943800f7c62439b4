"""The machine and the versions a figure belongs to."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

from harness.bench.figures.results import Machine


def describe_machine(java: Path | None) -> Machine:
    """`java`: the home of the one that brokers run on, where some do."""
    from confluent_kafka import libversion

    return Machine(
        cores=len(os.sched_getaffinity(0)),
        memory=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        processor=_processor(Path("/proc/cpuinfo").read_text()),
        kernel=platform.release(),
        python=platform.python_version(),
        librdkafka=libversion()[0],
        java=_java_version(java) if java is not None else "",
    )


def _processor(cpuinfo: str) -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return found[1].strip() if found else platform.machine()


def _java_version(home: Path) -> str:
    said = subprocess.run([str(home / "bin" / "java"), "-version"], capture_output=True, text=True).stderr
    found = re.search(r'version "([^"]+)"', said)
    return found[1] if found else "unknown"
