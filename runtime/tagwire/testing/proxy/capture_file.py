"""Writing frames to a capture file while they pass.

A thread of its own writes, so that passing frames wait neither for compression nor for the
disk; when more waits than a limit, `add` waits, and with it all who pass frames: no frame
is left out, and memory is bounded.

The file grows by whole gzip members, at least twice a second, so that what a killed process
leaves can be read. A member that is full before its time is only stored, others are
compressed: zlib compresses 40 MB of frames a second and stores ten times as much, and
the traffic is not to wait for it.
"""

from __future__ import annotations

import threading
import zlib
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tagwire.errors import TagwireError
from tagwire.testing.proxy.errors import ProxyError
from tagwire.testing.proxy.recorded import RecordedFrame, line_of

if TYPE_CHECKING:
    from types import TracebackType

    from tagwire.frames.redaction import Redaction

__all__ = ["CaptureFile"]

_MOST_WAITING: Final = 1 << 26
_MEMBER: Final = 1 << 22
"""Bytes of frames that are worth a member before its time."""
_PERIOD: Final = 0.5
_GZIP: Final = 31


class CaptureFile:
    """A new capture file; gzipped if its name ends in .gz.

    `run` is the name of the recording in each line, by default the time; `label` is that of
    the clients, by default their client id. With a `redaction`, frames are written without
    secrets; those that can't be read may have some, so they are left out, and
    `on_problem` is told (by the thread that writes). Raises ProxyError for a file that is there.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        run: str | None = None,
        label: str | None = None,
        redaction: Redaction | None = None,
        on_problem: Callable[[str], object] | None = None,
    ) -> None:
        self.path = Path(path)
        self.counts = {True: 0, False: 0}
        """How many requests (True) and responses were written."""
        self._run = run or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._label = label
        self._redaction = redaction
        self._on_problem = on_problem
        self._waiting: deque[RecordedFrame] = deque()
        self._size = 0
        self._is_closing = False
        self._error: OSError | None = None
        self._changed = threading.Condition()
        try:
            self._file = self.path.open("xb", buffering=0)
        except FileExistsError:
            raise ProxyError(
                f"{path} is there already; a recording begins a new file, so choose another name"
            ) from None
        self._thread = threading.Thread(target=self._work, name="tagwire capture file", daemon=True)
        self._thread.start()

    def add(self, frame: RecordedFrame) -> None:
        """Write a frame soon. Waits while too many bytes wait. Raises OSError where the file can't be written."""
        with self._changed:
            while self._size > _MOST_WAITING and self._error is None:
                self._changed.wait()
            if self._error is not None:
                raise self._error
            before = self._size
            self._waiting.append(frame)
            self._size += len(frame.data)
            if before < _MEMBER <= self._size or len(self._waiting) == 1:
                self._changed.notify_all()

    def close(self) -> None:
        """Write what waits, and close the file. Raises OSError."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.join()
        self._file.close()
        if self._error is not None:
            raise self._error

    def __enter__(self) -> CaptureFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close the file. If nothing was written before an error, it is removed."""
        self.close()
        if kind is not None and not any(self.counts.values()):
            self.path.unlink(missing_ok=True)

    def _work(self) -> None:
        try:
            while frames := self._next():
                self._write(frames, is_full=sum(len(each.data) for each in frames) >= _MEMBER)
        except OSError as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _next(self) -> list[RecordedFrame]:
        """The frames of the next member; none at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closing)
            self._changed.wait_for(lambda: self._size >= _MEMBER or self._is_closing, _PERIOD)
            frames, size = [], 0
            while self._waiting and size < _MEMBER:
                frames.append(self._waiting.popleft())
                size += len(frames[-1].data)
            return frames

    def _write(self, frames: list[RecordedFrame], *, is_full: bool) -> None:
        """Write a member."""
        pack = zlib.compressobj(0 if is_full else 1, zlib.DEFLATED, _GZIP) if self._is_packed else None
        for frame in frames:
            written = self._redacted(frame)
            if written is not None:
                for piece in line_of(written, self._run, self._label):
                    self._put(piece if pack is None else pack.compress(piece))
                self.counts[frame.is_request] += 1
            with self._changed:
                self._size -= len(frame.data)
                self._changed.notify_all()
        self._put(b"" if pack is None else pack.flush())

    @property
    def _is_packed(self) -> bool:
        return self.path.suffix == ".gz"

    def _put(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) or 0 :]

    def _redacted(self, frame: RecordedFrame) -> RecordedFrame | None:
        """The frame without secrets; None if it can't be read."""
        if self._redaction is None:
            return frame
        from dataclasses import replace

        try:
            data = (
                self._redaction.request(frame.data)
                if frame.is_request
                else self._redaction.response(frame.data, frame.api_key, frame.version)
            )
        except TagwireError as error:
            if self._on_problem is not None:
                side = "request" if frame.is_request else "response"
                self._on_problem(
                    f"connection {frame.connection}: a {side} is not recorded, for it can't be redacted: {error}"
                )
            return None
        return replace(frame, data=data)
