"""Helpers for tests of code that uses messages: golden bytes, random messages, and a mock peer.

    assert_wire(message, version, hex)    these are the bytes, both ways; if not, both annotated
    messages(C, version)                  a Hypothesis strategy for values that the version carries
    peer.MockPeer(registry)               a server with scripted answers
    corpus.seeds(C, version)              what fuzzers begin with
    pytest_plugin                         fixtures of pytest: mock peers that run while a test does

Needs nothing beside the runtime, but for `messages`, which needs hypothesis, and the plugin.
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
