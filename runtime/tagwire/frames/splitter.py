"""Split a stream of bytes into frames, without I/O.

A frame on a Kafka connection is an int32 size and that many bytes. The splitter takes chunks of any size from a socket
or file, and yields whole frames, in time linear in the number of bytes. A large frame is copied only once, because
allocating memory for a second copy takes longer than copying the bytes.
"""

from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final

from tagwire.arguments import check_type
from tagwire.errors import DecodeError, LimitError
from tagwire.limits import LimitsError
from tagwire.text_format import count, shown
from tagwire.wire.buffers import view_of

DEFAULT_MAX_SIZE: Final = 104_857_600
"""The default limit of Kafka's brokers (`socket.request.max.bytes`)."""

_SIZE_WIDTH: Final = 4


class FrameSplitter:
    """Splits a stream into frames: call `feed` with its bytes, then iterate to get the complete frames.

    A new iteration continues where the previous one stopped. After a size below zero or above `max_size`, the current
    and every later iteration raises an error, because the start of the next frame is unknown.
    """

    __slots__ = ("_buffer", "_missing", "_started", "max_size", "offset")

    def __init__(self, *, max_size: int = DEFAULT_MAX_SIZE) -> None:
        check_type("max_size", max_size, int, "a number of bytes")
        if max_size < 0:
            raise LimitsError(f"max_size: expected a number of bytes, 0 or more, got {shown(max_size)}")
        self._buffer = bytearray()
        self._started: BytesIO | None = None
        """The first part of a frame, without its size; the next part is in `_buffer`."""
        self._missing = 0
        """The number of bytes that complete the started frame."""
        self.max_size = max_size
        """The maximum frame length in bytes, without the size."""
        self.offset = 0
        """The stream position of the next frame's size."""

    @property
    def pending(self) -> int:
        """The number of bytes that were fed but not yet returned in frames."""
        return len(self._buffer) + (0 if self._started is None else _SIZE_WIDTH + self._started.tell())

    def rest(self) -> bytes:
        """Return the bytes that were fed but not yet returned in frames."""
        if self._started is None:
            return bytes(self._buffer)
        return (self._size() or 0).to_bytes(_SIZE_WIDTH, "big") + self._started.getvalue() + self._buffer

    def feed(self, data: Any) -> None:
        """Add the next bytes of the stream, as a bytes-like object of any length."""
        if self._started is None or not self._missing:
            self._buffer += data if type(data) is bytes else view_of(data).cast("B")
            return
        data = view_of(data).cast("B")
        taken = self._started.write(data[: self._missing])
        self._missing -= taken
        self._buffer += data[taken:]

    def __iter__(self) -> Iterator[bytes]:
        """Yield each complete frame without its size. Raises DecodeError, or LimitError for a size above `max_size`."""
        while (frame := self._next()) is not None:
            self.offset += _SIZE_WIDTH + len(frame)
            yield frame

    def close(self) -> None:
        """End the stream. Raises DecodeError if it ends inside a frame, or if complete frames have not been read."""
        if not self.pending:
            return
        size = self._size()
        if size is None:
            raise self._error(DecodeError, f"{count(self.pending, 'byte')} of a frame size", f"{_SIZE_WIDTH} bytes")
        if self.pending - _SIZE_WIDTH >= size:
            found = f"{count(self.pending, 'byte')} of unread frames"
            raise self._error(DecodeError, found, "none; read all frames before calling `close`")
        found = f"{count(self.pending - _SIZE_WIDTH, 'byte')} of a frame of {count(size, 'byte')}"
        raise self._error(DecodeError, found, "the whole frame")

    def _next(self) -> bytes | None:
        started = self._started
        if started is not None:
            if self._missing:
                return None
            self._started = None
            return started.getvalue()  # `getvalue` does not copy the bytes
        size = self._size()
        if size is None:
            return None
        with memoryview(self._buffer) as view:
            part = view[_SIZE_WIDTH : _SIZE_WIDTH + size]
            self._missing = size - len(part)
            if self._missing:
                self._started = BytesIO()
                self._started.write(part)
            frame = None if self._missing else bytes(part)
            part.release()
        del self._buffer[: _SIZE_WIDTH + size]
        return frame

    def _size(self) -> int | None:
        if self._started is not None:
            return self._started.tell() + self._missing
        if len(self._buffer) < _SIZE_WIDTH:
            return None
        size = int.from_bytes(self._buffer[:_SIZE_WIDTH], "big", signed=True)
        if size < 0:
            raise self._error(DecodeError, f"size {size}", "0 or more")
        if size > self.max_size:
            raise self._error(LimitError, f"size {size}", f"at most {self.max_size} (max_size)")
        return size

    def _error(self, error: type[DecodeError], found: str, expected: str) -> DecodeError:
        return error(
            message_name="frame", version=None, path="size", offset=self.offset, found=found, expected=expected
        )
