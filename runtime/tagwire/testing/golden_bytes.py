"""Check that a message is encoded to the expected bytes, and that decoding these bytes returns the message."""

import re
from typing import Any, Final

from tagwire.errors import TagwireError
from tagwire.explain.text import annotate
from tagwire.explain.trace import trace
from tagwire.message.base import Message
from tagwire.sensitive import showing_sensitive
from tagwire.text_format import count

_COMMENT: Final = re.compile("#.*")


def assert_wire(message: Message, version: int, expected: str | bytes) -> None:
    """Assert that the message encodes to these bytes, and that the bytes decode to an equal message.

    `expected` is bytes or a string of hex digits, in which whitespace and comments (`#` to the end of a line) are
    ignored. Raises AssertionError, which shows both byte strings and the meaning of each byte; EncodeError or
    UnsupportedVersionError if the version can't represent the message; and ValueError for invalid hex.
    """
    __tracebackhide__ = True  # makes pytest show the failing line of the test instead of a line of this module
    data = expected if isinstance(expected, bytes) else bytes.fromhex(_COMMENT.sub("", expected))
    cls = type(message)
    encoded = message.encode(version)
    if encoded != data:
        raise AssertionError(
            f"{cls.NAME} v{version} is not encoded as expected: {_first_difference(encoded, data)}\n\n"
            f"expected:\n{_annotated(cls, data, version)}\nencoded:\n{_annotated(cls, encoded, version)}"
        )
    try:
        decoded: Any = cls.decode(data, version)
    except TagwireError as error:
        decoded = error
    if decoded != message:
        raise AssertionError(
            f"{cls.NAME} v{version} is not decoded as expected\n\n"
            f"expected: {message!r}\ndecoded:  {decoded!r}\n\n{_annotated(cls, data, version)}"
        )


def _first_difference(encoded: bytes, expected: bytes) -> str:
    offset = next((at for at, pair in enumerate(zip(encoded, expected, strict=False)) if pair[0] != pair[1]), None)
    if offset is None:
        return f"expected {count(len(expected), 'byte')}, got {len(encoded)}"
    return f"byte {offset}: expected {expected[offset]:02x}, got {encoded[offset]:02x}"


def _annotated(cls: type[Message], data: bytes, version: int) -> str:
    with showing_sensitive():  # test data is not secret, so sensitive values are shown
        return annotate(trace(cls, data, version))
