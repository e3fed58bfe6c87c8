"""The frames that a proxy records, and the capture file to which it writes them.

A separate process (`writing.py`) writes the frames, so the traffic does not wait for the disk. However, `add` blocks
the traffic if too many bytes are pending, so that memory is limited and no frame is lost.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tagwire.errors import TagwireError
from tagwire_workbench.proxy.passing import KEEPING

if TYPE_CHECKING:
    from types import TracebackType

    from tagwire.addresses import Address
    from tagwire.frames.redaction import Redaction

_MOST_WAITING: Final = 1 << 26
_OVERHEAD: Final = 256
"""Approximate memory of a waiting frame, apart from its bytes."""
_PIPE_SIZE: Final = 1 << 20
_AT_ONCE: Final = 1 << 16
"""Number of bytes of frames to wait for, for at most `_GATHERING` seconds. Fewer bytes are written with one call."""
_GATHERING: Final = 0.02
"""Seconds to wait for more small frames. A write for each small frame would slow down the traffic."""
_CHECKING: Final = 1.0
"""While there are no frames to write, check after this many seconds whether the writing process is still running."""
_WRITER: Final = Path(__file__).with_name("writing.py")


class ProxyError(TagwireError):
    """Raised if a proxy can't start, for example because its capture file already exists."""


@dataclass(slots=True)
class RecordedFrame:
    """A frame as its sender sent it. It still has the servers' addresses, which the proxy replaces for clients."""

    connection: int
    """Number of the connection, from 1."""
    is_request: bool
    api_key: int
    """The API key of this request, or of the request that this response answers."""
    version: int
    """The version of this request, or of the request that this response answers."""
    correlation_id: int | None
    client_id: str | None
    server: Address
    """The server that the client connected to."""
    time: float
    """Seconds since 1970."""
    data: bytes
    """Header and body, without the size."""
    is_close: bool = False
    """Whether there is no frame, because the connection ended."""


def _line_start(frame: RecordedFrame, run: str, label: str | None) -> bytes:
    """Return the beginning of a frame's line in a capture file, up to the hex digits of the frame."""
    if frame.is_close:
        row = {"run": run, "conn": frame.connection, "dir": "close", "server": str(frame.server)}
        start, end = json.dumps(row)[:-1], ""
    else:
        start, end = _constant_parts(
            run, frame.connection, label, frame.client_id, frame.is_request, frame.api_key, frame.version, frame.server
        )
        start += "null" if frame.correlation_id is None else str(frame.correlation_id)
    return f'{start}{end}, "timestamp": {round(frame.time * 1000)}, "hex": "'.encode()


@lru_cache(1024)
def _constant_parts(
    run: str,
    connection: int,
    label: str | None,
    client_id: str | None,
    is_request: bool,
    api_key: int,
    version: int,
    server: Address,
) -> tuple[str, str]:
    """Return the parts of a capture line before and after the correlation ID."""
    row = {
        "run": run,
        "conn": connection,
        "client_label": label or client_id or "?",
        "client_id": client_id,
        "dir": "req" if is_request else "resp",
        "api_key": api_key,
        "api_version": version,
    }
    return f'{json.dumps(row)[:-1]}, "correlation_id": ', f', "server": {json.dumps(str(server))}'


