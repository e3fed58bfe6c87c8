"""Split a stream of bytes into frames, without I/O.

A frame on a Kafka connection is an int32 size and that many bytes. The splitter takes bytes as
they come from a socket or a file, and yields whole frames. The time is linear in the bytes,
however they arrive: a frame is not touched before it is complete, and a `bytearray` drops its
front without moving the rest.
"""

from collections.abc import Iterator
from typing import Any, Final

from tagwire.errors import DecodeError, LimitError
from tagwire.text_format import count

DEFAULT_MAX_SIZE: Final = 104_857_600
"""The default limit of Kafka's brokers (`socket.request.max.bytes`)."""

_SIZE_WIDTH: Final = 4


class FrameSplitter:
    """Splits a stream into frames: `feed` it bytes, then iterate over the complete frames.

    A new iteration continues where the last one stopped. A size below zero or above
    `max_size` raises, and so does every later call: the next frame can't be found.
    """

    __slots__ = ("_buffer", "max_size", "offset")

    def __init__(self, *, max_size: int = DEFAULT_MAX_SIZE) -> None:
        self._buffer = bytearray()
        self.max_size = max_size
        """The maximum frame length in bytes, without the size."""
        self.offset = 0
        """The stream position of the next frame's size."""

    @property
    def pending(self) -> int:
        """The number of bytes fed that were not yet returned in frames."""
        return len(self._buffer)

    def rest(self) -> bytes:
        """Return the bytes that were not yet returned in frames."""
        return bytes(self._buffer)

    def feed(self, data: Any) -> None:
        """Take more bytes of the stream: any bytes-like object, of any length."""
        self._buffer += data

    def __iter__(self) -> Iterator[bytes]:
        """Yield each whole frame, without its size. Raises DecodeError (LimitError for a size over the limit)."""
        while (size := self._size()) is not None and len(self._buffer) >= _SIZE_WIDTH + size:
            with memoryview(self._buffer) as view:
                frame = bytes(view[_SIZE_WIDTH : _SIZE_WIDTH + size])
            del self._buffer[: _SIZE_WIDTH + size]
            self.offset += _SIZE_WIDTH + size
            yield frame

    def close(self) -> None:
        """End the stream. Raises DecodeError if it ends inside a frame, or if frames were not taken."""
        if not self._buffer:
            return
        size = self._size()
        if size is None:
            raise self._fault(DecodeError, f"{count(self.pending, 'byte')} of a size", f"{_SIZE_WIDTH} bytes")
        found = f"{count(self.pending - _SIZE_WIDTH, 'byte')} of a frame of {count(size, 'byte')}"
        if self.pending - _SIZE_WIDTH >= size:
            found = f"{count(self.pending, 'byte')} that hold whole frames"
        raise self._fault(DecodeError, found, "no more than was taken")

    def _size(self) -> int | None:
        """Return the size of the next frame, None if it is not complete."""
        if len(self._buffer) < _SIZE_WIDTH:
            return None
        size = int.from_bytes(self._buffer[:_SIZE_WIDTH], "big", signed=True)
        if size < 0:
            raise self._fault(DecodeError, f"size {size}", "0 or more")
        if size > self.max_size:
            raise self._fault(LimitError, f"size {size}", f"at most {self.max_size} (max_size)")
        return size

    def _fault(self, error: type[DecodeError], found: str, expected: str) -> DecodeError:
        return error(
            message_name="frame", version=None, path="size", offset=self.offset, found=found, expected=expected
        )
