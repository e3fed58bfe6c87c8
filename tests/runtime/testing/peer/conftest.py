import pytest

from tagwire.testing.peer import MockPeer


@pytest.fixture
def peer() -> MockPeer:
    return MockPeer()
