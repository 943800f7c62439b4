"""Modules loaded before the broker starts, which may replace its public functions (`--plugin FILE`).

A plugin defines `install()` and calls `replace("package.module:Class.method", new)` there. What is to be replaced must
exist and be called as its replacement can be: a plugin written for another version of the broker is an error, never a broker
that runs unchanged.
"""

import importlib
import importlib.util
from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

_originals: dict[str, Any] = {}


class PluginError(Exception):
    """The plugin cannot be loaded or does not fit this broker; the message says why."""


def load(path: str) -> None:
    spec = importlib.util.spec_from_file_location(f"plugin_{abs(hash(path))}", path)
    if spec is None or spec.loader is None:
        raise PluginError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        install = getattr(module, "install", None)
        if not callable(install):
            raise PluginError(f"{path} has no install()")
        install()
    except PluginError:
        raise
    except Exception as problem:
        raise PluginError(f"{path} failed to install: {problem!r}") from problem


def replace(target: str, new: Any) -> Any:
    """Puts `new` in the place of `module:name` or `module:Class.name`; returns what was there."""
    module_name, _colon, path = target.partition(":")
    try:
        owner: Any = importlib.import_module(module_name)
        *outer, name = path.split(".")
        for part in outer:
            owner = getattr(owner, part)
        old = getattr(owner, name)
    except (ImportError, AttributeError, ValueError) as problem:
        raise PluginError(f"there is no {target} to replace: {problem}") from None
    original = _originals.setdefault(target, old)
    if callable(original) and callable(new):
        _check_call(target, original, new)
    setattr(owner, name, new)
    return old


def _check_call(target: str, original: Callable[..., Any], new: Callable[..., Any]) -> None:
    parameters = signature(original).parameters.values()
    named = {each.name: None for each in parameters if each.kind is Parameter.KEYWORD_ONLY}
    in_order = [None for each in parameters if each.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    try:
        signature(new).bind(*in_order, **named)
    except TypeError as problem:
        raise PluginError(f"{target} is called with {signature(original)}, which its replacement does not take: {problem}") from None
