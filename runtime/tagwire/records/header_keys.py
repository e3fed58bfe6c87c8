"""Header keys of KIP-82's first draft: the codecs of values in a register, and the reserved keys.

A member of a register has its codec. The reserved keys are in the proposal's own table,
which is read only when a key is set.
"""

import struct
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from tagwire.frames.known_packages import reserved_keys
from tagwire.message.register import KeyRange


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
    return next((each for each in reserved_keys() if key in each), None)
