"""What can go wrong: every kind of fault with its variants, parameters and needs, and what proves that it took place.

One table, read by everybody: scenarios are checked against it, `./highwater faults` prints it, the schedule draws variants and
parameters from it, and a fault's implementation is found by the kind's name. The trap is a fault that is planned and cannot be: so a
wish that nothing in the table can grant is told beforehand, with what is allowed instead.
"""

from __future__ import annotations

import difflib
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from nemesis.targets import NAMED, OTHER_FORMS, ROLES, SAME, Selector, parse_selector

Value = float | int | str


class Need(Enum):
    """What a node, or the system on it, must offer for a fault to be possible."""

    NETWORK = "network rules"
    PROCESS = "process control"
    CLOCK = "clock"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class Number:
    """Without a default it is drawn for each strike, log-uniform, of either sign if `signed` (then the range is the magnitude's)."""

    name: str
    about: str
    unit: str
    least: float
    most: float
    default: float | None = None
    signed: bool = False
    whole: bool = False

    @property
    def allowed(self) -> str:
        sign = "±" if self.signed else ""
        return f"{'a whole' if self.whole else 'a'} number from {sign}{self.least:g} to {sign}{self.most:g} ({self.unit})"

    def admits(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int if self.whole else (int, float)):
            return False
        return self.least <= (abs(value) if self.signed else value) <= self.most

    def draw(self, rng: random.Random) -> Value:
        if self.default is not None:
            return self.default
        size = math.exp(rng.uniform(math.log(self.least), math.log(self.most)))
        size = min(max(round(size, 3), self.least), self.most)
        if self.whole:
            return round(size)
        return rng.choice((-size, size)) if self.signed else size


@dataclass(frozen=True, slots=True)
class Choice:
    """Without a default it is drawn for each strike."""

    name: str
    about: str
    options: tuple[str, ...]
    default: str | None = None

    @property
    def allowed(self) -> str:
        return ", ".join(self.options)

    def admits(self, value: object) -> bool:
        return value in self.options

    def draw(self, rng: random.Random) -> Value:
        return self.default if self.default is not None else rng.choice(self.options)


Parameter = Number | Choice


@dataclass(frozen=True, slots=True)
class Variant:
    """One way a kind of fault strikes. The first of `targets` is the one meant when none is named; `drawn`: also when no variant is."""

    name: str
    about: str
    targets: tuple[str, ...]
    parameters: tuple[Parameter, ...] = ()
    least_nodes: int = 1
    least_seconds: float = 2.0
    drawn: bool = True

    def takes(self, selector: Selector) -> bool:
        return selector.role in self.targets or (selector.role in (NAMED, SAME) and self.targets != ("all",))

    def parameter(self, name: str) -> Parameter | None:
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind without variants has a single one without a name."""

    name: str
    about: str
    needs: tuple[Need, ...]
    proof: str
    healing: str
    variants: tuple[Variant, ...]


@dataclass(frozen=True, slots=True)
class FaultSpec:
    """A fault as a scenario asks for it: what is missing is drawn. With `at` it strikes then (and `every` so often), else at random.

    `rests` is the mean wait after a strike, where it is not that of the whole schedule.
    """

    kind: str
    variant: str | None = None
    target: str | None = None
    name: str | None = None
    at: float | None = None
    lasts: float | None = None
    every: float | None = None
    rests: float | None = None
    parameters: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with one field of a FaultSpec; `field` is a path, as ("parameters", "offset"). `for_nodes`: more nodes may mend it."""

    field: tuple[str, ...]
    text: str
    for_nodes: bool = False


def possible_variants(spec: FaultSpec, nodes: int) -> tuple[Variant, ...]:
    """Those that the schedule may draw from."""
    return tuple(
        variant
        for variant in CATALOGUE[spec.kind].variants
        if (variant.drawn if spec.variant is None else variant.name == spec.variant)
        and nodes >= variant.least_nodes
        and (spec.lasts is None or spec.lasts >= variant.least_seconds)
        and (spec.target is None or variant.takes(parse_selector(spec.target)))
        and all(variant.parameter(name) for name in spec.parameters)
    )


