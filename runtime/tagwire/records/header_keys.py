"""Header keys of KIP-82's first draft: the codecs of values in a register, and the reserved keys.

A member of a register has its codec. The reserved keys are in the proposal's own table, which is read only when a key
is set.
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
"""Functions that encode and decode a header value, by the codec name that registers use."""

DECOMPRESSION_ERRORS: Final = (AttributeError, TypeError, ValueError, OverflowError, struct.error)
"""The exceptions of a codec for values or bytes that it can't handle."""


def range_of(key: int) -> KeyRange | None:
    """Return the reserved range that contains an unsigned key; None if there is none or the drafts are missing."""
    return next((each for each in reserved_keys() if key in each), None)