class CaptureFile:
    """A new capture file that only its owner can read; gzipped if its name ends in .gz.

    `run` names the recording in each line; the default is the time. `label` names the clients; the default is their
    client IDs. With a `redaction`, frames are written without secrets, and unreadable frames are left out and reported
    to `on_problem` in another thread. `on_error` is called in this thread if the file can't be written. Raises
    ProxyError if the file exists.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        run: str | None = None,
        label: str | None = None,
        redaction: Redaction | None = None,
        on_problem: Callable[[str], object] | None = None,
        on_error: Callable[[OSError], object] | None = None,
    ) -> None:
        self.path = Path(path)
        self.counts = {True: 0, False: 0}
        """Number of requests (True) and responses (False) that were written."""
        self._run = run or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._label = label
        self._redaction = redaction
        self._on_problem = on_problem
        self._on_error = on_error
        self._waiting: deque[RecordedFrame] = deque()
        self._size = 0
        self._is_closing = False
        self._error: OSError | None = None
        self._changed = threading.Condition()
        self._process = self._started()
        self._thread = threading.Thread(target=self._work, name="tagwire capture file", daemon=True)
        self._thread.start()

    def _started(self) -> subprocess.Popen[bytes]:
        """Start the writing process, which ignores interrupts, and ends when everything is written."""
        command = [sys.executable, "-I", "-S", str(_WRITER), "gzip" if self.path.suffix == ".gz" else "plain"]
        try:
            self.path.touch(0o600, exist_ok=False)  # frames can contain secrets
            with self.path.open("wb") as file:
                return subprocess.Popen(
                    command,
                    bufsize=0,
                    stdin=subprocess.PIPE,
                    stdout=file,
                    stderr=subprocess.PIPE,
                    env=os.environ | KEEPING,
                    start_new_session=True,
                )
        except FileExistsError:
            raise ProxyError(
                f"{self.path} already exists; a recording needs a new file, so choose another name"
            ) from None
        except OSError as error:
            raise ProxyError(
                f"{self.path} can't be written: {error.strerror}; give a file in an existing folder"
            ) from None

    def add(self, frame: RecordedFrame) -> None:
        """Queue a frame. Blocks while too many bytes are pending. Raises OSError if the file can't be written."""
        with self._changed:
            while self._size + _OVERHEAD * len(self._waiting) > _MOST_WAITING and self._error is None:
                self._changed.wait()
            if self._error is not None:
                raise self._error
            self._waiting.append(frame)
            self._size += len(frame.data)
            if len(self._waiting) == 1 or self._size >= _AT_ONCE:
                self._changed.notify_all()

    def close(self) -> None:
        """Write the pending frames, and close the file. Raises OSError if the file can't be written."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def __enter__(self) -> CaptureFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close the file. If an error occurred before any frame was recorded, delete the file."""
        self.close()
        if kind is not None and not any(self.counts.values()):
            self.path.unlink(missing_ok=True)

    def _work(self) -> None:
        """Send frames to the writing process, and wait until the process has ended."""
        process = self._process
        assert process.stdin is not None and process.stderr is not None
        with suppress(ImportError, AttributeError, OSError):  # raised if the pipe can't hold more than the usual 64 KB
            import fcntl

            fcntl.fcntl(process.stdin.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
        with suppress(OSError), process.stdin:  # raised if the process has ended early
            while frames := self._next():
                self._write(frames)
        why = process.stderr.read().decode(errors="replace").strip()
        process.stderr.close()
        if process.wait() or not self._is_closing:
            with self._changed:
                self._error = OSError(
                    f"{self.path}: {why or f'the writing process ended with exit status {process.returncode}'}"
                )
                self._changed.notify_all()
            if self._on_error is not None:
                self._on_error(self._error)

    def _next(self) -> list[RecordedFrame]:
        """Wait for frames, and return about `_AT_ONCE` bytes of them. Return [] at the end, or if the writer ended."""
        with self._changed:
            while not self._changed.wait_for(lambda: self._waiting or self._is_closing, _CHECKING):
                if self._process.poll() is not None:
                    return []
            self._changed.wait_for(lambda: self._size >= _AT_ONCE or self._is_closing, _GATHERING)
            frames, size = [], 0
            while self._waiting and size < _AT_ONCE:
                frames.append(self._waiting.popleft())
                size += len(frames[-1].data)
            return frames

    def _write(self, frames: list[RecordedFrame]) -> None:
        parts: list[bytes] = []
        for frame in frames:
            written = self._redacted(frame)
            if written is not None:
                start = _line_start(written, self._run, self._label)
                parts += (len(start).to_bytes(4, "big") + len(written.data).to_bytes(4, "big") + start, written.data)
                self.counts[frame.is_request] += not frame.is_close
        size = sum(len(frame.data) for frame in frames)
        for part in parts if size >= _AT_ONCE else [b"".join(parts)]:
            self._put(part)
        with self._changed:
            self._size -= size
            self._changed.notify_all()

    def _put(self, data: bytes) -> None:
        assert self._process.stdin is not None
        rest = memoryview(data)
        while rest:
            rest = rest[self._process.stdin.write(rest) or 0 :]

    def _redacted(self, frame: RecordedFrame) -> RecordedFrame | None:
        """Return the frame without secrets. Report a frame that can't be read, and return None."""
        if self._redaction is None or frame.is_close:
            return frame
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
                    f"connection {frame.connection}: a {side} is not recorded, because it can't be redacted: {error}"
                )
            return None
        return replace(frame, data=data)