def mistakes_in(spec: FaultSpec, nodes: int) -> list[Mistake]:
    """Everything that keeps it from being planned, each told once."""
    kind = CATALOGUE.get(spec.kind)
    if kind is None:
        return [Mistake(("kind",), f"there is no fault {spec.kind!r}; {_instead(spec.kind, list(CATALOGUE))}")]
    names = [variant.name for variant in kind.variants if variant.name]
    if spec.variant is not None and spec.variant not in names:
        allowed = _instead(spec.variant, names) if names else "it has none"
        return [Mistake(("variant",), f"`{kind.name}` has no variant {spec.variant!r}; {allowed}"), *_in_parameters(spec, kind.variants)]
    chosen = [variant for variant in kind.variants if spec.variant in (None, variant.name)]
    found = [*_in_target(spec, chosen), *_in_times(spec, chosen), *_in_parameters(spec, chosen)]
    enough = [variant for variant in chosen if nodes >= variant.least_nodes]
    if not enough:
        found.append(Mistake(("variant",), f"`{spec.variant}` needs {chosen[0].least_nodes} nodes or more, there are {nodes}", True))
    if not found and not possible_variants(spec, nodes):
        found.append(Mistake(("kind",), f"no variant of `{kind.name}` takes this target and these parameters together; name one", True))
    return found


def _in_target(spec: FaultSpec, variants: Sequence[Variant]) -> list[Mistake]:
    allowed = sorted({role for variant in variants for role in variant.targets}, key=list(ROLES).index)
    told = f"allowed: {', '.join(allowed if allowed == ['all'] else [*allowed, *OTHER_FORMS])}"
    if spec.target is None:
        return []
    try:
        selector = parse_selector(spec.target)
    except ValueError:
        return [Mistake(("target",), f"{spec.target!r} is no target; {told}")]
    if any(variant.takes(selector) for variant in variants):
        return []
    return [Mistake(("target",), f"{spec.target!r} is no target of this fault; {told}")]


def _in_times(spec: FaultSpec, variants: Sequence[Variant]) -> list[Mistake]:
    found = []
    least = min(variant.least_seconds for variant in variants)
    if spec.lasts is not None and spec.lasts < least:
        found.append(Mistake(("lasts",), f"{spec.lasts:g} is too short for its effect to be proven; allowed: {least:g} s or more"))
    if spec.every is not None and (spec.at is None or spec.lasts is None):
        found.append(Mistake(("every",), "needs `at`, the first time, and `lasts`, the length of each"))
    elif spec.every is not None and spec.lasts is not None and spec.every <= spec.lasts:
        found.append(Mistake(("every",), f"{spec.every:g} is no longer than the fault itself; allowed: more than {spec.lasts:g} s"))
    if spec.rests is not None and spec.at is not None:
        found.append(Mistake(("rests",), "is for faults at random times; this one has `at`"))
    return found


def _in_parameters(spec: FaultSpec, variants: Sequence[Variant]) -> list[Mistake]:
    known = {parameter.name: parameter for variant in variants for parameter in variant.parameters}
    found = []
    for name, value in spec.parameters.items():
        if name not in known:
            allowed = _instead(name, list(known)) if known else "it has none"
            found.append(Mistake(("parameters", name), f"this fault has no parameter {name!r}; {allowed}"))
        elif not known[name].admits(value):
            found.append(Mistake(("parameters", name), f"{value!r} is not allowed; allowed: {known[name].allowed}"))
    return found


def _instead(word: str, allowed: Sequence[str]) -> str:
    nearest = difflib.get_close_matches(word, allowed, 1)
    return (f"did you mean `{nearest[0]}`? " if nearest else "") + f"allowed: {', '.join(allowed)}"


_ANYONE = ("one", "minority", "majority", "all", "random", "leader", "leaders", "follower", "followers", "controller")
_OF_ONE = ("one", "leader", "controller")
_LOST = ("all", "sent", "received")
_KILLED = ("one", "minority", "random", "leader", "follower", "followers", "controller", "majority", "all")
_OFFSET = Number("offset", "how far the clock is put off", "s", 0.011, 288.0, signed=True)

