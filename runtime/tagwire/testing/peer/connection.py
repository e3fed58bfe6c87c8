"""One connection to a mock peer, without any I/O: bytes go in as they arrive, and actions come out.

Strategy, as in h11: whoever has a socket calls `receive_data` and does what it returns. All
decisions are made here and in the script, so they are tested without sockets, and whichever
way the bytes are cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tagwire.errors import TagwireError
from tagwire.frames.splitter import FrameSplitter
from tagwire.testing.addresses import Address
from tagwire.testing.peer.actions import Action, Close
from tagwire.testing.peer.journal import Problem, Received
from tagwire.testing.peer.replies import Reply, actions_of, frame_of

if TYPE_CHECKING:
    from tagwire.testing.peer.mock_peer import MockPeer

__all__ = ["PeerConnection"]


class PeerConnection:
    """A connection to a `MockPeer`. Made by `MockPeer.connect`."""

    def __init__(self, peer: MockPeer, number: int, address: Address) -> None:
        self.number = number
        self.address = address
        self.is_closed = False
        self._peer = peer
        self._splitter = FrameSplitter(max_size=peer.max_size)
        self._received = 0
        self._held: list[tuple[int, list[Action]]] = []
        """Answers that wait for others: how many are still to go first, and what is then done."""

    def receive_data(self, data: bytes) -> list[Action]:
        """Take some bytes of the client; empty bytes say that it has closed its side. Returns what to do, in order.

        Behind a `Close` nothing is done, and further bytes are ignored.
        """
        if self.is_closed:
            return []
        if not data:
            return self._ended()
        self._splitter.feed(data)
        actions: list[Action] = []
        try:
            offset = self._splitter.offset
            for frame in self._splitter:
                actions += self._answer(frame, offset)
                offset = self._splitter.offset
                if self.is_closed:
                    break
        except TagwireError as error:  # a size that is none
            actions += self._fail(Problem(f"the bytes are not frames: {error}", self.number, cause=error))
        return actions

    def _ended(self) -> list[Action]:
        """The client sends no more: what is held goes out now, for nothing will come before it."""
        actions = _up_to_close([*(action for _, held in self._held for action in held), Close()])
        self._held.clear()
        self.is_closed = True
        try:
            self._splitter.close()
        except TagwireError as error:
            self._peer.journal.add_problem(
                Problem(f"the client ended within a frame: {error}", self.number, None, error)
            )
        return actions

    def _answer(self, frame: bytes, offset: int) -> list[Action]:
        try:
            request = self._read(frame, offset)
        except TagwireError as error:
            text = f"the request at byte {offset} can't be read: {error}"
            return self._fail(Problem(text, self.number, cause=error))
        try:
            reply = self._peer.reply_to(request)
            made = actions_of(reply, frame_of(reply, request, self._peer.registry))
        except Exception as error:  # of a function of the script: the test must see it, whatever it is
            text = str(error) if isinstance(error, TagwireError) else f"the script raised {error!r}"
            return self._fail(Problem(f"{request.name} v{request.version}: {text}", self.number, request, error))
        return self._in_order(reply, made)

    def _read(self, frame: bytes, offset: int) -> Received:
        """The request in a frame, added to the journal. Raises TagwireError."""
        registry = self._peer.registry
        cls, version = registry.request_class(frame)
        header: Any
        message: Any = None
        if version in cls.VERSIONS:
            found = registry.decode_request(frame, limits=self._peer.limits)
            header, message = found.header, found.message
        else:
            header, _ = registry.decode_header(frame, limits=self._peer.limits)
        self._received += 1
        return self._peer.journal.add_request(
            lambda number: Received(
                name=cls.NAME,
                version=version,
                header=header,
                message=message,
                number=number,
                connection=self.number,
                index=self._received,
                offset=offset,
                frame=frame,
                address=self.address,
            )
        )

    def _in_order(self, reply: Reply, made: list[Action]) -> list[Action]:
        """What is done now: the actions of an answer, and of those held ones that were waiting for it."""
        if reply.behind:
            self._held.append((reply.behind, made))
            return []
        actions = made
        if reply.is_answer:
            due = [held for left, held in self._held if left == 1]
            self._held = [(left - 1, held) for left, held in self._held if left > 1]
            actions = [*actions, *(action for held in due for action in held)]
        self.is_closed = Close() in actions
        return _up_to_close(actions)

    def _fail(self, problem: Problem) -> list[Action]:
        self.is_closed = True
        self._peer.journal.add_problem(problem)
        return [Close()]


def _up_to_close(actions: list[Action]) -> list[Action]:
    """The actions that are done: none behind a `Close`."""
    return actions[: actions.index(Close()) + 1] if Close() in actions else actions
