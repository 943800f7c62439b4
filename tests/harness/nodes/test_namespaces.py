"""Namespaces in particular: that nothing of them is left, however they end, and that a plain user has them too."""

import os
import select
import signal
import subprocess
import sys
import threading
import uuid
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from harness.errors import UserMistake
from harness.nodes import NodeLost, messages
from harness.nodes.namespaces import NamespaceNodes
from tests.harness.nodes.kinds import networks_in_use, processes_with
from tests.harness.nodes.traffic import connect, traffic

ROOT = Path(__file__).parents[3]
LONG = 60.0
NOBODY = 65534

# Makes nodes, starts a process in one, says so, and waits to be killed.
OWNER = """
import os, sys
from pathlib import Path
from harness.nodes.namespaces import NamespaceNodes
nodes = NamespaceNodes.create(2, "owned", Path(sys.argv[1]))
nodes.nodes[0].start(["sh", "-c", "setsid sleep 1000 & wait", sys.argv[2][::-1]], out="sleep.log")
if "fork" in sys.argv and os.fork() == 0:
    os.close(1)
    os.read(0, 1)
    os._exit(0)
print(nodes.nodes[0].run(["readlink", "/proc/self/ns/net"]).out.decode().strip(), flush=True)
sys.stdin.read()
"""

