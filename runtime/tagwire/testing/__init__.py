"""Helpers for tests of code that uses messages: golden bytes, and random messages.

    assert_wire(message, version, hex)    these are the bytes, both ways; if not, both annotated
    messages(C, version)                  a Hypothesis strategy for values that the version carries

Needs nothing beside the runtime until `messages` is called, which needs hypothesis.
"""

from typing import TYPE_CHECKING

from tagwire.testing.golden_bytes import assert_wire

if TYPE_CHECKING:
    from tagwire.testing.strategies import messages

__all__ = ["assert_wire", "messages"]


def __getattr__(name: str) -> object:
    if name != "messages":
        raise AttributeError(f"module 'tagwire.testing' has no attribute {name!r}")
    from tagwire.testing.strategies import messages

    return messages
