"""Helpers for tests of code that uses messages: golden bytes, random messages, and a mock peer.

    assert_wire(message, version, hex)  compares a message with its bytes, in both directions
    messages(C, version)                a Hypothesis strategy for messages of class C that the version can represent
    peer.MockPeer(registry)             a test server that sends scripted answers
    pytest_plugin                       pytest fixtures: mock peers that run during a test

`messages` needs hypothesis, and the plugin needs pytest. pytest imports this package when it loads the plugin, so the
functions import what they need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagwire.lazy import lazy_names

if TYPE_CHECKING:
    from typing import Any

    from tagwire.message.base import Message
    from tagwire.testing.strategies import messages

__all__ = ["assert_wire", "messages"]

__getattr__, __dir__ = lazy_names(__name__, {"tagwire.testing.strategies": ("messages",)})


def assert_wire(message: Message, version: int, expected: str | bytes) -> None:
    """Assert that the message encodes to these bytes, and that the bytes decode to an equal message.

    `expected` is bytes or a string of hex digits, in which whitespace and comments (`#` to the end of a line) are
    ignored. Raises AssertionError, which shows both byte strings and the meaning of each byte; EncodeError or
    UnsupportedVersionError if the version can't represent the message; and ValueError for invalid hex.
    """
    import re

    from tagwire.errors import TagwireError

    __tracebackhide__ = True  # makes pytest show the failing line of the test instead of a line of this module
    data = expected if isinstance(expected, bytes) else bytes.fromhex(re.sub("#.*", "", expected))
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
    from tagwire.text_format import count

    offset = next((at for at, pair in enumerate(zip(encoded, expected, strict=False)) if pair[0] != pair[1]), None)
    if offset is None:
        return f"expected {count(len(expected), 'byte')}, got {len(encoded)}"
    return f"byte {offset}: expected {expected[offset]:02x}, got {encoded[offset]:02x}"


def _annotated(cls: type[Message], data: bytes, version: int) -> str:
    from tagwire.explain.text import annotate
    from tagwire.explain.trace import trace
    from tagwire.sensitive import showing_sensitive

    with showing_sensitive():  # test data is not secret, so sensitive values are shown
        return annotate(trace(cls, data, version))
