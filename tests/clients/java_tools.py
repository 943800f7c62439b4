"""Apache Kafka's own tools, from Maven, as judges of files that our broker wrote."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

KAFKA_VERSION = "4.1.1"
LOG4J_VERSION = "2.25.2"
DOWNLOAD_S = 900
TOOL_S = 300

_ARTIFACTS = (
    ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    ("org.apache.kafka", "kafka-tools", KAFKA_VERSION),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", LOG4J_VERSION),
    ("org.apache.logging.log4j", "log4j-core", LOG4J_VERSION),
)


class Unavailable(Exception):
    """There is no Java, no Maven, or nothing to be had from it; the message says which."""


def fetch_tools() -> Path:
    """The folder of jars, downloaded once and kept among the temporary files."""
    missing = [program for program in ("java", "mvn") if shutil.which(program) is None]
    if missing:
        raise Unavailable(f"{missing[0]} is not installed")
    cache = Path(tempfile.gettempdir()) / f"highwater-kafka-{KAFKA_VERSION}"
    jars = cache / "jars"
    if not jars.exists():
        _download(cache, jars)
    return jars


def run_tool(jars: Path, main_class: str, arguments: Sequence[str]) -> str:
    done = subprocess.run(
        ["java", "-Xmx256m", "-cp", f"{jars}/*", main_class, *arguments], capture_output=True, text=True, timeout=TOOL_S, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def _download(cache: Path, jars: Path) -> None:
    """Into a folder of another name first: a download that was interrupted must not look like one that was not."""
    cache.mkdir(parents=True, exist_ok=True)
    project = cache / "pom.xml"
    project.write_text(_project())
    unfinished = Path(tempfile.mkdtemp(dir=cache))
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={unfinished}"]
    done = subprocess.run(
        ["mvn", "-q", "-B", "-f", str(project), *goal, f"-Dmaven.repo.local={cache / 'repository'}"],
        capture_output=True,
        text=True,
        timeout=DOWNLOAD_S,
        check=False,
    )
    if done.returncode:
        raise Unavailable(f"Maven could not download Apache Kafka: {done.stdout.strip()[:500]}")
    if not jars.exists():
        os.replace(unfinished, jars)


def _project() -> str:
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version></dependency>"
        for group, artifact, version in _ARTIFACTS
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"<groupId>highwater</groupId><artifactId>judges</artifactId><version>1</version><dependencies>{dependencies}</dependencies></project>"
    )
