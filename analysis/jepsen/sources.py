"""The operations of a file, one after the other: EDN or JSON Lines, gzipped or not. What it is, its first characters tell."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from analysis.jepsen.edn import Form, read_edn
from analysis.jepsen.foreign import ForeignOp, Malformed, parse_op
from harness.history.errors import MalformedFile

_GZIP = b"\x1f\x8b"
_LOOK_AT = 4096
_JSON = re.compile(r'\s*\{\s*(?:"|\}\s*$)')
_EDN = re.compile(r"[\s,]*(?:$|[;\[({#^])")


class Line(NamedTuple):
    """A line's operation, or what is wrong with it."""

    number: int
    op: ForeignOp | None
    why: str = ""


def read_lines(path: Path) -> Iterator[Line]:
    """MalformedFile where it is no history at all."""
    try:
        with _open(path) as stream:
            head = stream.peek(_LOOK_AT)[:_LOOK_AT].decode("utf-8", "replace").lstrip("\ufeff")  # type: ignore[attr-defined]
            if _JSON.match(head):
                yield from _json_lines(stream)
            elif _EDN.match(head):
                yield from _edn_forms(stream)
            else:
                raise MalformedFile(path, "is no history: neither EDN nor JSON Lines nor the folder of a run")
    except OSError as problem:
        if isinstance(problem, gzip.BadGzipFile):
            raise MalformedFile(path, f"cannot be unpacked: {problem}") from None
        raise MalformedFile(path, f"cannot be read: {problem.strerror or problem}") from None


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        zipped = file.read(2) == _GZIP
    return gzip.open(path, "rb") if zipped else path.open("rb")  # type: ignore[return-value]


def _json_lines(stream: BinaryIO) -> Iterator[Line]:
    number = 0
    try:
        for number, raw in enumerate(stream, start=1):
            text = raw.strip().removeprefix(b"\xef\xbb\xbf")
            if text:
                yield _json_line(number, text)
    except EOFError:
        yield Line(number + 1, None, "the file ends in the middle of it: it is cut off")


def _json_line(number: int, text: bytes) -> Line:
    try:
        return Line(number, parse_op(json.loads(text)))
    except Malformed as problem:
        return Line(number, None, str(problem))
    except (ValueError, RecursionError) as problem:
        return Line(number, None, f"is not JSON: {str(problem) or type(problem).__name__}")


def _edn_forms(stream: BinaryIO) -> Iterator[Line]:
    number = 0
    try:
        for found in read_edn(io.TextIOWrapper(stream, "utf-8-sig", "replace", newline="\n")):
            number = found.line
            yield _edn_form(found) if isinstance(found, Form) else Line(found.line, None, found.why)
    except EOFError:
        yield Line(number + 1, None, "the file ends in the middle of it: it is cut off")


def _edn_form(form: Form) -> Line:
    try:
        return Line(form.line, parse_op(form.value))
    except (Malformed, RecursionError) as problem:
        return Line(form.line, None, str(problem) or type(problem).__name__)
