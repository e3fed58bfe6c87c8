"""The frames of one direction, found in bytes that are passed on as they come.

Strategy: bytes of a frame go on as soon as they are there, so a large frame costs no
time of its own; only frames that are to be changed are held until they are whole. All
frames are also collected for the record, which is made after they have gone on. What is
collected counts against a `Budget` that all connections share: a frame that does not fit
goes on and is not recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from tagwire.text_format import count

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


class Begun(NamedTuple):
    """What `Passing` is told of a frame that begins."""

    is_held: bool
    """Whether nothing of it goes on before it is whole."""
    ends: Callable[[bytes, int], bytes]
    """Gets the whole frame, and where its size is in the stream; returns what goes on in the place of a held one."""


class Passing:
    """One direction of a connection.

    `begins` gets the first bytes of a frame, eight if it has them. `note` gets what is wrong;
    after a size that can't be one, everything passes on as it is.
    """

    def __init__(
        self, *, max_size: int, budget: Budget, begins: Callable[[bytes], Begun], note: Callable[[str], None]
    ) -> None:
        self.max_size = max_size
        self.offset = 0
        """Where the size of the frame that has begun, or of the next, is in the stream."""
        self.is_lost = False
        """Whether no frames can be found any more."""
        self._budget = budget
        self._begins = begins
        self._note = note
        self._head = b""
        """The size and the first bytes of a frame, while it is not known what it is."""
        self._size = 0
        self._left = 0
        self._parts: list[Bytes] | None = None
        """What came of the frame; None if it is not recorded."""
        self._collected = 0
        self._begun: Begun | None = None
        self._passed: list[tuple[Begun, list[Bytes], int]] = []
        """Frames that go on and have not ended: what began, their parts, and where they are."""

    def feed(self, data: bytes) -> Iterator[Bytes]:
        """Take some bytes of the stream. Yields those that go on now, and ends the frames in them after that."""
        going = _Going(data)
        at, size = 0, len(data)
        while at < size:
            if self.is_lost:
                going.add(at, size)
                break
            if self._left:
                begin, at = at, min(at + self._left, size)
                self._take(going, begin, at)
            else:
                at = self._feed_head(going, at)
        yield from going.parts()
        self._end_passed()

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

    def _feed_head(self, going: _Going, at: int) -> int:
        """Take what is missing of the size, or of the first bytes behind it; returns where the rest begins."""
        known = len(self._head)
        wanted = _SIZE if known < _SIZE else _SIZE + min(self._size, HEAD)
        end = min(at + wanted - known, len(going.data))
        self._head += going.data[at:end]
        if len(self._head) == wanted == _SIZE:
            self._size = int.from_bytes(self._head, "big", signed=True)
            if not 0 <= self._size <= self.max_size:
                self._note(
                    f"byte {self.offset}: found size {self._size} of a frame, expected 0 to {self.max_size}; "
                    "from here on bytes are passed on untouched, and not recorded"
                )
                going.add_before(self._head, end)
                self._head, self.is_lost = b"", True
            elif self._size == 0:
                self._begin(going, end)
        elif len(self._head) == wanted:
            self._begin(going, end)
        return end

    def _begin(self, going: _Going, at: int) -> None:
        head, self._head = self._head, b""
        self._begun = self._begins(head[_SIZE:])
        if not self._begun.is_held:
            going.add_before(head, at)
        self._parts = [head[_SIZE:]]
        self._left = self._size - (len(head) - _SIZE)
        if not self._left:
            self._finish(going)

    def _take(self, going: _Going, begin: int, end: int) -> None:
        """More bytes of a frame."""
        self._left -= end - begin
        if not self._is_held:
            going.add(begin, end)
        if self._parts is not None:
            self._collect(self._parts, going.data[begin:end])
            if self._left:
                self._collected += end - begin
                self._budget.held += end - begin
                if self._budget.held > self._budget.most:
                    self._give_up(going)
        if not self._left:
            self._finish(going)

    @property
    def _is_held(self) -> bool:
        return self._begun is not None and self._begun.is_held

    def _collect(self, parts: list[Bytes], part: memoryview) -> None:
        """Keep a part; small ones are joined, since each object takes memory of its own."""
        if len(part) >= _SMALL:
            parts.append(part)
        elif isinstance(parts[-1], bytearray):
            parts[-1] += part
        else:
            parts.append(bytearray(part))

    def _give_up(self, going: _Going) -> None:
        """Go on without collecting this frame."""
        changes = ", and its addresses stay as they are" if self._is_held else ""
        self._note(
            f"byte {self.offset}: a frame of {count(self._size, 'byte')} is not recorded{changes}: incomplete frames "
            f"of all connections hold more than {count(self._budget.most, 'byte')}"
        )
        if self._is_held:
            going.insert(*self._released())
        self._forget()
        self._begun = None

    def _released(self) -> list[Bytes]:
        assert self._parts is not None, "a held frame is collected"
        return [self._size.to_bytes(_SIZE, "big"), *self._parts]

    def _forget(self) -> None:
        self._budget.held -= self._collected
        self._collected = 0
        self._parts = None

    def _finish(self, going: _Going) -> None:
        begun, parts = self._begun, self._parts
        self._forget()
        if begun is not None and parts is not None:
            if begun.is_held:
                self._end_passed()  # frames end in their order
                changed = begun.ends(_joined(parts), self.offset)
                going.insert(len(changed).to_bytes(_SIZE, "big") + changed)
            else:
                self._passed.append((begun, parts, self.offset))
        self._begun = None
        self.offset += _SIZE + self._size

    def _end_passed(self) -> None:
        passed, self._passed = self._passed, []
        for begun, parts, offset in passed:
            begun.ends(_joined(parts), offset)


class _Going:
    """The parts of some bytes that go on. Neighbours go on as one: each part may wake its receiver."""

    def __init__(self, data: bytes) -> None:
        self.data = memoryview(data)
        self._parts: list[Bytes] = []
        self._begin = self._end = 0

    def add(self, begin: int, end: int) -> None:
        """These bytes go on."""
        if begin != self._end:
            self._flush()
            self._begin = begin
        self._end = end

    def add_before(self, head: bytes, end: int) -> None:
        """These bytes go on, which end here, and may have begun in earlier data."""
        if len(head) <= end:
            self.add(end - len(head), end)
        else:
            self.insert(head)
            self._begin = self._end = end

    def insert(self, *parts: Bytes) -> None:
        """Bytes that are not of the data go on."""
        self._flush()
        self._parts += parts

    def parts(self) -> list[Bytes]:
        self._flush()
        return self._parts

    def _flush(self) -> None:
        if self._begin < self._end:
            self._parts.append(self.data[self._begin : self._end])
        self._begin = self._end


def _joined(parts: list[Bytes]) -> bytes:
    return bytes(parts[0]) if len(parts) == 1 else b"".join(parts)
