"""Sorting whole columns, fast where keys are close together.

numpy sorts 16-bit numbers by counting, twenty times as fast as it compares 64-bit ones. Offsets, places, counters and small words of
one partition span little, whatever their size: taken from the smallest, a key is one to three such digits. What spans more is
compared, which is still quick where it comes in long rising runs, as the rows of several workers do. Everything here is stable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.partition import Column

_DIGIT = 16
_DIGITS = 3
_SHORT = 64
"""Numbers between two falls, on average, from which a glance is worth it."""


def order_of(keys: npt.NDArray[np.integer]) -> Column:
    """Positions in the order of the keys; equal keys keep theirs."""
    if is_sorted(keys):
        return np.arange(len(keys))
    low, high = int(keys.min()), int(keys.max())
    if high - low >= 1 << (_DIGIT * _DIGITS):
        return np.argsort(keys, kind="stable")
    rest = keys.astype(np.int64, copy=False) - low
    order = np.argsort(rest.astype(np.uint16), kind="stable")
    for digit in range(1, -(-(high - low).bit_length() // _DIGIT)):
        digits = (rest >> (_DIGIT * digit)).astype(np.uint16)
        order = order[np.argsort(digits[order], kind="stable")]
    return order


def order_by(*keys: npt.NDArray[np.integer]) -> Column:
    """By the first key, among equals by the second, and so on."""
    order = order_of(keys[-1])
    for key in keys[-2::-1]:
        order = order[order_of(key[order])]
    return order


def is_sorted(keys: npt.NDArray[np.integer]) -> bool:
    return bool((keys[1:] >= keys[:-1]).all())


def groups_of(*keys: npt.NDArray[np.integer]) -> Column:
    """The number of the group of equal neighbours each position belongs to, from 0."""
    if len(keys[0]) == 0:
        return np.empty(0, np.int64)
    return np.concatenate(([0], np.cumsum(changes(*keys))))


def take(column: npt.NDArray[np.generic], positions: Column) -> Any:
    """The column at some positions, which rise and are different; where they follow each other it is no copy."""
    if len(positions) and positions[-1] - positions[0] + 1 == len(positions):
        return column[positions[0] : positions[-1] + 1]
    return column[positions]


def changes(*keys: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Whether a position differs from the one before; one shorter than the keys."""
    found: npt.NDArray[np.bool_] = keys[0][1:] != keys[0][:-1]
    for key in keys[1:]:
        found |= key[1:] != key[:-1]
    return found


def position_in(sorted_keys: Column, wanted: Column) -> Column:
    """Where each wanted key stands in the sorted ones, -1 where it does not."""
    at = np.searchsorted(sorted_keys, wanted)
    at[at == len(sorted_keys)] = 0
    if len(sorted_keys) == 0:
        return np.full(len(wanted), -1)
    at[sorted_keys[at] != wanted] = -1
    return at


def rises_for_each(numbers: Column, who: Callable[[], npt.NDArray[np.integer]]) -> bool:
    """Whether the numbers certainly rise for each of those whose they are, at a glance: where they fall, others begin.

    False is no answer.
    """
    falls = np.flatnonzero(numbers[1:] <= numbers[:-1]) + 1
    return len(falls) == 0 or (len(falls) <= len(numbers) // _SHORT and parted_by(falls, who()))


def parted_by(falls: Column, who: npt.NDArray[np.integer]) -> bool:
    """Whether nobody is on both sides of one of these positions, at a glance: numbers of those between two overlap no others'."""
    if len(falls) == 0:
        return True
    if len(falls) > len(who) // _SHORT:
        return False
    starts = np.concatenate(([0], falls))
    low, high = np.minimum.reduceat(who, starts), np.maximum.reduceat(who, starts)
    order = np.argsort(low, kind="stable")
    return bool((low[order[1:]] > high[order[:-1]]).all())
