"""The frames of one direction, found in bytes that are passed on as they come.

Strategy: bytes of a frame go on as soon as they are there, so a large frame costs no
time of its own; only frames that are to be changed are held until they are whole. All
frames are also collected for the record. What is collected counts against a `Budget`
that all connections share: a frame that does not fit goes on and is not recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from tagwire.text_format import count

__all__ = ["HEAD", "Budget", "Bytes", "Passing"]

Bytes: TypeAlias = bytes | bytearray | memoryview

_SIZE: Final = 4
_SMALL: Final = 4096
HEAD: Final = 8
"""Bytes of a frame that say what it is: API key, version and correlation id, or the id alone."""


class Budget:
    """How many bytes of incomplete frames all connections may hold together."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = 0


class Passing:
    """One direction of a connection.

    `begins` gets the first bytes of a frame, eight if it has them, and says whether it is to
    be held. `ends` gets the whole frame and returns what goes on in its place, which counts
    for held frames only. `note` gets what is wrong; after a size that can't be one, everything
    passes on as it is.
    """

    def __init__(
        self,
        *,
        max_size: int,
        budget: Budget,
        begins: Callable[[bytes], bool],
        ends: Callable[[bytes], bytes],
        note: Callable[[str], None],
    ) -> None:
        self.max_size = max_size
        self.offset = 0
        """Where the size of the frame that has begun, or of the next, is in the stream."""
        self.is_lost = False
        """Whether no frames can be found any more."""
        self._budget = budget
        self._begins = begins
        self._ends = ends
        self._note = note
        self._head = b""
        """The size and the first bytes of a frame, while it is not known what it is."""
        self._size = 0
        self._left = 0
        self._parts: list[Bytes] | None = None
        """What came of the frame; None if it is not recorded."""
        self._collected = 0
        self._is_held = False

    def feed(self, data: bytes) -> list[Bytes]:
        """Take some bytes of the stream; returns those that go on now."""
        out: list[Bytes] = []
        rest = memoryview(data)
        while len(rest):
            if self.is_lost:
                out.append(rest)
                break
            if self._left:
                part, rest = rest[: self._left], rest[self._left :]
                self._take(part, out)
            else:
                rest = self._feed_head(rest, out)
        return out

    def close(self) -> list[Bytes]:
        """The stream has ended; returns what was still held."""
        rest: list[Bytes] = [self._head] if self._head else []
        if self._left:
            if self._is_held:
                rest = self._released()
            found = f"{count(self._size - self._left, 'byte')} of a frame of {count(self._size, 'byte')}"
            self._note(f"the stream ends with {found}, which is not recorded")
        elif self._head:
            self._note(f"the stream ends with {count(len(self._head), 'byte')} of a frame")
        self._forget()
        self._head, self._left, self.is_lost = b"", 0, True
        return rest

    def _feed_head(self, rest: memoryview, out: list[Bytes]) -> memoryview:
        """Take what is missing of the size, or of the first bytes behind it; returns what is left of `rest`."""
        wanted = _SIZE if len(self._head) < _SIZE else _SIZE + min(self._size, HEAD)
        missing = wanted - len(self._head)
        self._head += rest[:missing]
        if len(self._head) == _SIZE and wanted == _SIZE:
            self._size = int.from_bytes(self._head, "big", signed=True)
            if not 0 <= self._size <= self.max_size:
                self._note(
                    f"byte {self.offset}: found size {self._size} of a frame, expected 0 to {self.max_size}; "
                    "from here on bytes are passed on untouched, and not recorded"
                )
                out.append(self._head)
                self._head, self.is_lost = b"", True
            elif self._size == 0:
                self._begin(out)
        elif len(self._head) == wanted:
            self._begin(out)
        return rest[missing:]

    def _begin(self, out: list[Bytes]) -> None:
        head, self._head = self._head, b""
        self._is_held = self._begins(head[_SIZE:])
        if not self._is_held:
            out.append(head)
        self._parts = [head[_SIZE:]]
        self._left = self._size - (len(head) - _SIZE)
        if not self._left:
            self._finish(out)

    def _take(self, part: memoryview, out: list[Bytes]) -> None:
        """More bytes of a frame."""
        self._left -= len(part)
        if not self._is_held:
            out.append(part)
        if self._parts is not None:
            self._collect(self._parts, part)
            if self._left:
                self._collected += len(part)
                self._budget.held += len(part)
                if self._budget.held > self._budget.most:
                    self._give_up(out)
        if not self._left:
            self._finish(out)

    def _collect(self, parts: list[Bytes], part: memoryview) -> None:
        """Keep a part; small ones are joined, since each object takes memory of its own."""
        if len(part) >= _SMALL:
            parts.append(part)
        elif isinstance(parts[-1], bytearray):
            parts[-1] += part
        else:
            parts.append(bytearray(part))

    def _give_up(self, out: list[Bytes]) -> None:
        """Go on without collecting this frame."""
        changes = ", and its addresses stay as they are" if self._is_held else ""
        self._note(
            f"byte {self.offset}: a frame of {count(self._size, 'byte')} is not recorded{changes}: incomplete frames "
            f"of all connections hold more than {count(self._budget.most, 'byte')}"
        )
        if self._is_held:
            out += self._released()
        self._forget()
        self._is_held = False

    def _released(self) -> list[Bytes]:
        assert self._parts is not None, "a held frame is collected"
        return [self._size.to_bytes(_SIZE, "big"), *self._parts]

    def _forget(self) -> None:
        self._budget.held -= self._collected
        self._collected = 0
        self._parts = None

    def _finish(self, out: list[Bytes]) -> None:
        parts = self._parts
        self._forget()
        if parts is not None:
            frame = bytes(parts[0]) if len(parts) == 1 else b"".join(parts)
            changed = self._ends(frame)
            if self._is_held:
                out += [len(changed).to_bytes(_SIZE, "big"), changed]
        self._is_held = False
        self.offset += _SIZE + self._size
