"""Operations as Python data to EDN and JSON Lines, for tests that hold the two against each other."""

import json
from typing import Any

_NAMES = {"invoke", "ok", "fail", "info", "send", "poll", "txn", "assign", "subscribe", "crash", "debug-topic-partitions"}


def json_lines(ops: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(op) + "\n" for op in ops)


def edn_lines(ops: list[dict[str, Any]]) -> str:
    return "".join(edn(op) + "\n" for op in ops)


def edn_vector(ops: list[dict[str, Any]]) -> str:
    return "[" + "\n ".join("#jepsen.history.Op" + edn(op) for op in ops) + "]\n"


def edn(value: Any) -> str:
    """As Jepsen writes it: words are keywords, keys of operations too."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} {edn(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + " ".join(map(edn, value)) + "]"
    if isinstance(value, str):
        return f":{value}" if value in _NAMES else json.dumps(value)
    if value is None or isinstance(value, bool):
        return {None: "nil", True: "true", False: "false"}[value]
    return str(value)


def _key(key: Any) -> str:
    """Of a map of polled keys they are data; JSON has no choice but strings, EDN has numbers."""
    return key if str(key).lstrip("-").isdecimal() else f":{key}" if str(key).isidentifier() or "-" in key else json.dumps(key)
