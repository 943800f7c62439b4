"""Debian packages: asked for once more after an update. A small script plays apt-get."""

import pytest

from harness.cli import packages
from harness.errors import EnvironmentFault

APT_GET = """#!/bin/sh
echo "$1 $DEBIAN_FRONTEND" >> {folder}/asked
case $1 in
    update) touch {folder}/updated; exit 100;;
    install) for last; do :; done
             [ $last = known ] && exit 0
             [ $last = newer ] && [ -e {folder}/updated ] && exit 0
             echo "E: Unable to locate package $last" >&2; exit 100;;
esac
"""


@pytest.fixture
def asked(tmp_path, monkeypatch):
    program = tmp_path / "apt-get"
    program.write_text(APT_GET.format(folder=tmp_path))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return lambda: (tmp_path / "asked").read_text().split()[::2]


def test_a_known_package_is_installed_without_an_update(asked):
    packages.install(["known"])
    assert asked() == ["install"]


def test_an_unknown_one_is_tried_again_after_an_update_that_need_not_succeed(asked):
    packages.install(["newer"])
    assert asked() == ["install", "update", "install"]


def test_one_that_does_not_exist_is_named_with_apts_own_words(asked):
    with pytest.raises(EnvironmentFault, match="could not install nowhere: E: Unable to locate package nowhere"):
        packages.install(["nowhere"])


def test_without_apt_the_user_is_told_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFault, match=r"install docker\.io .*yourself"):
        packages.install(["docker.io"])
