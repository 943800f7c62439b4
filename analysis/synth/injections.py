"""What can be injected, what each does to a piece, and what a sound checker then finds: by definition no more and no less.

An anomaly seldom comes alone: who lost an acknowledged message below what was read has skipped a place, too. `finds` says so for
every kind, and truth.json adds it up. Those who take part are clients of their own (`odd` processes), so that nothing else follows: a
process that sent nothing before and nothing after has no order to break. Each injection has a block to itself, and the blocks beside it
are clean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from analysis.partition import MISSING
from analysis.synth.piece import CORRUPT_PAYLOAD, MISPLACED_PAYLOAD
from analysis.synth.place import Place
from harness.history.schema import Kind


@dataclass(frozen=True, slots=True)
class Injection:
    """`rows`: how many more rows the history has by it. `finds`: anomaly -> how many a checker finds."""

    what: str
    rows: int
    finds: Mapping[str, int]
    inject: Callable[[Place], None] = field(repr=False)


def _lost(place: Place) -> None:
    at = place.at(place.b)
    place.log["is_live"][at] = place.log["is_final"][at] = 0


def _lost_after_read(place: Place) -> None:
    place.never_answered(place.b)
    place.odd_sender(place.b)
    place.log["is_final"][place.at(place.b)] = 0


def _duplicate(place: Place) -> None:
    place.append(int(place.sends["value"][place.b]), int(place.sends["key"][place.b]))


def _read_of_a_failed_send(place: Place) -> None:
    """Only the final reader gets it. A live reader would skip it, so there another one takes over behind it: see `place.live_readers`."""
    place.odd_sender(place.failed)
    place.append(int(place.sends["value"][place.failed]), int(place.sends["key"][place.failed]), is_live=0)


def _phantom(place: Place) -> None:
    place.append(place.piece.blocks.numbering.phantom(place.site.number), 0)


def _corrupt(place: Place) -> None:
    place.append(MISSING, MISSING, error=CORRUPT_PAYLOAD)


def _misplaced(place: Place) -> None:
    place.append(MISSING, MISSING, error=MISPLACED_PAYLOAD)


def _read_conflict(place: Place) -> None:
    """The live reader got `a` where the final one gets `b`."""
    for which, send in enumerate((place.a, place.b)):
        place.never_answered(send)
        place.odd_sender(send, which)
    place.log["is_live"][place.at(place.a)] = place.log["is_final"][place.at(place.a)] = 0
    place.log["live"][place.at(place.b)] = place.sends["value"][place.a]


def _ack_conflict(place: Place) -> None:
    """`b` was acknowledged with the offset at which `a` lies, and lies behind it."""
    told = place.sends["offset"][place.a]
    place.never_answered(place.a)
    place.odd_sender(place.a)
    place.odd_sender(place.b, 1)
    place.sends["offset"][place.b] = told


def _swap(place: Place) -> None:
    first, second = place.at(place.a), place.at(place.b)
    for name in ("live", "final", "key"):
        column = place.log[name]
        column[first], column[second] = column[second], column[first]
    for name in ("offset", "timestamp"):
        column = place.sends[name]
        column[place.a], column[place.b] = column[place.b], column[place.a]


def _reordered(place: Place) -> None:
    for send in (place.a, place.b):
        place.odd_sender(send)
    _rekey(place, place.b, int(place.sends["key"][place.a]))
    _swap(place)


def _nonmonotonic_send(place: Place) -> None:
    """One process, but a client instance each, and a key each."""
    for which, send in enumerate((place.a, place.b)):
        place.odd_sender(send)
        place.sends["producer"][send] = place.odd(which)
        _rekey(place, send, which)
    _swap(place)


def _joined(place: Place, *sends: int) -> None:
    """Make them one operation."""
    for micro, send in enumerate(sends):
        place.odd_sender(send)
        _rekey(place, send, micro)
        place.sends["micro"][send] = micro
        for column in ("op", "invoked", "intended"):
            place.sends[column][send] = place.sends[column][sends[0]]
    place.sends["completed"][list(sends)] = place.sends["completed"][list(sends)].max()


def _int_nonmonotonic_send(place: Place) -> None:
    _joined(place, place.a, place.b)
    _swap(place)


def _int_send_skip(place: Place) -> None:
    _joined(place, place.a, place.c)


def _rekey(place: Place, send: int, key: int) -> None:
    place.sends["key"][send] = place.log["key"][place.at(send)] = key


def _poll_skip(place: Place) -> None:
    place.read(place.a)
    place.read(place.c, operation=1)


def _nonmonotonic_poll(place: Place) -> None:
    place.read(place.b)
    place.read(place.a, operation=1)


def _int_poll_skip(place: Place) -> None:
    place.read(place.a)
    place.read(place.c, micro=1)


def _int_nonmonotonic_poll(place: Place) -> None:
    place.read(place.b)
    place.read(place.a, micro=1)


def _stale_time_index(place: Place) -> None:
    """The answer lies behind a message of the time asked for."""
    place.look_up(asked=place.a, answered=place.c)


def _precommitted_read(place: Place) -> None:
    """A transaction polls what it sent."""
    send = place.b
    place.sends["kind"][send] = Kind.TXN
    place.odd_sender(send)
    place.read(send)
    own = {name: int(place.sends[name][send]) for name in ("process", "op", "kind", "invoked", "completed")}
    place.piece.extra[-1] |= own | {"micro": 1}


INJECTIONS: dict[str, Injection] = {
    "lost": Injection(
        "acknowledged and in nobody's read; both readers skip its place",
        -2,
        {"lost": 1, "unseen": 1, "lost-write": 1, "int-poll-skip": 2},
        _lost,
    ),
    "duplicate": Injection("stored and read again at a second offset", 2, {"duplicate": 1}, _duplicate),
    "G1a": Injection("a failed send is read by the final reader", 1, {"G1a": 1}, _read_of_a_failed_send),
    "phantom": Injection("read by both readers, sent by nobody", 2, {"phantom": 1}, _phantom),
    "read-conflict": Injection(
        "the live reader got one value, the final reader another at the same offset; the first is gone by that",
        -2,
        {"read-conflict": 1, "inconsistent-offsets": 1, "lost-after-read": 1},
        _read_conflict,
    ),
    "ack-conflict": Injection(
        "acknowledged with another message's offset, read at its own: so it lies at both",
        0,
        {"ack-conflict": 1, "inconsistent-offsets": 1, "duplicate": 1},
        _ack_conflict,
    ),
    "lost-after-read": Injection(
        "never acknowledged, read live, skipped by the final reader", -1, {"lost-after-read": 1, "int-poll-skip": 1}, _lost_after_read
    ),
    "reordered": Injection(
        "two sends of one client and key stored the other way round", 0, {"reordered": 1, "nonmonotonic-send": 1}, _reordered
    ),
    "nonmonotonic-send": Injection(
        "two sends of one process, by two client instances, stored the other way round", 0, {"nonmonotonic-send": 1}, _nonmonotonic_send
    ),
    "int-nonmonotonic-send": Injection(
        "two sends of one operation stored the other way round", 0, {"int-nonmonotonic-send": 1}, _int_nonmonotonic_send
    ),
    "int-send-skip": Injection(
        "another's message between two of one operation, each overwriting the other", 0, {"int-send-skip": 1, "G0": 1}, _int_send_skip
    ),
    "poll-skip": Injection("a reader's next operation leaves out a message", 2, {"poll-skip": 1}, _poll_skip),
    "nonmonotonic-poll": Injection("a reader's next operation goes back", 2, {"nonmonotonic-poll": 1}, _nonmonotonic_poll),
    "int-poll-skip": Injection("an operation leaves out a message", 2, {"int-poll-skip": 1}, _int_poll_skip),
    "int-nonmonotonic-poll": Injection("an operation reads backwards", 2, {"int-nonmonotonic-poll": 1}, _int_nonmonotonic_poll),
    "corrupt": Injection("both readers get bytes that do not match their checksum", 2, {"corrupt": 1}, _corrupt),
    "misplaced": Injection("both readers get a message of another partition", 2, {"misplaced": 1}, _misplaced),
    "stale-time-index": Injection("a look-up by time answers too high an offset", 1, {"stale-time-index": 1}, _stale_time_index),
    "precommitted-read": Injection("a transaction polls what it sent itself", 1, {"precommitted-read": 1}, _precommitted_read),
}
