"""Find the frames in one direction of a connection while the bytes are passed on.

The bytes of a frame are sent as they arrive, so a large frame isn't delayed. Only frames to be changed are held back
until they are complete. Every frame is also collected, and recorded when it is complete. All connections share a
`Budget` of collected bytes. A frame that exceeds it is not recorded.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, NamedTuple, TypeAlias

from tagwire.text_format import count

Bytes: TypeAlias = bytes | bytearray | memoryview

_SIZE: Final = 4
_SMALL: Final = 4096
PREFIX_SIZE: Final = 8
"""Size of the API key, version and correlation ID, with which a request begins. Responses have only the last one."""


class Budget:
    """A limit on the memory for incomplete frames, shared by all connections."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = 0


class Begun(NamedTuple):
    """What to do with a frame whose first bytes have arrived."""

    is_held: bool
    """Whether to hold the frame back until it is complete."""
    ends: Callable[[bytes, int], bytes]
    """Called with the complete frame, and the offset of the frame's size in the stream.

    For a held-back frame, returns the bytes to send instead.
    """


class Passing:
    """Finds the frames in one direction of a connection.

    `begins` is called with the first bytes of each frame, at most eight. `note` is called with the description of each
    problem. After an invalid size, all bytes pass unchanged.
    """

    def __init__(
        self, *, max_size: int, budget: Budget, begins: Callable[[bytes], Begun], note: Callable[[str], None]
    ) -> None:
        self.max_size = max_size
        self.offset = 0
        """Stream offset of the size of the current or next frame."""
        self.is_lost = False
        """Whether frames can't be found any more, because of an invalid size."""
        self._budget = budget
        self._begins = begins
        self._note = note
        self._prefix = b""
        """The part of the next frame's size and first bytes that has arrived."""
        self._size = 0
        self._left = 0
        self._parts: list[Bytes] | None = None
        """The parts of the current frame, or None if the frame is not recorded."""
        self._collected = 0
        self._begun: Begun | None = None
        self._passed: list[tuple[Begun, list[Bytes], int]] = []
        """Complete frames that are still being sent, with their parts and offsets."""

    def feed(self, data: bytes) -> Iterator[Bytes]:
        """Add received bytes, and yield the bytes that can be sent on.

        Calls `ends` for each complete frame, in order. For a held-back frame, this happens before its bytes are
        yielded. For other frames, it usually happens after all bytes have been yielded.
        """
        size = len(data)
        is_between = not (self._prefix or self._left or self.is_lost)
        if is_between and PREFIX_SIZE <= int.from_bytes(data[:_SIZE], "big") == size - _SIZE <= self.max_size:
            yield from self._feed_frame(data)
            return
        going = _Going(data)
        at = 0
        while at < size:
            if self.is_lost:
                going.add(at, size)
                break
            if self._left:
                begin, at = at, min(at + self._left, size)
                self._take(going, begin, at)
            else:
                at = self._feed_prefix(going, at)
        yield from going.parts()
        self._end_passed()

    def close(self) -> list[Bytes]:
        """End the stream. An incomplete frame is not recorded. If some of its bytes were held back, return them."""
        rest: list[Bytes] = [self._prefix] if self._prefix else []
        if self._left:
            if self._is_held:
                rest = self._released()
            found = f"{count(self._size - self._left, 'byte')} of a frame of {count(self._size, 'byte')}"
            self._note(f"the stream ends with {found}, which is not recorded")
        elif self._prefix:
            self._note(f"the stream ends with {count(len(self._prefix), 'byte')} of a frame")
        self._forget()
        self._prefix, self._left, self.is_lost = b"", 0, True
        return rest

    def _feed_frame(self, data: bytes) -> Iterator[Bytes]:
        """Feed data that is exactly one frame."""
        frame, offset = data[_SIZE:], self.offset
        self.offset += len(data)
        begun = self._begins(frame[:PREFIX_SIZE])
        if begun.is_held:
            frame = begun.ends(frame, offset)
            yield len(frame).to_bytes(_SIZE, "big") + frame
        else:
            yield data
            begun.ends(frame, offset)

    def _feed_prefix(self, going: _Going, at: int) -> int:
        """Collect a frame's size and up to eight more bytes. Return the position after these bytes."""
        known = len(self._prefix)
        needed = _SIZE if known < _SIZE else _SIZE + min(self._size, PREFIX_SIZE)
        end = min(at + needed - known, len(going.data))
        self._prefix += going.data[at:end]
        if len(self._prefix) == needed == _SIZE:
            self._size = int.from_bytes(self._prefix, "big", signed=True)
            if not 0 <= self._size <= self.max_size:
                self._note(
                    f"byte {self.offset}: expected a frame size from 0 to {self.max_size}, got {self._size}; "
                    "all further bytes are forwarded unchanged, but not recorded"
                )
                going.add_before(self._prefix, end)
                self._prefix, self.is_lost = b"", True
            elif self._size == 0:
                self._begin(going, end)
        elif len(self._prefix) == needed:
            self._begin(going, end)
        return end

    def _begin(self, going: _Going, at: int) -> None:
        prefix, self._prefix = self._prefix, b""
        self._begun = self._begins(prefix[_SIZE:])
        if not self._begun.is_held:
            going.add_before(prefix, at)
        self._parts = [prefix[_SIZE:]]
        self._left = self._size - (len(prefix) - _SIZE)
        if not self._left:
            self._finish(going)

    def _take(self, going: _Going, begin: int, end: int) -> None:
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
        if len(part) >= _SMALL:
            parts.append(part)
        elif isinstance(parts[-1], bytearray):
            parts[-1] += part
        else:
            parts.append(bytearray(part))

    def _give_up(self, going: _Going) -> None:
        """Stop collecting the current frame, which exceeds the budget, and pass its bytes on unchanged."""
        changes = ", and its addresses are unchanged" if self._is_held else ""
        self._note(
            f"byte {self.offset}: a frame of {count(self._size, 'byte')} is not recorded{changes}, because the "
            f"incomplete frames of all connections exceed {count(self._budget.most, 'byte')}"
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
                self._end_passed()  # record the earlier frames before this one
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
    def __init__(self, data: bytes) -> None:
        self.data = memoryview(data)
        self._parts: list[Bytes] = []
        self._begin = self._end = 0

    def add(self, begin: int, end: int) -> None:
        """Queue the incoming bytes from `begin` to `end` for sending."""
        if begin != self._end:
            self._flush()
            self._begin = begin
        self._end = end

    def add_before(self, prefix: bytes, end: int) -> None:
        """Queue a frame's first bytes, which end at `end` in the new data, but may begin in earlier data."""
        if len(prefix) <= end:
            self.add(end - len(prefix), end)
        else:
            self.insert(prefix)
            self._begin = self._end = end

    def insert(self, *parts: Bytes) -> None:
        """Queue bytes that are not in the incoming data, such as a rewritten response."""
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


# By default, glibc returns the memory of a large frame to the system, and requests new pages for the next frame.
# This is slow: on a virtual machine, a new page of 4 KB takes several microseconds, longer than passing on 4 KB.
# So a proxy and its writing process both call `keep_freed_memory`.

_KEPT: Final = 1 << 28
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
"""Parameters of `mallopt`, from malloc.h."""

KEEPING: Final = {"MALLOC_TRIM_THRESHOLD_": str(_KEPT), "MALLOC_MMAP_THRESHOLD_": str(_KEPT)}
"""The settings of `keep_freed_memory` as environment variables, for a new process."""


def keep_freed_memory() -> None:
    """Make this process keep freed memory instead of returning it to the system. Does nothing without glibc."""
    with suppress(OSError, TypeError, AttributeError):  # raised if the C library isn't glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_TRIM_THRESHOLD, _KEPT)
        mallopt(_MMAP_THRESHOLD, _KEPT)
