"""Header keys of KIP-82's first draft: how a register says that a value is written, and which keys are reserved.

A member of a register brings its codec along. Which keys nobody may use is in
the proposal's own table, a generated package above us, so it is looked up by
name and only where a key is set.
"""

import struct
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final
from uuid import UUID

from tagwire.message.register import KeyRange

__all__ = ["CODECS", "CODEC_FAULTS", "range_of"]

_HOME: Final = "tagwire_drafts.kip82_int.kafka_header_keys"


def _fixed(code: str) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    form = struct.Struct(code)
    return form.pack, lambda data: form.unpack(data)[0]


CODECS: Final[dict[str, tuple[Callable[[Any], bytes], Callable[[bytes], Any]]]] = {
    "utf-8": (lambda value: value.encode(), lambda data: data.decode()),
    "int16": _fixed(">h"),
    "int32": _fixed(">i"),
    "int64": _fixed(">q"),
    "float64": _fixed(">d"),
    "uuid": (lambda value: value.bytes, lambda data: UUID(bytes=data)),
}
"""A header's value to bytes and back, by the name that registers use."""

CODEC_FAULTS: Final = (AttributeError, TypeError, ValueError, OverflowError, struct.error)
"""What a codec may raise for a value or bytes that are not its own."""


def range_of(key: int) -> KeyRange | None:
    """The range of the proposal's table that an unsigned key is in; None where the drafts are not installed."""
    try:
        ranges: tuple[KeyRange, ...] = import_module(_HOME).RANGES
    except ImportError:
        return None
    return next((each for each in ranges if key in each), None)
