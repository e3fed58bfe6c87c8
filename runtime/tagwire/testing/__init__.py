"""Helpers for tests of code that uses messages: golden bytes, random messages, and a mock peer.

    assert_wire(message, version, hex)  compares a message with its bytes, in both directions
    messages(C, version)                a Hypothesis strategy for messages of class C that the version can represent
    peer.MockPeer(registry)             a test server that sends scripted answers
    pytest_plugin                       pytest fixtures: mock peers that run during a test

`messages` needs hypothesis, and the plugin needs pytest.
"""

from typing import TYPE_CHECKING

from tagwire.lazy import lazy_names

if TYPE_CHECKING:
    from tagwire.testing.golden_bytes import assert_wire
    from tagwire.testing.strategies import messages

__all__ = ["assert_wire", "messages"]

_MODULES = {
    "tagwire.testing.golden_bytes": ("assert_wire",),
    "tagwire.testing.strategies": ("messages",),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
