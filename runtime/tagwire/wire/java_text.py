"""Decode invalid UTF-8 as Java does, for lenient decoding.

Java's decoder and Python's `errors="replace"` replace the same byte sequences with U+FFFD, with one exception: for a
UTF-16 surrogate in three bytes (ED A0..BF ..), Java writes one U+FFFD, Python up to three.
"""

from codecs import register_error
from typing import Final

_HANDLER: Final = "tagwire.java"


def decode_as_java(data: bytes) -> str:
    """Decode `data` like Java's `new String(data, UTF_8)`: each malformed sequence becomes one U+FFFD."""
    return data.decode(errors=_HANDLER)


def _replace(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    start = error.start
    return "\ufffd", max(error.end, start + _surrogate_size(error.object[start : start + 3]))


def _surrogate_size(data: bytes) -> int:
    if len(data) < 2 or data[0] != 0xED or not 0xA0 <= data[1] <= 0xBF:
        return 0
    return 3 if len(data) == 3 and 0x80 <= data[2] <= 0xBF else 2


register_error(_HANDLER, _replace)
