"""One connection to a mock peer, without I/O: it takes received bytes and returns actions.

A `ServerConnection` reads the requests, and the peer's script decides which actions follow. The owner of the socket
calls `receive_data` and carries out the returned actions.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from tagwire.addresses import Address
from tagwire.connection import RequestInfo, ServerConnection, UnusableConnectionError
from tagwire.errors import TagwireError
from tagwire.testing.peer.journal import PeerProblem, Received
from tagwire.testing.peer.replies import Action, Close, Reply, actions_of, frame_of

if TYPE_CHECKING:
    from tagwire.testing.peer.mock_peer import MockPeer


class PeerConnection:
    """A connection to a `MockPeer`. Made by `MockPeer.connect`."""

    def __init__(self, peer: MockPeer, number: int, address: Address) -> None:
        self.number = number
        self.address = address
        self.is_closed = False
        self._peer = peer
        self._server = ServerConnection(peer.registry, max_size=peer.max_size, limits=peer.limits)
        self._received = 0
        self._held: list[tuple[int, list[Action]]] = []
        """The answers that can't be sent yet, because other answers must be sent first.

        For each of them, a pair: how many other answers must be sent before it, and the actions that send it.
        """

    def receive_data(self, data: bytes) -> list[Action]:
        """Take bytes from the client, and return the actions to carry out, in order.

        Empty bytes mean that the client has closed its side of the connection. After a `Close`, further bytes are
        ignored.
        """
        if self.is_closed:
            return []
        if not data:
            return self._ended()
        actions: list[Action] = []
        with suppress(UnusableConnectionError):  # the error is reported below, from `self._server.error`
            for info in self._server.receive(data):
                actions += self._answer(info)
                if self.is_closed:
                    return actions
        if self._server.error is not None:
            problem = PeerProblem(str(self._server.error), self.number, cause=self._server.error.__cause__)
            actions += self._fail(problem)
        return actions

    def _ended(self) -> list[Action]:
        """Return the actions of all answers that `Reply.after` still holds back, and then a `Close`."""
        actions = _up_to_close([*(action for _, held in self._held for action in held), Close()])
        self._held.clear()
        self.is_closed = True
        try:
            self._server.receive(b"")
        except UnusableConnectionError as error:
            text = f"the client closed the connection within a frame: {error.__cause__}"
            self._peer.journal.add_problem(PeerProblem(text, self.number, None, error.__cause__))
        return actions

    def _answer(self, info: RequestInfo) -> list[Action]:
        cls, version = self._peer.registry.request_class(info.frame)
        self._received += 1
        request = self._peer.journal.add_request(
            lambda number: Received(
                name=cls.NAME,
                version=version,
                header=info.header,
                message=info.message,
                number=number,
                connection=self.number,
                index=self._received,
                offset=info.offset,
                frame=info.frame,
                address=self.address,
            )
        )
        try:
            reply = self._peer.reply_to(request)
            actions = actions_of(reply, frame_of(reply, info, self._server))
        except Exception as error:  # the script may raise any exception, and the test must see it
            text = str(error) if isinstance(error, TagwireError) else f"the script raised {error!r}"
            return self._fail(PeerProblem(f"{request.name} v{request.version}: {text}", self.number, request, error))
        return self._in_order(reply, actions)

    def _in_order(self, reply: Reply, own: list[Action]) -> list[Action]:
        """Return the actions of this answer, and then of all answers that waited for it (`Reply.after`)."""
        if reply.after:
            self._held.append((reply.after, own))
            return []
        actions = own
        if reply.is_answer:
            due = [held for left, held in self._held if left == 1]
            self._held = [(left - 1, held) for left, held in self._held if left > 1]
            actions = [*actions, *(action for held in due for action in held)]
        self.is_closed = Close() in actions
        return _up_to_close(actions)

    def _fail(self, problem: PeerProblem) -> list[Action]:
        self.is_closed = True
        self._peer.journal.add_problem(problem)
        return [Close()]


def _up_to_close(actions: list[Action]) -> list[Action]:
    return actions[: actions.index(Close()) + 1] if Close() in actions else actions
