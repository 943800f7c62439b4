"""The operations of a file, one after the other: EDN or JSON Lines, gzipped or not. What it is, its first characters tell.

Whatever happens in a history happens to one process at a time. So several tasks can share a file of JSON Lines: each looks at all lines but
reads only those of its own processes. A glance at a line is much cheaper than reading it; a line in which a glance might be mistaken is
read by everybody. EDN has to be read to know where a form ends, and is not shared.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from analysis.jepsen.edn import Form, read_edn
from analysis.jepsen.foreign import ForeignOp, Malformed, parse_op
from harness.history.errors import MalformedFile

_CUT_OFF = "the file ends in the middle of it: it is cut off"
_PROCESS = re.compile(rb'"process"\s*:\s*(\d{1,9})\s*[,}]')
_TIME = re.compile(rb'"time"\s*:\s*(-?\d{1,18})\s*[,}]')
_GZIP = b"\x1f\x8b"
_LOOK_AT = 4096
_JSON = re.compile(r'\s*\{\s*(?:"|\}\s*$)')
_EDN = re.compile(r"[\s,]*(?:$|[;\[({#^])")


class Line(NamedTuple):
    """A line's operation, or what is wrong with it. `position` counts operations, `time` is given or one more than that of the last."""

    number: int
    position: int
    time: int
    op: ForeignOp | None
    why: str = ""


class Share(NamedTuple):
    """Of `of` shares the one with number `mine`: the processes that leave that remainder. Who is no client is in share 0."""

    mine: int = 0
    of: int = 1

    def has(self, process: int | None) -> bool:
        return (process or 0) % self.of == self.mine


def can_be_shared(path: Path) -> bool:
    """MalformedFile where it is no history at all."""
    with _opened(path) as stream:
        return _is_json(path, stream)


WHOLE = Share()


def read_lines(path: Path, share: Share = WHOLE) -> Iterator[Line]:
    """Those of the share; lines that cannot be read are in share 0 unless a glance tells whose they are."""
    with _opened(path) as stream:
        yield from _json_lines(stream, share) if _is_json(path, stream) else _edn_forms(stream)


def _is_json(path: Path, stream: BinaryIO) -> bool:
    head = stream.peek(_LOOK_AT)[:_LOOK_AT].decode("utf-8", "replace").lstrip("\ufeff")  # type: ignore[attr-defined]
    if _JSON.match(head):
        return True
    if _EDN.match(head):
        return False
    raise MalformedFile(path, "is no history: neither EDN nor JSON Lines nor the folder of a run")


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with _open(path) as stream:
            yield stream
    except (gzip.BadGzipFile, zlib.error) as problem:
        raise MalformedFile(path, f"cannot be unpacked: {problem}") from None
    except OSError as problem:
        raise MalformedFile(path, f"cannot be read: {problem.strerror or problem}") from None


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        zipped = file.read(2) == _GZIP
    return gzip.open(path, "rb") if zipped else path.open("rb")  # type: ignore[return-value]


def _json_lines(stream: BinaryIO, share: Share) -> Iterator[Line]:
    number, position, time = 0, -1, -1
    try:
        for number, raw in enumerate(stream, start=1):
            text = raw.strip().removeprefix(b"\xef\xbb\xbf")
            if not text:
                continue
            position += 1
            seen = _glance(text)
            if seen is not None and not share.has(seen.process):
                time = time + 1 if seen.time is None else seen.time
                continue
            op, why = _read_json(text)
            told = op.time if op is not None else seen.time if seen is not None else None
            time = time + 1 if told is None else told
            if seen is not None or share.has(op.process if op is not None else None):
                yield Line(number, position, time, op, why)
    except EOFError:
        if share.has(None):
            yield Line(number + 1, position + 1, time + 1, None, _CUT_OFF)


class _Glance(NamedTuple):
    process: int
    time: int | None


def _glance(text: bytes) -> _Glance | None:
    """Whose line it is and its time, without reading it; None where that might be wrong."""
    if text.count(b'"process"') != 1 or (times := text.count(b'"time"')) > 1 or b"\\" in text:
        return None
    process, time = _PROCESS.search(text), _TIME.search(text) if times else None
    if process is None or bool(times) != (time is not None):
        return None
    return _Glance(int(process[1]), None if time is None else int(time[1]))


def _read_json(text: bytes) -> tuple[ForeignOp | None, str]:
    try:
        return parse_op(json.loads(text)), ""
    except Malformed as problem:
        return None, str(problem)
    except (ValueError, RecursionError) as problem:
        return None, f"is not JSON: {str(problem) or type(problem).__name__}"


def _edn_forms(stream: BinaryIO) -> Iterator[Line]:
    number, position, time = 0, -1, -1
    try:
        for position, found in enumerate(read_edn(io.TextIOWrapper(stream, "utf-8-sig", "replace", newline="\n"))):
            number = found.line
            op, why = _read_form(found.value) if isinstance(found, Form) else (None, found.why)
            time = time + 1 if op is None or op.time is None else op.time
            yield Line(number, position, time, op, why)
    except EOFError:
        yield Line(number + 1, position + 1, time + 1, None, _CUT_OFF)


def _read_form(form: Any) -> tuple[ForeignOp | None, str]:
    try:
        return parse_op(form), ""
    except (Malformed, RecursionError) as problem:
        return None, str(problem) or type(problem).__name__
