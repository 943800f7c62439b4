"""The brokers' log files as one text: the last lines of each, then what is added to any of them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path

_PAUSE = 0.2


def print_logs(paths: Mapping[int, Path], last: int, *, follow: bool) -> None:
    """Each line after its node where there are several. Following goes on until Ctrl-C."""
    read: dict[int, int] = {}
    for node, path in paths.items():
        text, read[node] = _read_from(path, 0)
        _print(node, deque(text.splitlines(), maxlen=last), several=len(paths) > 1)
    try:
        while follow:
            time.sleep(_PAUSE)
            for node, path in paths.items():
                text, read[node] = _read_from(path, read[node])
                _print(node, text.splitlines(), several=len(paths) > 1)
    except KeyboardInterrupt:
        return


def _read_from(path: Path, position: int) -> tuple[str, int]:
    """Whole lines from there on, and where the next begins."""
    try:
        with open(path, "rb") as file:
            file.seek(position)
            data = file.read()
    except FileNotFoundError:
        return "", position
    whole = data[: data.rfind(b"\n") + 1]
    return whole.decode(errors="replace"), position + len(whole)


def _print(node: int, lines: deque[str] | list[str], *, several: bool) -> None:
    for line in lines:
        print(f"{node} {line}" if several else line, flush=True)
