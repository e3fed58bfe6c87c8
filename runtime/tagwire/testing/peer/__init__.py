"""A mock peer: a test server that sends scripted answers, in Kafka's protocol or your own.

    MockPeer(registry)                    a peer; without a registry, it uses Kafka's messages
    peer.on(MetadataRequest).reply(...)   answer with a message, a function's result, or each item of a list
    Reply(message, delay=1, cut_at=7)     an answer with injected faults
    with peer.running() as address        run on a socket, in its own thread
    async with peer.serving() as address  run on a socket, in the running event loop
    peer.connect()                        connect without a socket: bytes in, actions out
    peer.requests, peer.assert_received   the received requests

The peer is for tests and is not a broker: it has no state apart from its script. See docs/mock-peer.md.
"""

from typing import TYPE_CHECKING

from tagwire.lazy import lazy_names

if TYPE_CHECKING:
    from tagwire.addresses import Address
    from tagwire.testing.peer.journal import PeerError, PeerProblem, Received
    from tagwire.testing.peer.mock_peer import MockPeer, PeerConnection
    from tagwire.testing.peer.replies import Action, AnswerRule, Close, Reply, Send, Wait

__all__ = [
    "Action",
    "Address",
    "AnswerRule",
    "Close",
    "MockPeer",
    "PeerConnection",
    "PeerError",
    "PeerProblem",
    "Received",
    "Reply",
    "Send",
    "Wait",
]

_MODULES = {
    "tagwire.addresses": ("Address",),
    "tagwire.testing.peer.journal": ("PeerError", "PeerProblem", "Received"),
    "tagwire.testing.peer.mock_peer": ("MockPeer", "PeerConnection"),
    "tagwire.testing.peer.replies": ("Action", "AnswerRule", "Close", "Reply", "Send", "Wait"),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
