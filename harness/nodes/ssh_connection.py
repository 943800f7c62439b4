"""One host over SSH: commands with their input, both outputs, their exit code and a limit in time.

One connection a host, many channels on it. Commands pass through whatever shell the user has, so each is wrapped in `sh` and quoted.
The traps: an SSH server by default allows ten channels at once, so we take fewer; closing a channel does not end its command, so each
tells its process number first, by which its group is killed; and a command's end by a signal arrives as sh's 128 + number.
"""

from __future__ import annotations

import base64
import logging
import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import paramiko

from harness.nodes.node import CommandTimedOut, NodeLost, Result

PATIENCE = 60.0
_CHUNK = 1 << 16
_CHANNELS = 8
_SSH_PORT = 22
_SIGNALLED = 128

logging.getLogger("paramiko").addHandler(logging.NullHandler())  # it would show stack traces of what is told here in a sentence


@dataclass(frozen=True, slots=True)
class Host:
    """Where and as whom; `host_key` is a line as in known_hosts without the name, empty: the user's own known_hosts decides."""

    name: str
    address: str
    user: str
    key: Path
    port: int = 22
    host_key: str = ""
    allow_routing: bool = False


class SshConnection:
    """Invariant: at most `_CHANNELS` channels are open; a connection that broke is made anew for the next command."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._channels = threading.BoundedSemaphore(_CHANNELS)
        self._lock = threading.Lock()
        self._client: paramiko.SSHClient | None = None

    def wait_up(self, timeout: float) -> None:
        """Until it lets us in; tried once at least."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                self._transport()
                return
            except NodeLost:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def run(self, script: str, *, timeout: float, input: bytes = b"") -> Result:
        """A script for sh."""
        with self._channels:
            result, group = self._converse(script, input, time.monotonic() + timeout)
        if result is not None:
            return result
        if group:
            self.run(f"kill -9 -{group}", timeout=PATIENCE)
        raise CommandTimedOut(f"{script[:300]} on node {self.host.name} did not end within {timeout:g} s and was killed")

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _converse(self, script: str, input: bytes, deadline: float) -> tuple[Result | None, str]:
        """The result, or none if it took too long, and then the process group to kill. It comes late from a host that is slow."""
        channel = self._open_channel()
        try:
            channel.exec_command(f"exec sh -c {shlex.quote(f'echo $$; {script}')}")
            conversation = _Conversation(channel, input)
            result = conversation.until(deadline)
            return result, "" if result else conversation.group(PATIENCE)
        except (paramiko.SSHException, OSError, EOFError) as problem:
            self.close()
            raise NodeLost(f"the connection to node {self.host.name} at {self.host.address} broke: {problem}") from None
        finally:
            channel.close()

    def _open_channel(self) -> paramiko.Channel:
        """A connection may have broken unnoticed while it was idle; nothing has been asked of it yet, so another is tried."""
        try:
            return self._transport().open_session(timeout=PATIENCE)
        except (paramiko.SSHException, OSError, EOFError):
            self.close()
        try:
            return self._transport().open_session(timeout=PATIENCE)
        except (paramiko.SSHException, OSError, EOFError) as problem:
            raise NodeLost(f"node {self.host.name} at {self.host.address} does not take a command: {problem}") from None

    def _transport(self) -> paramiko.Transport:
        with self._lock:
            transport = self._client.get_transport() if self._client else None
            if transport is None or not transport.is_active():
                self._client = _connect(self.host)
                transport = self._client.get_transport()
            assert transport is not None
            return transport


def shell_words(command: Sequence[str], env: Mapping[str, str]) -> str:
    """For sh: the command with these variables added to its environment."""
    return shlex.join(["env", *(f"{name}={value}" for name, value in env.items()), *command])


class _Conversation:
    """Input goes and problems come on threads of their own; all end with the channel."""

    def __init__(self, channel: paramiko.Channel, input: bytes) -> None:
        self._channel = channel
        self._out, self._err = bytearray(), bytearray()
        self._threads = [
            threading.Thread(target=self._say, args=(input,), daemon=True),
            threading.Thread(target=self._listen, args=(channel.recv, self._out), daemon=True),
            threading.Thread(target=self._listen, args=(channel.recv_stderr, self._err), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def group(self, patience: float) -> str:
        """The process group, which the script says first; empty if it was not said in time."""
        deadline = time.monotonic() + patience
        while b"\n" not in self._out and time.monotonic() < deadline and self._threads[1].is_alive():
            time.sleep(0.01)
        return bytes(self._out).partition(b"\n")[0].decode() if b"\n" in self._out else ""

    def until(self, deadline: float) -> Result | None:
        ended = self._channel.status_event.wait(max(deadline - time.monotonic(), 0))
        for thread in self._threads[1:]:
            thread.join(max(deadline - time.monotonic(), 0))
            ended = ended and not thread.is_alive()
        if not ended:
            return None
        code = self._channel.exit_status
        if code < 0:
            raise EOFError("no exit code came")
        return Result(_SIGNALLED - code if code > _SIGNALLED else code, bytes(self._out).partition(b"\n")[2], bytes(self._err))

    def _say(self, words: bytes) -> None:
        """In pieces: paramiko copies all that is left each time it has sent a packet, which takes minutes for a hundred megabytes."""
        try:
            for at in range(0, len(words), _CHUNK):
                self._channel.sendall(words[at : at + _CHUNK])
            self._channel.shutdown_write()
        except OSError:
            pass  # it ended without listening

    def _listen(self, receive: Callable[[int], bytes], heard: bytearray) -> None:
        try:
            while words := receive(_CHUNK):
                heard += words
        except OSError:
            pass


def _connect(host: Host) -> paramiko.SSHClient:
    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(paramiko.RejectPolicy())
    if host.host_key:
        kind, key = host.host_key.split()[:2]
        name = host.address if host.port == _SSH_PORT else f"[{host.address}]:{host.port}"
        client.get_host_keys().add(name, kind, paramiko.PKey.from_type_string(kind, base64.b64decode(key)))
    else:
        client.load_system_host_keys()
    try:
        client.connect(
            host.address,
            host.port,
            host.user,
            pkey=paramiko.PKey.from_path(host.key),
            timeout=PATIENCE,
            banner_timeout=PATIENCE,
            auth_timeout=PATIENCE,
            allow_agent=False,
            look_for_keys=False,
        )
    except (paramiko.SSHException, OSError, EOFError) as problem:
        client.close()
        raise NodeLost(f"node {host.name}: {host.user}@{host.address} port {host.port} does not let us in: {problem}") from None
    return client
