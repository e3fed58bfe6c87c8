"""Compare the native engine's errors and traces with the interpreter's.

The tests fail if the engine needs the interpreter to find the position of a decoding error. Encoding errors always come
from the interpreter.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from damage import Sample

import tagwire
from tagwire import DecodeError, EncodeError, Limits
from tagwire.explain.text import annotate
from tagwire.interpreter import reader, writer
from tagwire.message.field_table import layout_of

BOUNDS = ("bytes", "depth", "elements", "unknown_tags", "unknown_tag_bytes")
NO_LIMITS = Limits()
Facts = tuple[type, str, dict[str, Any]] | None


class InterpreterUsedError(Exception):
    """Raised if the native engine uses the interpreter to find the position of an error."""


def raising(*_: object, **__: object) -> None:
    raise InterpreterUsedError


def facts(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Facts:
    """Return the class, message and attributes of the error that a call raises, or None."""
    try:
        call(*args, **kwargs)
    except (DecodeError, EncodeError) as error:
        return type(error), str(error), vars(error)
    return None


@contextmanager
def closed_way() -> Generator[None]:
    """Within the `with` block, raise an error if the engine uses the interpreter to decode a whole message."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "decode", raising)
        yield


def any_limits(random: Random) -> Limits:
    return Limits(**{random.choice(BOUNDS[1:]): random.choice((0, 1, 2, 3, 5, 30))})


def place_differs(sample: Sample, data: bytes, limits: Limits, offset: int = 0) -> str | None:
    """Decode `data` with both engines, at `offset` of a buffer. Return how their errors differ, or None."""
    buf, whole = bytes(offset) + data, not offset
    layout, serializer = layout_of(sample.cls, sample.version), sample.cls.serializer(sample.version)
    with closed_way():
        if whole:
            fast = facts(serializer.decode, buf, limits=limits, views=len(data) % 2 == 0)
        else:
            fast = facts(serializer.decode_from, buf, offset, limits=limits)
    slow = facts(reader.decode, layout, buf, offset=offset, whole=whole, strict=True, limits=limits)
    return None if fast == slow else f"native {fast}, interpreter {slow}"


def writing_differs(sample: Sample, message: Any) -> str | None:
    layout, serializer = layout_of(sample.cls, sample.version), sample.cls.serializer(sample.version)
    slow = facts(writer.encode, layout, message)
    for name in ("encode", "encoded_size"):
        fast = facts(getattr(serializer, name), message)
        if fast != slow:
            return f"{name} {fast}, interpreter {slow}"
    if slow is None and serializer.encoded_size(message) != len(serializer.encode(message)):
        return f"a size of {serializer.encoded_size(message)} for {len(serializer.encode(message))} bytes"
    return None


def trace_differs(sample: Sample, data: bytes, *, strict: bool, limits: Limits) -> bool:
    fast = tagwire.trace(sample.cls, data, sample.version, strict=strict, limits=limits)
    slow = tagwire.trace(layout_of(sample.cls, sample.version), data, strict=strict, limits=limits)
    nodes = [[(node.complete, node.trailer_length) for node in each.root.walk()] for each in (fast, slow)]
    return nodes[0] != nodes[1] or fast.to_json() != slow.to_json() or annotate(fast) != annotate(slow)