_TABLE = (
    FaultKind(
        "partition",
        "Nodes cannot hear each other: packets are dropped by source on the receiving node, in silence.",
        (Need.NETWORK,),
        "datagrams and connections between probes on every pair: cut pairs are silent in the direction meant, all others answer",
        "every pair answers both ways, none of our rules is left",
        (
            Variant("halves", "two sides; the target is the smaller one", ("minority", *_OF_ONE, "leaders", "followers"), least_nodes=2),
            Variant("one", "the target hears no other node, and none hears it; the clients still reach it", _OF_ONE, least_nodes=2),
            Variant("majorities-ring", "every node hears a majority, no two the same one", ("all",), least_nodes=4),
            Variant("bridge", "two sides, and the target hears both", _OF_ONE, least_nodes=3),
            Variant(
                "one-way",
                "the target and the others hear each other in one direction only",
                (*_OF_ONE, "minority", "followers"),
                (Choice("lost", "which packets of the target are lost: those it sends, or those it is sent", _LOST[1:]),),
                least_nodes=2,
            ),
            Variant(
                "leader-from-isr", "the leader of one partition is cut from the other replicas", ("leader", "controller"), least_nodes=2
            ),
            Variant(
                "clients-from-leader",
                "the clients are cut from the target",
                ("leader", "leaders", "one", "controller"),
                (Choice("lost", "which packets of the target are lost: all, those it sends, or those it is sent", _LOST, "all"),),
            ),
        ),
    ),
    FaultKind(
        "kill",
        "SIGKILL to the broker, all targets at once; it is started again when the fault ends.",
        (Need.PROCESS,),
        "the process, known by pid and start time, is gone",
        "a new process, and its port answers",
        (Variant("", "", _KILLED),),
    ),
    FaultKind(
        "stop",
        "SIGTERM to the broker, which may end in order; it is started again when the fault ends.",
        (Need.PROCESS,),
        "the process has ended by itself",
        "a new process, and its port answers",
        (Variant("", "", _KILLED),),
    ),
    FaultKind(
        "rolling-restart",
        "The targets are stopped and started again, one after the other.",
        (Need.PROCESS,),
        "each process ended and a new one answers, in order and never two away at once",
        "every port answers",
        (
            Variant(
                "",
                "",
                ("all", "majority", "minority", "followers"),
                (Number("down", "how long each is away", "s", 0.0, 60.0, 1.0), Number("between", "rest between two", "s", 0.0, 60.0, 2.0)),
                least_seconds=10.0,
            ),
        ),
    ),
    FaultKind(
        "pause",
        "SIGSTOP to the broker, SIGCONT when the fault ends: it wakes up in a world that went on.",
        (Need.PROCESS,),
        "the process's state is T",
        "the process's state is not T",
        (Variant("", "", _ANYONE),),
    ),
    FaultKind(
        "clock",
        "The broker's wall clock is wrong; its monotonic clock is not touched.",
        (Need.CLOCK,),
        "the broker's own wall clock, as it dates a message or tells on its health page",
        "the same clock tells the true time",
        (
            Variant("bump", "the clock jumps and stays off", _ANYONE, (_OFFSET,)),
            Variant(
                "strobe",
                "the clock jumps away and back, again and again",
                _ANYONE,
                (_OFFSET, Number("period", "between two jumps", "s", 2.0, 60.0, 2.0)),
                least_seconds=6.0,
            ),
            Variant(
                "drift",
                "the clock runs too fast or too slow, in small steps",
                _ANYONE,
                (
                    Number("rate", "seconds gained or lost a second", "s/s", 0.001, 0.5, signed=True),
                    Number("step", "between two steps", "s", 0.5, 10.0, 1.0),
                ),
                least_seconds=6.0,
            ),
            Variant("reset", "a clock that another fault put off tells the true time at once", _ANYONE, drawn=False),
        ),
    ),
    FaultKind(
        "torn-tail",
        "The broker is killed, and the last segment of its logs is cut or garbled past its last flush before it is started again.",
        (Need.PROCESS, Need.FILES),
        "the process is gone; bytes of each file before and after",
        "a new process, and its port answers",
        (
            Variant(
                "",
                "",
                ("one", "minority", "leader", "followers", "controller"),
                (
                    Choice("how", "bytes are taken away or overwritten", ("cut", "garble")),
                    Number("bytes", "how many at most, from the end of the file", "bytes", 1, 65_536, whole=True),
                ),
            ),
        ),
    ),
    FaultKind(
        "deleted-index",
        "The broker is killed, and indexes of its logs are removed before it is started again.",
        (Need.PROCESS, Need.FILES),
        "the process is gone; the files removed and their sizes",
        "a new process, and its port answers",
        (
            Variant(
                "",
                "",
                ("one", "minority", "majority", "all", "random", "leader", "followers", "controller"),
                (Choice("which", "which index goes", ("offset", "time", "both")),),
            ),
        ),
    ),
)

CATALOGUE: Mapping[str, FaultKind] = {kind.name: kind for kind in _TABLE}
