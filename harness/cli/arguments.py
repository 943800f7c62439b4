"""Argument parsing whose mistakes end like every other mistake of a user: one line and exit code 254."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NoReturn

from harness.errors import UserMistake


class Parser(argparse.ArgumentParser):
    def __init__(self, *, prog: str, description: str) -> None:
        super().__init__(prog=prog, description=description, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise UserMistake(f"{message}; `./{self.prog} --help` tells more")


def number_between(low: int, high: int) -> Callable[[str], int]:
    """For `type=`: a whole number in the range, or an error that names the range."""

    def parse(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {low} to {high}")
        return int(text)

    return parse


def row_count(text: str) -> int:
    """For `type=`: 200000, or 10M for ten million."""
    digits, factor = (text[:-1], 1_000_000) if text.endswith("M") else (text, 1)
    if not digits.isdecimal() or int(digits) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number like 200000 or 10M")
    return int(digits) * factor
