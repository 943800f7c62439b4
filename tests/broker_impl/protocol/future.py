"""Messages as a later version of the protocol might send them: with tagged fields nobody knows yet."""

import dataclasses
from typing import Any

from broker_impl.protocol.schema import STRING, Array, Wire, array, wire


def from_the_future(cls: type) -> type:
    """The same message with one more tagged field, in it and in all its parts."""
    members = [(each.name, each.type, _evolved(each)) for each in dataclasses.fields(cls)]
    extra = ("from_the_future", str, wire(STRING, tag=(777, 0)))
    return dataclasses.make_dataclass(cls.__name__ + "FromTheFuture", [*members, extra], slots=True)


def back_to_today(message: Any, cls: type) -> Any:
    """What is left of such a message for one who knows only `cls`."""
    values = {}
    for each in dataclasses.fields(cls):
        kind, value = each.metadata["wire"].type, getattr(message, each.name)
        if isinstance(kind, Array) and isinstance(kind.element, type) and value is not None:
            value = [back_to_today(inner, kind.element) for inner in value]
        elif isinstance(kind, type) and value is not None:
            value = back_to_today(value, kind)
        values[each.name] = value
    return cls(**values)


def _evolved(each: Any) -> Any:
    how: Wire = each.metadata["wire"]
    kind = how.type
    default_factory = each.default_factory
    if isinstance(kind, Array) and isinstance(kind.element, type):
        kind = array(from_the_future(kind.element))
    elif isinstance(kind, type):
        kind = from_the_future(kind)
        default_factory = kind if default_factory is not dataclasses.MISSING else default_factory
    metadata = {"wire": dataclasses.replace(how, type=kind)}
    return dataclasses.field(default=each.default, default_factory=default_factory, metadata=metadata)
