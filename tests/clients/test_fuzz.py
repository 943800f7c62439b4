"""Thousands of mutated frames, each on a connection of its own: the broker answers or hangs up, and stays what it was.

What it was: its memory does not grow, another connection is served all the while, and no handler was taken by surprise (an exception
that nobody foresaw closes only its connection, but it is logged, and none is wanted). Topics are not made by naming them here, or
every second mutant would be a new topic and memory no measure.
"""

from __future__ import annotations

import json
import socket

import pytest

from broker_impl.protocol.errors import ErrorCode
from tests.clients.conftest import Layout
from tests.clients.interface import PATIENCE
from tests.clients.mutation import mutated_frames
from tests.clients.running import Running, wait_until
from tests.clients.wire import batch_of, values_of

GROWTH_ALLOWED = 24 << 20
CHECK_EVERY = 250
STRICT = Layout(1, (("auto.create.topics.enable", False),))
STRICT_NODE = pytest.mark.parametrize("running", [STRICT], ids=["1-node"], indirect=True)


@STRICT_NODE
def test_mutated_frames_do_no_harm(running: Running) -> None:
    _bombard(running, seed=1, count=3_000)


@pytest.mark.long
@pytest.mark.timeout(1800)
@STRICT_NODE
def test_a_hundred_thousand_mutated_frames_do_no_harm(running: Running) -> None:
    _bombard(running, seed=2, count=100_000)


def _bombard(running: Running, seed: int, count: int) -> None:
    target, beside = running.new_topic(), running.new_topic()
    warm_up = min(count // 3, 5_000)
    with running.wire() as bystander:
        settled = 0.0
        for number, frame in enumerate(mutated_frames(seed, count, target)):
            _throw(running.cluster.plan.nodes[0].port, frame)
            if number == warm_up:
                settled = running.metric("resident_bytes")
            if number % CHECK_EVERY == 0:
                value = b"%d" % number
                answer = bystander.produce(beside, batch_of(value))
                assert answer.error_code == ErrorCode.NONE
                assert values_of(bystander.fetch(beside, answer.base_offset)) == [value]
    assert running.metric("resident_bytes") - settled < GROWTH_ALLOWED
    wait_until(lambda: running.metric("reserved_bytes") == 0, "memory for large requests to be given back")
    surprises = [line for line in running.cluster.log_path(1).read_text().splitlines() if "request-failed" in line]
    assert not surprises, json.dumps(json.loads(surprises[0]), indent=1)


def _throw(port: int, frame: bytes) -> None:
    """Sends it, says that nothing more will come, and reads whatever the broker says until it hangs up."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as thrower:
        try:
            thrower.sendall(frame)
            thrower.shutdown(socket.SHUT_WR)
            while thrower.recv(1 << 16):
                pass
        except (ConnectionResetError, BrokenPipeError, OSError) as problem:
            assert not isinstance(problem, TimeoutError), f"neither an answer nor an end to {frame.hex()}"
