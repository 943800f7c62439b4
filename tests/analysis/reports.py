"""A run as a report shows it: a loss with a conflict, a circle, faults of every state. And the page as its elements."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from analysis.circumstances import Circumstances
from analysis.columns import Rows
from analysis.coverage import assess
from analysis.findings import Finding, Witness, merge
from analysis.metrics import Measures, measure, summary
from analysis.promises import forbidden
from analysis.settled import settle
from analysis.verdict import Promised, Valid, Verdict, judge
from harness.history.beside import COVERED, PROVEN, UNPROVEN, Fault, Record, write_rows
from harness.history.plan import ClockPair, Plan, Promises, write_plan
from harness.history.schema import Outcome, Phase
from tests.analysis.histories import MS, NAMES, S, poll, send, table, write_history

LOST = Witness("Value 5 was acknowledged at offset 5 and is gone.", (5,), (5,), "orders", 0, 5)
CONFLICT = Witness("Offset 3 was polled with value 3 and with value 33.", (3,), (3, 700), "orders", 0, 3)
CIRCLE = Witness(
    "T1 is op 1 of process 0, T2 is op 2 of process 0. T1 is before T2, because T2 polled its value 1 at offset 1 of orders-0; "
    "T2 is before T1, because in orders-0 its value 2 at offset 2 is followed by T1's value 1 at offset 3: a contradiction.",
    (1,),
    (1, 2),
)
FINDINGS = (
    Finding("lost", 1, (LOST,)),
    Finding("read-conflict", 1, (CONFLICT,)),
    Finding("G1c", 1, (CIRCLE,)),
    Finding("unseen", 12, (LOST,)),
)
FAULTS = (
    Fault(1, "kill", "leader", ["n1"], S, S, 2 * S, '{"ok": true, "pid": 4711}', '{"ok": true}', PROVEN),
    Fault(2, "partition:halves", "one", ["n2"], S, S, 3 * S, None, "not JSON", COVERED),
    Fault(3, "clock:<b>bump</b>", "one", [], S, None, None, '{"error": "nobody"}', None, UNPROVEN),
)


def rows() -> list[dict[str, Any]]:
    """Ten values of which the final read has all but 5, and another one at offset 3."""
    sent = [send(value, value * 100 * MS, value * 100 * MS + 5 * MS, offset=value) for value in range(10)]
    polled = [poll(value, S, 2 * S, op=100 + value, offset=value) for value in range(10)]
    final = [poll(value, 5 * S, 6 * S, op=600, micro=value, offset=value, phase=Phase.FINAL) for value in range(10) if value not in (3, 5)]
    other = [poll(33, 5 * S, 6 * S, op=700, offset=3, phase=Phase.FINAL), send(99, S, 2 * S, Outcome.INFO, error=0)]
    return [*sent, *polled, *final, *other]


def make_run(run: Path, *, faults: tuple[Fault, ...] = FAULTS, dumped: bool = True) -> Path:
    write_history(run, *rows())
    write_rows(run, Fault, faults)
    if dumped:
        write_rows(run, Record, [Record(node, "orders", 0, offset, offset) for node in ("n1", "n2") for offset in range(10) if offset != 5])
    scenario = {"settings": {"name": "storm & <stress>", "description": "Everything at once.", "system": "highwater", "nodes": 3}}
    write_plan(run, Plan(7, Promises(acks="all"), 0, (ClockPair(0, 1_794_983_234_000_000_000),), 4, scenario))
    return run


def verdict_of(valid: Valid, findings: tuple[Finding, ...] = FINDINGS, faults: tuple[Fault, ...] = FAULTS) -> Verdict:
    settled = settle(Promises(acks="all"))
    rulings = forbidden(settled, Circumstances())
    return Verdict(
        valid,
        ("1 message is <lost>.",),
        Promised("highwater", settled, rulings),
        judge(merge(findings), rulings),
        assess([], [], faults, "all"),
        (),
        summary(measures(), "all", faults),
        ("spark", "reference"),
    )


def measures() -> Measures:
    return measure(Rows(table(*rows()), NAMES))


@dataclass
class Node:
    name: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)

    def all(self, name: str | None = None, **wanted: str) -> Iterator[Node]:
        """Elements below this one, by name and attributes; one class is enough for `class_`."""
        for child in self.children:
            if isinstance(child, Node):
                if name in (None, child.name) and all(_has(child, key, value) for key, value in wanted.items()):
                    yield child
                yield from child.all(name, **wanted)

    def one(self, name: str | None = None, **wanted: str) -> Node:
        (found,) = self.all(name, **wanted)
        return found

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children if _is_seen(child))


class _Reader(HTMLParser):
    """Refuses what is not closed in order."""

    void = frozenset({"meta", "br", "hr", "img", "input", "link"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.stack = [Node("document")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, dict(attrs))
        self.stack[-1].children.append(node)
        if tag not in self.void:
            self.stack.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.stack[-1].children.append(Node(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack[-1].name == tag, f"</{tag}> closes <{self.stack[-1].name}>"
        self.stack.pop()

    def handle_data(self, data: str) -> None:
        self.stack[-1].children.append(data)


def parsed(text: str) -> Node:
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert len(reader.stack) == 1, f"<{reader.stack[-1].name}> is not closed"
    return reader.stack[0]


def figures_of(page: Node) -> dict[str, Any]:
    found: dict[str, Any] = json.loads("".join(child for child in page.one("script", id="figures").children if isinstance(child, str)))
    return found


def _has(node: Node, key: str, value: str) -> bool:
    found = node.attributes.get(key.rstrip("_").replace("_", "-"))
    return found is not None and (value in found.split() if key == "class_" else value == found)


def _is_seen(child: Node | str) -> bool:
    return isinstance(child, str) or child.name not in ("script", "style", "title")
