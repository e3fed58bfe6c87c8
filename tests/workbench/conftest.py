from collections.abc import Generator

import pytest

import tagwire_messages as kafka
from tagwire.testing.peer import MockPeer


@pytest.fixture
def peer() -> Generator[MockPeer]:
    """Run a mock peer that answers heartbeats."""
    peer = MockPeer()
    peer.on(kafka.HeartbeatRequest).reply(kafka.HeartbeatResponse())
    with peer.running():
        yield peer
