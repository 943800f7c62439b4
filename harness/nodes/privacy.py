"""Private namespaces by system call: Python 3.11 has neither `unshare` nor `setns` nor `mount`, and no system package is asked for.

A user namespace makes a plain user root of whatever is made inside it, and of nothing else. Root keeps all its users inside, so that
files of others stay as accessible as they were; a plain user becomes user 0 and has only that one.
The trap: a process that has left its user namespace may map only itself, so root's map is written by a child that stayed behind.
"""

from __future__ import annotations

import ctypes
import os
import signal

NEW_MOUNTS = 0x0002_0000
NEW_USERS = 0x1000_0000
NEW_PIDS = 0x2000_0000
NEW_NETWORK = 0x4000_0000

_RECURSIVE, _PRIVATE = 0x4000, 0x4_0000
_NO_SET_USER, _NO_DEVICES, _NO_EXECUTION = 0x2, 0x4, 0x8
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def unshare(kinds: int) -> None:
    _call("unshare", ctypes.c_int(kinds))


def enter(namespace: int, kind: int) -> None:
    """Move this thread into the namespace of that descriptor."""
    _call("setns", ctypes.c_int(namespace), ctypes.c_int(kind))


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, options: str = "") -> None:
    texts = [ctypes.c_char_p(text.encode() if text is not None else None) for text in (source, target, kind)]
    try:
        _call("mount", *texts, ctypes.c_ulong(flags), ctypes.c_char_p(options.encode()))
    except OSError as problem:
        raise OSError(problem.errno, f"mount on {target}: {os.strerror(problem.errno or 0)}") from None


def die_with_parent() -> None:
    """The kernel kills this process when the thread that forked it ends."""
    _call("prctl", ctypes.c_int(_PR_SET_PDEATHSIG), ctypes.c_ulong(signal.SIGKILL))


def become_root_of_a_new_world() -> None:
    """New user, network, mount and PID namespaces; the last begins with the next child. The process may have no second thread."""
    user, group = os.geteuid(), os.getegid()
    ready, go = os.pipe()
    pid = os.getpid()
    writer = os.fork()
    if writer == 0:
        os.close(go)
        os._exit(_write_maps(pid, user, group) if os.read(ready, 1) else 0)
    os.close(ready)
    try:
        unshare(NEW_USERS | NEW_NETWORK | NEW_MOUNTS | NEW_PIDS)
        os.write(go, b"!")
    finally:
        os.close(go)
        problem = os.waitstatus_to_exitcode(os.waitpid(writer, 0)[1])
    if problem:
        raise OSError(abs(problem), f"mapping the users: {os.strerror(abs(problem))}")


def hide_the_outside() -> None:
    """In the first process of the new world: its own processes in /proc, nothing of the host's sockets in /run, no mount seen outside."""
    mount("none", "/", flags=_RECURSIVE | _PRIVATE)
    mount("proc", "/proc", "proc", _NO_SET_USER | _NO_DEVICES | _NO_EXECUTION)
    mount("tmpfs", "/run", "tmpfs", _NO_SET_USER | _NO_DEVICES, "mode=0755")


def new_network() -> int:
    """A descriptor of a new network namespace, which lives as long as it is open; this thread stays where it is."""
    home = current_network()
    try:
        unshare(NEW_NETWORK)
        made = current_network()
        enter(home, NEW_NETWORK)
        return made
    finally:
        os.close(home)


def current_network() -> int:
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _write_maps(pid: int, user: int, group: int) -> int:
    """The error number, 0 for none."""
    try:
        if user == 0:
            try:
                _write(pid, "uid_map", _all_of("uid_map"))
                _write(pid, "gid_map", _all_of("gid_map"))
                return 0
            except PermissionError:
                pass  # root of little power, as in a container: it maps itself, as anyone may
        _write(pid, "setgroups", "deny")
        for name, number in (("uid_map", user), ("gid_map", group)):
            if not _read(pid, name).strip():
                _write(pid, name, f"0 {number} 1\n")
        return 0
    except OSError as problem:
        return problem.errno or 1


def _all_of(name: str) -> str:
    """Everyone we know, under the same number."""
    extents = [line.split() for line in _read(os.getpid(), name).splitlines()]
    return "".join(f"{first} {first} {count}\n" for first, _, count in extents)


def _read(pid: int, name: str) -> str:
    with open(f"/proc/{pid}/{name}") as file:
        return file.read()


def _write(pid: int, name: str, text: str) -> None:
    """In one write: the kernel takes a map only whole, and only once."""
    handle = os.open(f"/proc/{pid}/{name}", os.O_WRONLY)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def _call(name: str, *arguments: ctypes.c_int | ctypes.c_ulong | ctypes.c_char_p) -> None:
    if getattr(_LIBC, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
