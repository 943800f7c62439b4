"""Why a machine refuses user namespaces to a plain user, and how to allow them.

Three switches in three places forbid it, and the error is the same "operation not permitted" or "no space left" each time: a sysctl of
Debian's kernels, the kernel's own limit on their number, and AppArmor on Ubuntu, which allows the namespace but no power inside it.
"""

from __future__ import annotations

from pathlib import Path

_SYSCTL = Path("/proc/sys")
_ANYTHING_ELSE = "as root it may work; in a container, let it make namespaces (seccomp, AppArmor and a /proc that is not masked)"


def explain(problem: str, log: Path) -> str:
    """The fact and the remedy in one line."""
    return f"no namespaces here: {problem}; {remedy()} (more in {log})"


def remedy(sysctl: Path = _SYSCTL) -> str:
    """What forbids them, as far as the kernel's switches tell."""
    advice = [
        f"{name} is {value}: allow them (as root) with sysctl -w {name}={allowed}"
        for name, forbids, allowed in (
            ("kernel.unprivileged_userns_clone", "0", "1"),
            ("user.max_user_namespaces", "0", "15000"),
            ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
        )
        if (value := _read(sysctl / name.replace(".", "/"))) == forbids
    ]
    return "; ".join(advice) or _ANYTHING_ELSE


def _read(switch: Path) -> str | None:
    try:
        return switch.read_text().strip()
    except OSError:
        return None
