"""Fixtures of pytest: mock peers that run while a test does.

    mock_peer             a running `MockPeer` of the registry that `mock_peer_registry` gives
    make_mock_peer        a function that starts more of them: one for each broker, say
    mock_peer_registry    Kafka's messages; a project with messages of its own overrides it

When the test is over, the peers are closed, and the test fails if one had problems: requests
that no rule answers, errors of the script, bytes that are no frames. pytest finds the plugin
itself where tagwire is installed, so it imports nothing but pytest before a fixture is used.
"""

from __future__ import annotations

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
    """The messages of `mock_peer`: Kafka's. Override it for a protocol of your own."""
    from tagwire.frames.known_packages import kafka_messages

    return kafka_messages()


@pytest.fixture
def make_mock_peer(mock_peer_registry: Registry) -> Iterator[Callable[..., MockPeer]]:
    """Start mock peers on loopback: `make_mock_peer(registry=None, **options)`, the options those of `MockPeer`."""
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
    """A mock peer that listens at `mock_peer.address`."""
    return make_mock_peer()
