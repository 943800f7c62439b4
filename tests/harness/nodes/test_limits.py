"""The switch that forbids namespaces is named, with the command that turns it."""

import pytest

from harness.nodes.limits import explain, remedy


@pytest.mark.parametrize(
    "switch, value, command",
    [
        ("kernel.unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
        ("user.max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
    ],
)
def test_a_switch_that_forbids_is_named_with_its_remedy(tmp_path, switch, value, command):
    path = tmp_path / switch.replace(".", "/")
    path.parent.mkdir()
    path.write_text(f"{value}\n")
    assert f"{switch} is {value}" in remedy(tmp_path)
    assert command in remedy(tmp_path)


def test_switches_that_allow_are_not_blamed(tmp_path):
    for switch, value in (("kernel/unprivileged_userns_clone", "1"), ("user/max_user_namespaces", "96349")):
        (tmp_path / switch).parent.mkdir(exist_ok=True)
        (tmp_path / switch).write_text(f"{value}\n")
    assert "sysctl" not in remedy(tmp_path)
    assert "container" in remedy(tmp_path)


def test_the_explanation_carries_the_fact(tmp_path):
    assert "unshare: Operation not permitted" in explain("unshare: Operation not permitted", tmp_path / "keeper.log")
