"""Reading EDN, Clojure's data notation, from a stream: one form of the history at a time, whatever the size of the file.

A history is either one vector of operations or one operation after the other; both are read alike. What cannot be read is named with its
line, and reading goes on at the next line: a file that was cut off or damaged still tells the rest. An operation that never ends
would swallow all that follow; so a map that begins a line inside another one, the way operations do, ends the other as cut off.

Clojure's numbers, keywords and collections become Python's where they mean the same; the others have a small type each. Nothing is
evaluated: an unknown tag is kept with its form.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TextIO

CHUNK = 1 << 20
LONGEST_FORM = 1 << 26
"""Characters of one operation."""
DEEPEST = 500


@dataclass(frozen=True, slots=True)
class Keyword:
    name: str


@dataclass(frozen=True, slots=True)
class Symbol:
    name: str


@dataclass(frozen=True, slots=True)
class Map:
    """Keys may be anything, so it is a list of pairs."""

    pairs: tuple[tuple[Any, Any], ...]


@dataclass(frozen=True, slots=True)
class Tagged:
    """`#tag form`; a record such as `#jepsen.history.Op{…}` is one, too."""

    tag: str
    form: Any


class Form(NamedTuple):
    line: int
    value: Any


class Unreadable(NamedTuple):
    """What is wrong with the form that begins in this line."""

    line: int
    why: str


def read_edn(stream: TextIO) -> Iterator[Form | Unreadable]:
    """The elements of the vector or list that the file is, or else the forms in it."""
    return _Reader(stream).forms()


_TOKEN = re.compile(
    r"""[ ,]*(?:
        (?P<atom>[^\s,;"()\[\]{}\\\#^'`@~][^\s,;"()\[\]{}\\]*)
      | (?P<open>[(\[{]|\#\{)
      | (?P<close>[)\]}])
      | (?P<string>"[^"\\]*(?:\\.[^"\\]*)*")
      | (?P<discard>\#_)
      | (?P<special>\#\#-?[A-Za-z]+)
      | (?P<tag>\#:?:?[^\s,;"()\[\]{}\\\#'_][^\s,;"()\[\]{}\\]*)
      | (?P<char>\\.[^\s,;"()\[\]{}\\]*)
      | (?P<meta>\^)
      | (?P<space>(?:[\s,]|;[^\n]*)+|\Z))""",
    re.VERBOSE | re.DOTALL,
)
_OPERATION = re.compile(r"(?:#[A-Za-z][\w.\-]*)?\s*\{\s*:(?:index|type|process)\s")
_LINE = re.compile(r"[ \t,]*[\[(]?[ \t]*(?:\{|#[A-Za-z]|[\])]\s*$)", re.MULTILINE)
_INTEGER = re.compile(r"[+-]?\d+N?")
_FLOAT = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?M?")
_RATIO = re.compile(r"[+-]?\d+/\d+")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPED = {"t": "\t", "r": "\r", "n": "\n", "b": "\b", "f": "\f", "\\": "\\", '"': '"'}
_CHARS = {"newline": "\n", "space": " ", "tab": "\t", "return": "\r", "formfeed": "\f", "backspace": "\b"}
_CLOSERS = {"(": ")", "[": "]", "{": "}", "#{": "}"}
_WORDS = {"nil": None, "true": True, "false": False}
_SPECIAL = {"##Inf": math.inf, "##-Inf": -math.inf, "##NaN": math.nan}


_PREFIXES = {"discard": 1, "tag": 1, "meta": 2}
"""Kind of token -> how many forms it takes."""
_AHEAD = 512
_PENDING, _NOTHING = object(), object()


class _Malformed(Exception):
    pass


class _CutOff(_Malformed):
    """The next operation has begun, and nothing of it has been read."""


class _Frame:
    """A form that is not complete: a collection, or a prefix that waits for `wanted` forms."""

    __slots__ = ("items", "opener", "wanted")

    def __init__(self, opener: str, wanted: int = 0) -> None:
        self.opener, self.wanted = opener, wanted
        self.items: list[Any] = []


class _Reader:
    """`_text[_at:]` is what has not been read yet; `_line` is the line of `_counted`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text = ""
        self._at = self._counted = 0
        self._line = 1
        self._ended = False
        self._first_of_line = True
        self._keywords: dict[str, Keyword] = {}

    def forms(self) -> Iterator[Form | Unreadable]:
        closer = self._enter()
        while True:
            try:
                token = self._next()
                line = self._line_now()
                if token is None:
                    break
                if token["close"] == closer:
                    self._at, closer = token.end(), ""
                elif (value := self._form()) is not _NOTHING:
                    yield Form(line, value)
            except _Malformed as problem:
                yield Unreadable(self._line_now() if isinstance(problem, _BadToken) else line, str(problem))
                if not isinstance(problem, _CutOff):
                    self._skip_to_operation()
        if closer:
            yield Unreadable(line, f"the file ends without its `{closer}`: it is cut off")

    def _enter(self) -> str:
        """Step into the collection that the whole file is; the answer is what closes it."""
        try:
            token = self._next()
        except _BadToken:
            return ""
        if token is None or token["open"] not in ("[", "("):
            return ""
        self._at = token.end()
        return _CLOSERS[token["open"]]

    def _form(self) -> Any:
        """One form, or _NOTHING where it was discarded."""
        stack: list[_Frame] = []
        size = 0
        while True:
            token = self._next()
            if token is None:
                raise _Malformed("the file ends in the middle of it: it is cut off")
            kind = token.lastgroup or ""
            text = token[kind]
            if stack and self._first_of_line and text[0] in "{#" and _OPERATION.match(self._text, token.start(kind)):
                raise _CutOff("it does not end before the next operation begins: it is cut off")
            self._at, self._first_of_line = token.end(), False
            size += len(text)
            if size > LONGEST_FORM or len(stack) > DEEPEST:
                raise _Malformed(f"is longer than {LONGEST_FORM:,} characters or nested deeper than {DEEPEST}")
            if kind == "open":
                stack.append(_Frame(text))
                continue
            if kind in _PREFIXES:
                stack.append(_Frame(text, _PREFIXES[kind]))
                continue
            value = _complete(stack, _closed(stack, text) if kind == "close" else self._atom(kind, text))
            if value is not _PENDING:
                return value

    def _atom(self, kind: str, text: str) -> Any:
        if kind == "string":
            return text[1:-1] if "\\" not in text else _unescaped(text[1:-1])
        if kind == "char":
            return _char(text[1:])
        if kind == "special":
            return _SPECIAL.get(text, Symbol(text))
        if text[0] == ":":
            found = self._keywords.get(text)
            if found is None:
                found = self._keywords[text] = Keyword(text.lstrip(":"))
            return found
        return _number_or_word(text)

    def _next(self) -> re.Match[str] | None:
        """The next token that is no space, not yet taken: `_at` is its start. None at the end of the file."""
        while True:
            if len(self._text) - self._at < _AHEAD:
                self._fill()
            if self._at == len(self._text):
                return None
            token = _TOKEN.match(self._text, self._at)
            if (token is None or token.end() == len(self._text)) and not self._ended:
                self._fill()
                if len(self._text) - self._at > LONGEST_FORM:
                    raise _BadToken(f"is longer than {LONGEST_FORM:,} characters")
            elif token is None:
                raise _BadToken(
                    "a string does not end before the file: it is cut off"
                    if self._text[self._at] == '"'
                    else f"`{self._text[self._at]}` is not EDN"
                )
            elif token.lastgroup == "space":
                self._first_of_line = "\n" in token["space"]
                self._at = token.end()
            else:
                return token

    def _fill(self) -> None:
        if self._ended:
            return
        self._line_now()
        more = self._stream.read(CHUNK)
        self._ended = not more
        self._text = self._text[self._at :] + more
        self._at = self._counted = 0

    def _line_now(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _skip_to_operation(self) -> None:
        """To the next line that begins like one, or like the end of all."""
        while True:
            end = self._text.find("\n", self._at)
            self._at = len(self._text) if end < 0 else end + 1
            if len(self._text) - self._at < _AHEAD:
                self._fill()
            if (end >= 0 and _LINE.match(self._text, self._at)) or self._at == len(self._text):
                return


class _BadToken(_Malformed):
    """Not even a token can be read here."""


def _complete(stack: list[_Frame], value: Any) -> Any:
    """Hand a form to whoever waits for it: the outermost form, _NOTHING if that was discarded, _PENDING if it is still open."""
    while stack and stack[-1].wanted:
        frame = stack[-1]
        frame.items.append(value)
        if len(frame.items) < frame.wanted:
            return _PENDING
        stack.pop()
        if frame.opener == "#_":
            return _PENDING if stack else _NOTHING
        value = frame.items[1] if frame.opener == "^" else _tagged(frame.opener[1:], value)
    if not stack:
        return value
    stack[-1].items.append(value)
    return _PENDING


def _closed(stack: list[_Frame], closer: str) -> Any:
    if not stack:
        raise _Malformed(f"`{closer}` closes nothing")
    frame = stack.pop()
    if frame.wanted:
        raise _Malformed(f"`{frame.opener}` has nothing behind it")
    if _CLOSERS[frame.opener] != closer:
        raise _Malformed(f"`{frame.opener}` is closed by `{closer}`")
    if frame.opener != "{":
        return tuple(frame.items)
    if len(frame.items) % 2:
        raise _Malformed("a map has a key without a value")
    return Map(tuple(zip(frame.items[::2], frame.items[1::2], strict=True)))


def _tagged(tag: str, form: Any) -> Any:
    if not tag.startswith(":"):
        return Tagged(tag, form)
    if not isinstance(form, Map):
        raise _Malformed(f"`#{tag}` is not followed by a map")
    return Map(tuple((_qualified(tag.lstrip(":"), key), value) for key, value in form.pairs))


def _qualified(namespace: str, key: Any) -> Any:
    """`#:ns{:a 1}` is `{:ns/a 1}`; `:_/a` has no namespace."""
    if not isinstance(key, Keyword):
        return key
    if key.name.startswith("_/"):
        return Keyword(key.name[2:])
    return key if "/" in key.name else Keyword(f"{namespace}/{key.name}")


def _number_or_word(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if not (text[0].isdigit() or (text[0] in "+-" and text[1:2].isdigit())):
        return Symbol(text)
    if _INTEGER.fullmatch(text):
        return int(text.rstrip("N"))
    if _FLOAT.fullmatch(text):
        return Decimal(text[:-1]) if text.endswith("M") else float(text)
    if _RATIO.fullmatch(text) and int(text.partition("/")[2]):
        return _whole(Fraction(text))
    raise _Malformed(f"`{text[:40]}` is no number")


def _whole(ratio: Fraction) -> int | Fraction:
    return ratio.numerator if ratio.denominator == 1 else ratio


def _unescaped(text: str) -> str:
    """Java writes a character beyond 16 bits as two escapes."""
    found = _ESCAPE.sub(_unescape, text)
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if "\\u" in text else found


def _unescape(match: re.Match[str]) -> str:
    code, octal, letter = match.groups()
    if code:
        return chr(int(code, 16))
    if octal:
        return chr(int(octal, 8))
    if letter not in _ESCAPED:
        raise _Malformed(f"a string has the unknown escape `\\{letter}`")
    return _ESCAPED[letter]


def _char(name: str) -> str:
    if len(name) == 1:
        return name
    if name in _CHARS:
        return _CHARS[name]
    if re.fullmatch(r"u[0-9a-fA-F]{4}", name):
        return chr(int(name[1:], 16))
    if re.fullmatch(r"o[0-7]{1,3}", name):
        return chr(int(name[1:], 8))
    raise _Malformed(f"there is no character `\\{name[:40]}`")
