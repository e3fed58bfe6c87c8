"""pytest fixtures: mock peers that run during a test.

    mock_peer           a running `MockPeer` with the registry of `mock_peer_registry`
    make_mock_peer      a function that starts more peers, such as one for each broker
    mock_peer_registry  Kafka's messages; override it for your own messages

After the test, the peers are closed, and the test fails if any had problems: requests that no rule answers, script
errors, or bytes that are not frames. pytest loads this plugin whenever tagwire is installed, so nothing but pytest is
imported until a fixture is used.
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