# Ctrl-C comes while nodes are being made.
INTERRUPTED = """
import os, select, signal, subprocess, sys
from pathlib import Path
from harness.nodes import namespaces

class Popen(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        if sys.argv[1] == "as it begins to serve":
            select.select([self.stdout], [], [])
        os.kill(os.getpid(), signal.SIGINT)

namespaces.subprocess.Popen = Popen
try:
    namespaces.NamespaceNodes.create(2, "interrupted", Path(os.environ["FOLDER"]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def token() -> str:
    return uuid.uuid4().hex


def test_closing_leaves_no_process_no_namespace_and_no_mount(namespaces_folder, token):
    mounts = mounts_but_docker_s()
    with NamespaceNodes.create(2, "closing", namespaces_folder) as nodes:
        nodes.nodes[0].start(["sh", "-c", "trap '' TERM; setsid sleep 1000 & wait", token], out="log")
        networks = {node.run(["readlink", "/proc/self/ns/net"]).out.decode().strip() for node in nodes.everyone}
        assert len(networks) == 3
        assert processes_with(token)
        assert networks & networks_in_use()
    assert processes_with(token) == []
    assert processes_with(str(namespaces_folder)) == []
    assert not networks & networks_in_use()
    assert mounts_but_docker_s() == mounts
    assert not (namespaces_folder / "keeper.socket").exists()
    nodes.close()


@pytest.mark.parametrize("moment", ["as it is started", "as it begins to serve"])
def test_an_interruption_while_the_keeper_starts_leaves_nothing(namespaces_folder, moment):
    settings = {**os.environ, "FOLDER": str(namespaces_folder)}
    interrupted = subprocess.Popen([sys.executable, "-c", INTERRUPTED, moment], cwd=ROOT, env=settings, stdin=-1, stdout=-1, text=True)
    assert interrupted.stdout is not None
    assert interrupted.stdout.readline() == "interrupted\n"
    assert processes_with(str(namespaces_folder)) == []
    assert not (namespaces_folder / "keeper.socket").exists()
    interrupted.communicate()


@pytest.mark.parametrize("how", ["alone", "fork"])
def test_kill_9_of_the_owner_ends_everything_even_if_a_child_of_it_holds_its_files(namespaces_folder, token, how):
    owner = subprocess.Popen([sys.executable, "-c", OWNER, namespaces_folder, token, how], cwd=ROOT, stdin=-1, stdout=-1, text=True)
    assert owner.stdout is not None
    network = owner.stdout.readline().strip()
    keeper = os.pidfd_open(saved_keeper(namespaces_folder))
    token = token[::-1]  # in the nodes; the other way round it names the owner and its child
    assert processes_with(token)
    owner.kill()
    assert select.select([keeper], [], [], LONG)[0]
    os.close(keeper)
    assert processes_with(token) == []
    assert network not in networks_in_use()
    owner.communicate()


def test_kill_9_of_the_outer_process_ends_everything_and_a_node_says_that_it_is_gone(namespaces_folder, token):
    with NamespaceNodes.create(1, "outer", namespaces_folder) as nodes:
        [node] = nodes.nodes
        process = node.start(["sh", "-c", "sleep 1000", token], out="log")
        waiting = threading.Thread(target=os.kill, args=(saved_keeper(namespaces_folder), signal.SIGKILL))
        waiting.start()
        with pytest.raises(NodeLost, match=r"keeper\.log"):
            node.wait(process, LONG)
        waiting.join()
        with pytest.raises(NodeLost):
            node.run(["true"])
    while processes_with(token):
        pass


def test_nodes_made_by_a_thread_outlive_it(namespaces_folder):
    made: list[NamespaceNodes] = []
    maker = threading.Thread(target=lambda: made.append(NamespaceNodes.create(1, "thread", namespaces_folder)))
    maker.start()
    maker.join()
    with made[0] as nodes:
        assert nodes.client.run(["echo", "here"]).out == b"here\n"


def test_detached_nodes_outlive_their_maker_and_are_closed_by_another(namespaces_folder, token):
    program = (
        "import sys; from pathlib import Path; from harness.nodes.namespaces import NamespaceNodes;"
        "nodes = NamespaceNodes.create(1, 'detached', Path(sys.argv[1]), detached=True);"
        "process = nodes.nodes[0].start(['sh', '-c', 'sleep 1000', sys.argv[2]], out='log')"
    )
    assert subprocess.run([sys.executable, "-c", program, namespaces_folder, token], cwd=ROOT, stdin=subprocess.DEVNULL).returncode == 0
    nodes = NamespaceNodes.open(namespaces_folder)
    assert nodes.run_id == "detached"
    assert processes_with(token)
    assert nodes.nodes[0].run(["echo", "here"]).out == b"here\n"
    nodes.close()
    assert processes_with(token) == []
    with pytest.raises(NodeLost, match="have ended"):
        NamespaceNodes.open(namespaces_folder)


def test_nine_nodes_reach_each_other(namespaces_folder):
    with NamespaceNodes.create(9, "nine", namespaces_folder) as nodes, traffic(nodes.client) as wires:
        for node in nodes.nodes:
            wires.listen(node)
        for node, next_node in zip(nodes.nodes, [*nodes.nodes[1:], nodes.nodes[0]], strict=True):
            assert connect(node, next_node.address) == "connected"


def test_a_command_dies_with_the_one_who_asked_for_it(namespaces_folder, token):
    with NamespaceNodes.create(1, "asking", namespaces_folder) as nodes:
        program = (
            "import sys; from pathlib import Path; from harness.nodes.namespaces import NamespaceNodes;"
            "NamespaceNodes.open(Path(sys.argv[1])).nodes[0].run(['sh', '-c', 'echo up > up; sleep 1000', sys.argv[2]])"
        )
        asking = subprocess.Popen([sys.executable, "-c", program, namespaces_folder, token], cwd=ROOT)
        nodes.nodes[0].run(["sh", "-c", "while ! grep -qs up up; do :; done"], timeout=LONG)
        asking.kill()
        asking.wait()
        while processes_with(token):
            pass


def test_orphans_are_reaped(namespaces_folder):
    with NamespaceNodes.create(1, "orphans", namespaces_folder) as nodes:
        [node] = nodes.nodes
        pid = int(node.run(["sh", "-c", "sh -c 'exit 0' >/dev/null 2>&1 & echo $!"]).out)
        node.run(["sh", "-c", f"while [ -e /proc/{pid} ]; do :; done"], timeout=LONG).require("waiting for the orphan's end")


def test_the_hosts_sockets_in_run_are_hidden_and_other_processes_are_not_seen(namespaces_folder):
    with NamespaceNodes.create(1, "hidden", namespaces_folder) as nodes:
        assert nodes.client.run(["ls", "-A", "/run"]).out == b""
        seen = nodes.client.run(["sh", "-c", "ls -d /proc/[0-9]*"]).out.split()
        assert len(seen) <= 4


def test_a_folder_too_deep_for_a_sockets_address_will_do(namespaces_folder):
    deep = namespaces_folder / ("d" * 100) / ("e" * 100)
    with NamespaceNodes.create(1, "deep", deep) as nodes:
        assert nodes.client.run(["pwd"]).out.decode().strip() == str(deep / "client")


def test_processes_start_with_the_signals_default_whatever_the_harness_ignores(namespaces_folder):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with NamespaceNodes.create(1, "signals", namespaces_folder) as nodes:
            process = nodes.client.start(["sleep", "1000"], out="log")
            nodes.client.signal(process, signal.SIGINT)
            assert nodes.client.wait(process, LONG) == -signal.SIGINT
    finally:
        signal.signal(signal.SIGINT, before)


def test_more_callers_than_the_keeper_serves_at_once_are_served_in_turn(namespaces_folder):
    with NamespaceNodes.create(1, "callers", namespaces_folder) as nodes, ExitStack() as idle:
        [node] = nodes.nodes
        for _ in range(600):
            idle.enter_context(messages.connect(namespaces_folder / "keeper.socket", LONG))
        waiting = threading.Thread(target=idle.close)
        waiting.start()
        assert node.run(["echo", "at last"]).out == b"at last\n"
        waiting.join()


def test_a_machine_that_forbids_user_namespaces_is_told_the_remedy(namespaces_folder):
    """Inside a node we are root of a user namespace of our own, where the limit can be set without harm."""
    forbid = "open('/proc/sys/user/max_user_namespaces', 'w').write('0')"
    program = f"{forbid}; from harness.nodes import available; print(available('namespaces'))"
    with NamespaceNodes.create(1, "forbid", namespaces_folder) as nodes:
        words = nodes.client.run([sys.executable, "-c", program], cwd=str(ROOT)).require("asking in a node").decode()
    assert "unshare: No space left on device" in words
    assert "sysctl -w user.max_user_namespaces=15000" in words


@pytest.mark.parametrize("count", [0, 100])
def test_too_few_or_too_many_nodes_are_refused(count, tmp_path):
    with pytest.raises(UserMistake, match="1 to 99"):
        NamespaceNodes.create(count, "wrong", tmp_path)


def test_a_folder_that_nodes_cannot_see_is_refused():
    with pytest.raises(UserMistake, match="of their own"):
        NamespaceNodes.create(1, "wrong", Path("/run/highwater-test"))


def test_a_plain_user_has_nodes_with_cuts_and_leaves_nothing(tmp_path_factory, token):
    if os.geteuid() != 0:
        pytest.skip("every other test here was run by a plain user already")
    python = python_for_nobody()
    folder = tmp_path_factory.mktemp("plain")
    for path in (folder, *(parent for parent in folder.parents if parent != Path("/tmp") and parent != Path("/"))):
        path.chmod(path.stat().st_mode | 0o011)
    os.chown(folder, NOBODY, NOBODY)
    done = as_nobody([*python, "-c", PLAIN, str(folder), token])
    assert done.stdout.decode().split() == ["0", "['198.18.0.9']", "True", "-15"], done.stderr
    assert (folder / "n1" / "written").stat().st_uid == NOBODY
    assert processes_with(token) == []


PLAIN = """
import signal, sys
from pathlib import Path
from harness.nodes.namespaces import NamespaceNodes
with NamespaceNodes.create(2, "plain", Path(sys.argv[1])) as nodes:
    first, second = nodes.nodes
    print(first.run(["sh", "-c", "echo > written; id -u"]).out.decode().strip())
    first.network.block(["198.18.0.9"])
    print([rule.source for rule in first.network.rules()])
    first.network.unblock_all()
    print(first.network.rules() == frozenset())
    process = first.start(["sleep", "1000"], out="log")
    first.signal(process, signal.SIGTERM)
    print(first.wait(process, 60))
    first.start(["sh", "-c", "setsid sleep 1000", sys.argv[2]], out="log")
"""


def mounts_but_docker_s() -> list[str]:
    """Containers of other tests come and go meanwhile."""
    return [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if "docker" not in line]


def saved_keeper(folder: Path) -> int:
    return msgspec.json.decode((folder / "keeper.json").read_bytes())["pid"]


def python_for_nobody() -> list[str]:
    """One that a plain user may execute, with our packages: the interpreter of a venv may lie in a home that is closed to others."""
    trial = f"import sys; assert sys.version_info[:2] == {sys.version_info[:2]}; import msgspec, pyroute2"
    for python in (sys.executable, "/usr/local/bin/python3", "/usr/bin/python3"):
        try:
            if as_nobody([python, "-c", trial]).returncode == 0:
                return [python]
        except OSError:
            continue
    pytest.skip("no Python of this version that a plain user may execute: install one in /usr")


def as_nobody(command: list[str]) -> subprocess.CompletedProcess[bytes]:
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    return subprocess.run(
        command,
        cwd=ROOT,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": f"{ROOT}:{packages}", "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        timeout=LONG,
    )
