"""The same operations in every notation are the same rows."""

import json
import tempfile
from dataclasses import astuple
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from analysis.jepsen.layout import Layout
from analysis.jepsen.pairing import Illegal, Paired, Pairing
from analysis.jepsen.sources import WHOLE, Line, Share, read_lines
from tests.analysis.jepsen.notation import edn_lines, edn_vector, json_lines

KEYS = st.integers(0, 3) | st.sampled_from(["a", "b-c", "x y", "ä"])
VALUES = st.integers(0, 50) | st.none() | st.text(max_size=3) | st.booleans()
OFFSETS = st.integers(0, 2**62)
SENDS = st.builds(lambda k, v: ["send", k, v], KEYS, VALUES)
SENT = st.builds(lambda k, o, v: ["send", k, [o, v]], KEYS, st.none() | OFFSETS, VALUES)
POLLED = st.builds(
    lambda polled: ["poll", polled],
    st.dictionaries(KEYS.map(str), st.lists(st.builds(lambda o, v: [o, v], OFFSETS, VALUES), max_size=3), max_size=2),
)
MICROS = {"send": SENDS | SENT, "poll": POLLED | st.just(["poll"]), "txn": SENDS | SENT | POLLED}
TYPES = st.sampled_from(["invoke", "ok", "fail", "info"])
TIMES = st.none() | st.integers(0, 10**12)


@st.composite
def lines(draw):
    f = draw(st.sampled_from([*MICROS, "assign", "subscribe", "crash", "debug-topic-partitions"]))
    if f in MICROS:
        value = draw(st.none() | st.lists(MICROS[f], max_size=3))
    elif f in ("assign", "subscribe"):
        value = draw(st.lists(KEYS, max_size=3))
    else:
        value = None
    op = {"process": draw(st.integers(0, 3) | st.just("nemesis")), "type": draw(TYPES), "f": f, "value": value, "time": draw(TIMES)}
    if draw(st.booleans()):
        op["rebalance-log"] = draw(st.lists(st.builds(lambda keys: {"keys": keys}, st.lists(KEYS, max_size=2)), max_size=2))
    return op


def read_text(text: str, share: Share = WHOLE) -> list[Line]:
    with tempfile.NamedTemporaryFile() as file:
        file.write(text.encode())
        file.flush()
        return list(read_lines(Path(file.name), share))


def laid_out(text: str):
    """Operations with their rows, and what is wrong; without the files they would be written to."""
    pairing, layout = Pairing(), Layout()
    read = read_text(text)
    found = [one for line in read for one in pairing.take(line)]
    wrong = [one.why for one in found if isinstance(one, Illegal)]
    ops = [one for one in (*found, *pairing.rest()) if isinstance(one, Paired)]
    return [(*astuple(op)[2:7], layout.lay_out(op)) for op in ops], wrong


@given(st.lists(lines(), max_size=12))
def test_every_notation_gives_the_same_rows_and_the_same_problems(ops):
    expected = laid_out(json_lines(ops))
    assert laid_out(edn_lines(ops)) == expected
    assert laid_out(edn_vector(ops)) == expected


@given(st.lists(lines(), max_size=12))
def test_no_message_is_lost_on_the_way(ops):
    """Counted from the lines alone: what a completion says, or an invocation that has none."""
    found, _ = laid_out(json_lines(ops))
    last: dict[int, dict] = {}
    expected = 0
    for op in ops:
        if op["process"] == "nemesis":
            continue
        if (before := last.pop(op["process"], None)) is not None and op["type"] == "invoke":
            expected += _messages(before["value"])
        if op["type"] == "invoke":
            last[op["process"]] = op
        else:
            value = before["value"] if before is not None and op["value"] is None else op["value"]
            expected += _messages(value) if op["f"] in MICROS else 0
    expected += sum(_messages(op["value"]) for op in last.values())
    assert sum(row.value is not None for *_, one in found for row in one.rows) == expected


@given(
    st.lists(lines().map(json.dumps) | st.sampled_from(["", "{}", '{"process": 1', '{"process": 2, "time": 7, x']), max_size=12),
    st.integers(2, 4),
)
def test_shares_of_a_file_are_the_whole_of_it(texts, of):
    text = '{"process": 0, "type": "invoke"}\n' + "\n".join(texts)
    shares = [line for mine in range(of) for line in read_text(text, Share(mine, of))]
    assert sorted(shares, key=lambda line: line.number) == read_text(text)


def _messages(value) -> int:
    micros = [micro for micro in value or [] if isinstance(micro, list)]
    return sum(1 if micro[0] == "send" else sum(map(len, micro[1].values())) if len(micro) > 1 else 0 for micro in micros)
