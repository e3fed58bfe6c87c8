"""The pytest plugin: fixtures with mock peers that run during a test, and a hook that explains failed comparisons.

    mock_peer           a running `MockPeer` with the registry of `mock_peer_registry`
    make_mock_peer      a function that starts more peers, such as one for each broker
    mock_peer_registry  Kafka's messages; override it for your own messages

After the test, the peers are closed, and the test fails if any had problems: requests that no rule answers, script
errors, or bytes that are not frames. If `assert message == other` fails, pytest lists the fields that differ. pytest
loads this plugin whenever tagwire is installed, so nothing but pytest is imported until the plugin is used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.testing.peer import MockPeer

__all__ = ["make_mock_peer", "mock_peer", "mock_peer_registry"]


@pytest.fixture
def mock_peer_registry() -> Registry:
    """The registry of messages for `mock_peer`: Kafka's, unless you override this fixture."""
    from tagwire.frames.known_packages import kafka_messages

    return kafka_messages()


@pytest.fixture
def make_mock_peer(mock_peer_registry: Registry) -> Iterator[Callable[..., MockPeer]]:
    """Return a function that starts mock peers on loopback: `make_mock_peer(registry=None, **options)`.

    `options` are passed to `MockPeer`.
    """
    from tagwire.testing.peer import MockPeer

    __tracebackhide__ = True
    peers: list[MockPeer] = []
    with ExitStack() as stack:

        def start(registry: Registry | None = None, **options: object) -> MockPeer:
            peer = MockPeer(registry or mock_peer_registry, **options)  # type: ignore[arg-type]
            stack.enter_context(peer.running())
            peers.append(peer)
            return peer

        yield start
    for peer in peers:
        peer.assert_no_problems()


@pytest.fixture
def mock_peer(make_mock_peer: Callable[..., MockPeer]) -> MockPeer:
    """A running mock peer. Its address is `mock_peer.address`."""
    return make_mock_peer()


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Return the explanation of a failed `assert left == right` if both are messages or structs of one class."""
    structs = sys.modules.get("tagwire.message.struct_class")  # not imported unless there are messages
    if op != "==" or structs is None or not isinstance(left, structs.Struct) or type(left) is not type(right):
        return None
    from tagwire.sensitive import showing_sensitive
    from tagwire.testing.peer.journal import differences

    name = type(left).__name__
    with showing_sensitive():  # test data is not secret, so sensitive values are shown
        fields = [f"{each.path}: {each.expected} != {each.received}" for each in differences(left, right)]
    return [f"{name} == {name}", *fields]
