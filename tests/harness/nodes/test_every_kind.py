"""What every kind of node promises, asked of each."""

import signal
import socket
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.nodes import CommandFailed, CommandTimedOut, Node, Nodes
from tests.harness.nodes.traffic import connect, interpreter

LONG = 60.0


@pytest.fixture
def node(nodes: Nodes) -> Node:
    return nodes.nodes[0]


def test_there_are_as_many_nodes_as_asked_for_and_one_for_clients(nodes):
    assert [node.name for node in nodes.everyone] == ["n1", "n2", "n3", "client"]
    assert len({node.address for node in nodes.everyone}) == 4


def test_a_command_gives_its_words_and_its_exit_code(node):
    done = node.run(["sh", "-c", "cat; echo problem >&2; exit 3"], input=b"in and out")
    assert (done.code, done.out, done.err) == (3, b"in and out", b"problem\n")


def test_arguments_and_environment_arrive_as_they_are(node):
    strange = 'it\'s "$HOME"\n* \\ ü'
    program = "import os, sys; print(ascii([sys.argv[1], os.environ['STRANGE']]))"
    done = node.run([*interpreter(node), "-c", program, strange], env={"STRANGE": strange})
    assert done.out.decode().strip() == ascii([strange, strange])


def test_a_command_runs_in_the_nodes_own_folder_unless_told_otherwise(node):
    assert node.run(["pwd"]).out.decode().strip() == node.folder
    assert node.run(["pwd"], cwd="/").out == b"/\n"


def test_a_command_that_does_not_exist_ends_with_127(node):
    done = node.run(["no-such-command"])
    assert done.code == 127
    assert b"no-such-command" in done.err


def test_a_command_ended_by_a_signal_says_which(node):
    assert node.run(["sh", "-c", "kill -9 $$"]).code == -signal.SIGKILL


def test_output_of_many_megabytes_arrives_whole_while_as_much_is_sent(node):
    much = b"0123456789abcdef" * 500_000
    assert node.run(["cat"], input=much).out == much


def test_a_command_that_hangs_is_killed_with_its_children(node):
    token = uuid.uuid4().hex
    with pytest.raises(CommandTimedOut, match=f"hang-{token}"):
        node.run(["sh", "-c", f"sh -c 'sleep 1000; : hang-{token}' & wait; echo hang-{token}"], timeout=1.0)
    not_itself = f"[h]ang-{token}"
    gone = f"while grep -qs {not_itself} /proc/[0-9]*/cmdline; do sleep 0.05; done"
    assert node.run(["sh", "-c", gone], timeout=LONG).code == 0


def test_a_started_process_lives_until_it_is_signalled(node):
    process = node.start(["sleep", "1000"], out="sleep.log")
    assert node.alive(process)
    assert node.wait(process, 0.05) is None
    assert node.signal(process, signal.SIGTERM)
    assert node.wait(process, LONG) == -signal.SIGTERM
    assert not node.alive(process)
    assert not node.signal(process, signal.SIGTERM)
    assert node.wait(process, LONG) == -signal.SIGTERM


def test_a_paused_process_is_seen_to_be_paused(node):
    process = node.start(["sleep", "1000"], out="sleep.log")
    node.signal(process, signal.SIGSTOP)
    while node.state(process) != "T":
        pass
    node.signal(process, signal.SIGCONT)
    while node.state(process) == "T":
        pass
    node.signal(process, signal.SIGKILL)
    assert node.wait(process, LONG) == -signal.SIGKILL


def test_a_signal_reaches_the_whole_session_where_that_is_asked(node):
    process = node.start(["sh", "-c", "sleep 1000 & echo $!; wait"], out="session.log")
    follow = "while ! grep -q . session.log; do :; done; cat session.log"
    child = node.run(["sh", "-c", follow], timeout=LONG).out.decode().strip()
    assert node.signal(process, signal.SIGKILL, group=True)
    assert node.wait(process, LONG) == -signal.SIGKILL
    assert node.run(["sh", "-c", f"while kill -0 {child} 2>/dev/null; do :; done"], timeout=LONG).code == 0


def test_what_a_process_says_is_appended_to_its_files(node):
    for word in ("first", "second"):
        process = node.start(["sh", "-c", f"echo {word}; echo {word} problem >&2; exit 7"], out="both.log", err="problems.log")
        assert node.wait(process, LONG) == 7
    assert node.get("both.log") == b"first\nsecond\n"
    assert node.get("problems.log") == b"first problem\nsecond problem\n"


def test_a_process_has_the_environment_and_folder_it_was_given(node):
    process = node.start(["sh", "-c", "echo $WORD; pwd"], out="given.log", env={"WORD": "a word"}, cwd="/")
    assert node.wait(process, LONG) == 0
    assert node.get("given.log") == b"a word\n/\n"


def test_a_process_that_cannot_start_is_refused(node):
    with pytest.raises(CommandFailed, match="no-such-command"):
        node.start(["no-such-command"], out="none.log")


def test_files_are_put_and_got_whole(node, tmp_path):
    content = bytes(range(256)) * 5000
    (tmp_path / "here").write_bytes(content)
    node.put("deep/down/there", tmp_path / "here", mode=0o755)
    assert node.get("deep/down/there") == content
    assert node.run(["stat", "-c", "%a %s", "deep/down/there"]).out == b"755 1280000\n"
    node.put("deep/down/there", b"")
    assert node.get(f"{node.folder}/deep/down/there") == b""
    assert node.run(["ls", "-A", "deep/down"]).out == b"there\n"


def test_a_file_that_is_not_there_is_not_found(node):
    with pytest.raises(FileNotFoundError):
        node.get("nowhere/nothing")


def test_nodes_see_their_own_address_and_name_each_other_by_it(nodes):
    for node in nodes.everyone:
        done = node.run([*interpreter(node), "-c", f"import socket; socket.socket().bind(('{node.address}', 0))"])
        assert done.code == 0, done.err
    for node in nodes.nodes:
        other = node.run([*interpreter(node), "-c", f"import socket; socket.socket().bind(('{nodes.client.address}', 0))"])
        assert other.code != 0


def test_many_commands_run_at_once_from_many_threads(nodes):
    with ThreadPoolExecutor(8) as pool:
        words = list(pool.map(lambda number: nodes.everyone[number % 4].run(["echo", str(number)]).out, range(32)))
    assert words == [f"{number}\n".encode() for number in range(32)]


def test_the_machine_around_cannot_be_reached(nodes):
    if nodes.kind == "ssh":
        pytest.skip("what hosts of one's own can reach is their owner's affair")
    for node in (nodes.nodes[0], nodes.client):
        assert connect(node, "192.0.2.1", 80) == "OSError 101"  # no route: nothing is even tried
        with socket.create_server(("127.0.0.1", 0)) as outside:
            assert connect(node, "127.0.0.1", outside.getsockname()[1]) == "ConnectionRefusedError 111"
