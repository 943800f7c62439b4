"""One partition's log as the history shows it: which value lies at which offset, who sent it, who read it.

Most checks ask the same questions of the same rows, and the answers are what costs: each is worked out when it is first asked for and
kept here. Everything is sorting and searching of whole columns; nothing is as long as an offset is large.

A value is a *number* here: its rank among the values sent, then those that nobody sent. A *pair* is an offset and a number that lies at
it; pairs are sorted by both. An acknowledged send is told its offset, so its pair knows its number without a search: only what
was polled and never acknowledged has to be looked for among the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from analysis.context import Context
from analysis.pairing import pair_up
from analysis.partition import MISSING, Column, Partition
from analysis.places import UNKNOWN
from analysis.sorting import changes, groups_of, order_of, position_in, take
from harness.history.schema import Function, Kind, Outcome, Phase

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Columns over the pairs. `of_poll` has the pair of each row in `Log.polls`; `of_ack` that of each in `Log.acks`."""

    offset: Column
    number: Column
    of_poll: Column
    of_ack: Column


class Log:
    """Of one partition, for as long as it is checked. `sends`, `polls` and `acks` are positions of rows."""

    def __init__(self, partition: Partition, context: Context) -> None:
        self.rows = partition
        self.context = context

    @cached_property
    def sends(self) -> Column:
        """Rows of sends, whatever became of them."""
        return np.flatnonzero((self.rows["f"] == Function.SEND) & (self.rows["value"] != MISSING))

    @cached_property
    def polls(self) -> Column:
        """Rows of messages polled, with a value, whatever became of the operation."""
        return np.flatnonzero((self.rows["f"] == Function.POLL) & (self.rows["value"] != MISSING) & (self.rows["offset"] != MISSING))

    @cached_property
    def reads(self) -> Column:
        """As `polls`, with those that gave no value; Jepsen's rules know none of these."""
        if self.context.rules == "jepsen":
            return self.polls
        void = np.flatnonzero(self.rows["value"] == MISSING)
        void = void[(self.rows["f"][void] == Function.POLL) & (self.rows["offset"][void] != MISSING)]
        return np.union1d(self.polls, void) if len(void) else self.polls

    @cached_property
    def acks(self) -> Column:
        """Rows of sends of committed operations that were told an offset."""
        return self.sends if len(self._acknowledged) == len(self.sends) else self.sends[self._acknowledged]

    # Values by number.

    @cached_property
    def values(self) -> Column:
        """The value of each number."""
        return np.concatenate((self._sent[0], self._unsent)) if len(self._unsent) else self._sent[0]

    @property
    def sent_count(self) -> int:
        """Numbers from here on belong to values that nobody sent."""
        return len(self._sent[0])

    @cached_property
    def writer(self) -> Column:
        """The row that sent a value, for each number of one that was sent."""
        return self._sent[1]

    @cached_property
    def number_of_send(self) -> Column:
        """Of each row in `sends`."""
        return self._sent[2]

    @cached_property
    def outcome(self) -> npt.NDArray[np.int8]:
        """Of the send of each value sent."""
        return np.asarray(self.rows["outcome"][self.writer], np.int8)

    @cached_property
    def committed(self) -> Mask:
        """Of each value sent: whether its operation was ok, or is known to have taken effect."""
        known: Mask = self.outcome == Outcome.OK
        unsure = np.flatnonzero(self.outcome == Outcome.INFO)
        if len(unsure):
            known[unsure] = np.isin(self.rows["op"][self.writer[unsure]], self.committed_operations)
        return known

    @cached_property
    def committed_operations(self) -> Column:
        """The info operations that count as committed, sorted."""
        shown = (self.outcome == Outcome.INFO) & self.read_ok[: self.sent_count]
        return np.union1d(self.context.committed, self.rows["op"][self.writer[shown]])

    @cached_property
    def read_ok(self) -> Mask:
        """Of each value: an ok operation read it."""
        return self.read_by(take(self.rows["outcome"], self.polls) == Outcome.OK)

    @cached_property
    def read_finally(self) -> Mask:
        """Of each value: it is in the final read."""
        phase = take(self.rows["phase"], self.polls)
        return self.read_by((take(self.rows["outcome"], self.polls) == Outcome.OK) & (phase == Phase.FINAL))

    # Pairs and places.

    @cached_property
    def pairs(self) -> Pairs:
        return self._paired[0]

    @cached_property
    def place(self) -> Column:
        """Of each pair: the dense index of its offset."""
        first = self.first_at_place
        return np.arange(len(first)) if first.all() else np.cumsum(first) - 1

    @cached_property
    def first_at_place(self) -> Mask:
        """Of each pair: its value is the smallest at its offset."""
        return np.concatenate(([True], changes(self.pairs.offset))) if len(self.pairs.offset) else np.empty(0, np.bool_)

    @cached_property
    def owns(self) -> Mask:
        """Of each pair: its value lies there as something sent, being the smallest, also of those that are not in this piece."""
        if len(self.context.overruled) == 0:
            return self.first_at_place
        mine = np.stack((self.pairs.offset, self.values[self.pairs.number]), axis=1)
        return self.first_at_place & ~_rows_in(mine, self.context.overruled)

    @cached_property
    def first_place(self) -> Column:
        """Of each value, as something sent; mostly no value has another."""
        number, place = self._owned
        last = self.last_place
        if (last[number] == place).all():
            return last
        found = np.full(len(self.values), UNKNOWN)
        found[number[::-1]] = place[::-1]
        return found

    @cached_property
    def last_place(self) -> Column:
        """Of each value, as something sent."""
        number, place = self._owned
        found = np.full(len(self.values), UNKNOWN)
        found[number] = place
        return found

    @property
    def is_plain(self) -> bool:
        """One value at each place, and one place for each value."""
        return self.first_place is self.last_place and bool(self.owns.all())

    @property
    def place_of_value(self) -> Column:
        """Where each value lies as something sent, by the rules."""
        return self.last_place if self.context.rules == "jepsen" else self.first_place

    @cached_property
    def last_offset(self) -> Column:
        """Of each value: the last offset at which it lies, MISSING where none is known."""
        found = np.full(len(self.values), MISSING)
        found[self.pairs.number] = self.pairs.offset
        return found

    @cached_property
    def place_sent(self) -> Column:
        """Of each row in `sends`, by the rules."""
        if self.context.places is not None:
            return self.context.places.of_sends(*(take(self.rows[name], self.sends) for name in ("value", "outcome", "offset")))
        return self.place_of_value[self.number_of_send]

    @cached_property
    def place_read(self) -> Column:
        """Of each row in `reads`, by the rules."""
        if self.context.places is not None:
            return self.context.places.of(take(self.rows["offset"], self.reads))
        pair = self.pairs.of_poll
        if self.context.rules == "jepsen":
            return self.place_of_value[self.pairs.number[pair]]
        if len(self.reads) == len(self.polls):
            return self.place[pair]
        found = np.empty(len(self.rows), np.int64)
        found[self.polls] = self.place[pair]
        bad = np.setdiff1d(self.reads, self.polls, assume_unique=True)
        at = position_in(self.pairs.offset, self.rows["offset"][bad])
        found[bad] = np.where(at == UNKNOWN, UNKNOWN, self.place[at]) if len(self.place) else UNKNOWN
        return found[self.reads]

    def places_below(self, offsets: Column) -> Column:
        """How many places lie before each of these offsets."""
        if self.context.places is not None:
            return self.context.places.below(offsets)
        return np.searchsorted(self.pairs.offset[self.owns], offsets)

    def offset_at(self, place: int) -> int | None:
        """Of a place; None behind the last."""
        if self.context.places is not None:
            return self.context.places.offset_at(place)
        offsets = self.pairs.offset[self.owns]
        return int(offsets[place]) if place < len(offsets) else None

    def overruled(self) -> Column:
        """Offsets and values that lie there and are not the smallest: rows of both."""
        losing = np.flatnonzero(~self.owns)
        return np.stack((self.pairs.offset[losing], self.values[self.pairs.number[losing]]), axis=1)

    @cached_property
    def placed(self) -> tuple[Column, Column]:
        """Positions in `sends` of those that did not fail and lie somewhere, each value once, and their places."""
        alive = (take(self.rows["outcome"], self.sends) != Outcome.FAIL) & (self.place_sent != UNKNOWN)
        if len(self.sends) != self.sent_count:
            alive &= self.writer[self.number_of_send] == self.sends
        chosen = np.flatnonzero(alive)
        return chosen, self.place_sent[chosen]

    @cached_property
    def has_transactions(self) -> bool:
        return bool((self.rows["kind"] == Kind.TXN).any())

    # How they are worked out.

    @property
    def _owned(self) -> tuple[Column, Column]:
        """Number and place of the pairs that own theirs."""
        if self.owns.all():
            return self.pairs.number, self.place
        return self.pairs.number[self.owns], self.place[self.owns]

    @cached_property
    def _sent(self) -> tuple[Column, Column, Column]:
        """Values sent, sorted; their writers; the number of each send."""
        value = take(self.rows["value"], self.sends)
        if len(value) == 0 or (value[1:] > value[:-1]).all():
            return value, self.sends, np.arange(len(value))
        order = order_of(value)
        ranked = value[order]
        number = groups_of(ranked)
        first = np.concatenate(([0], np.flatnonzero(changes(ranked)) + 1))
        numbers = np.empty(len(value), np.int64)
        numbers[order] = number
        return ranked[first], self.sends[order[first]], numbers

    @property
    def _unsent(self) -> Column:
        return self._paired[1]

    @cached_property
    def _paired(self) -> tuple[Pairs, Column]:
        """The pairs, and the values in them that nobody sent."""
        acks = len(self.acks)
        offset, value = (np.concatenate([take(self.rows[name], rows) for rows in (self.acks, self.polls)]) for name in ("offset", "value"))
        found = pair_up(offset, value)
        number, unsent = self._numbers(found.value, found.of_row[:acks])
        return Pairs(found.offset, number, found.of_row[acks:], found.of_row[:acks]), unsent

    @cached_property
    def _acknowledged(self) -> Column:
        """Positions in `sends` of the `acks`."""
        outcome = take(self.rows["outcome"], self.sends)
        told: Mask = take(self.rows["offset"], self.sends) != MISSING
        unsure = np.flatnonzero(told & (outcome == Outcome.INFO))
        told &= outcome == Outcome.OK
        if len(unsure):
            told[unsure] = np.isin(self.rows["op"][self.sends[unsure]], self._committed_by_comparing)
        return np.flatnonzero(told)

    def _numbers(self, value: Column, of_ack: Column) -> tuple[Column, Column]:
        """The number of each pair's value; those of acknowledged ones are known."""
        number = np.full(len(value), UNKNOWN)
        number[of_ack] = take(self.number_of_send, self._acknowledged)
        unknown = np.flatnonzero(number == UNKNOWN)
        if len(unknown) == 0:
            return number, np.empty(0, np.int64)
        number[unknown] = position_in(self._sent[0], value[unknown])
        unsent = unknown[number[unknown] == UNKNOWN]
        new, where = np.unique(value[unsent], return_inverse=True)
        number[unsent] = len(self._sent[0]) + where
        return number, new

    def read_by(self, chosen: Mask) -> Mask:
        """Of each value: whether one of the polls chosen gave it."""
        given = np.zeros(len(self.pairs.number), np.bool_)
        given[self.pairs.of_poll if chosen.all() else self.pairs.of_poll[chosen]] = True
        found = np.zeros(len(self.values), np.bool_)
        found[self.pairs.number[given]] = True
        return found

    @property
    def _committed_by_comparing(self) -> Column:
        """As `committed_operations`, without the pairs, which are not yet known where a send of unknown outcome was told an offset."""
        rows, unsure = self.rows, self.writer[self.outcome == Outcome.INFO]
        polled = self.polls[rows["outcome"][self.polls] == Outcome.OK]
        return np.union1d(self.context.committed, rows["op"][unsure][np.isin(rows["value"][unsure], rows["value"][polled])])


def _rows_in(rows: Column, among: Column) -> Mask:
    """Whether each row of two numbers is among others."""
    near = np.flatnonzero(np.isin(rows[:, 0], among[:, 0]))
    known = {(int(one), int(two)) for one, two in among}
    found = np.zeros(len(rows), np.bool_)
    found[near] = [(int(one), int(two)) in known for one, two in rows[near]]
    return found
