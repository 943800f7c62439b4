"""A host that is no SSH server: one sentence says so, and nothing else is printed."""

import socket
import subprocess
import sys
import threading

import paramiko

KNOCK = """
import sys
from pathlib import Path
from harness.nodes.node import NodeLost
from harness.nodes.ssh_connection import Host, SshConnection
try:
    SshConnection(Host("n1", "127.0.0.1", "u", Path(sys.argv[1]), int(sys.argv[2]))).wait_up(0.0)
except NodeLost as problem:
    print(problem)
"""


def hang_up(server: socket.socket) -> None:
    caller, _ = server.accept()
    caller.close()


def test_who_hangs_up_is_told_of_in_a_sentence_without_a_stack_trace(tmp_path):
    key = tmp_path / "key"
    paramiko.RSAKey.generate(2048).write_private_key_file(str(key))
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=hang_up, args=[server], daemon=True).start()
        command = [sys.executable, "-c", KNOCK, str(key), str(server.getsockname()[1])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=110)
    assert "does not let us in" in done.stdout
    assert done.stderr == ""
