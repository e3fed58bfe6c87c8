"""The sources of frames: lines of JSON, a network capture, or a stream of length-prefixed frames.

Each source reads its file in slices into a `FrameTable`, and returns the bytes of the frame in a given row. The frames
of a network capture are spread over packets, so each frame is assembled once and stored in a temporary file.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any, Final, Protocol

from tagwire.captures import LONGEST_LINE, CaptureError, frame_of_line, line_too_long, unzipped
from tagwire.errors import DecodeError, TagwireError
from tagwire.frames.pcap import NetworkFrame, network_frames
from tagwire.frames.registry import Registry
from tagwire.frames.splitter import FrameSplitter
from tagwire_cli.explaining.input import InputFrame, input_frame
from tagwire_cli.input.files import InputError
from tagwire_workbench.browsing.frame_table import REQUEST, RESPONSE, FrameTable
from tagwire_workbench.browsing.growing_file import GrowingFile

_AT_ONCE: Final = 1000
"""Number of frames to read before the display is updated."""
_START: Final = 8
"""Number of bytes at the start of a frame that contain its API key, version and correlation ID."""


class FrameFile(Protocol):
    """The interface of the classes that read frames from a file."""

    error: str
    """Why reading ended before the end of the file, or "" if the end was reached."""

    @property
    def progress(self) -> float:
        """The fraction of the file that has been read, from 0 to 1."""
        ...

    def read(self, table: FrameTable) -> Iterator[bool]:
        """Add frames to the table. Yields True after each slice of the file, or False if it has no more frames yet."""
        ...

    def frame(self, table: FrameTable, row: int) -> InputFrame:
        """Return the frame in a row of the table."""
        ...

    def close(self) -> None: ...


class _GrowingFrames:
    """The base class for files that may grow. With `follows`, reading continues when the file grows."""

    def __init__(self, file: GrowingFile, *, follows: bool) -> None:
        self.error = ""
        self._file = file
        self._follows = follows
        self._name = file.path.name  # the whole path would be too long for error messages

    @property
    def progress(self) -> float:
        return self._file.progress

    def close(self) -> None:
        self._file.close()


class LineFile(_GrowingFrames):
    """A capture of JSON lines, optionally gzipped."""

    def read(self, table: FrameTable) -> Iterator[bool]:
        parts: list[bytes] = []
        start = number = size = 0
        while True:
            try:
                data = self._file.more()
            except InputError as error:
                self.error = str(error)
                break
            if not data:
                if not self._follows:
                    break
                yield False
                continue
            first, *lines = data.split(b"\n")
            parts.append(first)
            size += len(first)
            if size >= LONGEST_LINE:
                self.error, parts = str(line_too_long(number + 1, self._name)), []
                break
            if not lines:
                continue  # the line continues in the next slice
            lines = [b"".join(parts), *lines]
            parts = [lines.pop()]
            size = len(parts[0])
            for count, line in enumerate(lines, 1):
                number += 1
                self._add(table, number, start, line)
                start += len(line) + 1
                if not count % _AT_ONCE:
                    yield True
            yield True
        self.error = self.error or self._file.error
        self._add(table, number + 1, start, b"".join(parts))
        yield True

    def _add(self, table: FrameTable, number: int, start: int, text: bytes) -> None:
        if not text.strip():
            return
        span = start, len(text)
        try:
            line = frame_of_line(number, text, self._name)
        except CaptureError:
            table.add_damaged(number, *span)
            return
        if line.is_close:
            table.close(line.connection or "?")
            return
        kind, api = (REQUEST, None) if line.is_request else (RESPONSE, line.api)
        is_silent = line.is_request and table.pairing.is_silent(line.data)
        labels = (line.row.get(name) for name in ("client_label", "client_id"))
        client = next((text for text in labels if isinstance(text, str)), "")
        table.add(kind, number, span, line.data, line.connection or "?", client, api, is_silent=is_silent)

    def frame(self, table: FrameTable, row: int) -> InputFrame:
        number = table.numbers[row]
        data = self._file.at(table.starts[row], table.lengths[row])
        try:
            return input_frame(frame_of_line(number, data, self._name))
        except CaptureError as error:
            return InputFrame(number, f"line {number}", b"", error=str(error))


class NetworkFile:
    """A network capture (pcap, pcapng).

    Frames may be found out of order, so they are sorted by time after the whole file is read.
    """

    def __init__(self, path: Path, port: int, registry: Registry) -> None:
        self.error = ""
        self._path = path
        self._port = port
        self._registry = registry
        self._spool: Any = tempfile.TemporaryFile(prefix="tagwire-")  # noqa: SIM115  # closed by `close`
        self._spooled = 0
        self._lock = Lock()
        self.progress = 0.0

    def read(self, table: FrameTable) -> Iterator[bool]:
        found: list[tuple[float, int, int, bool, NetworkFrame]] = []
        try:
            with self._path.open("rb") as file:
                size = self._path.stat().st_size
                stream, _ = unzipped(file, file.peek(4)[:4], str(self._path))
                for count, each in enumerate(network_frames(stream, self._port, self._registry), 1):
                    found.append(self._noted(table, each))
                    if not count % _AT_ONCE:
                        self.progress = file.tell() / max(size, 1)
                        yield True
        except (TagwireError, OSError) as error:
            self.error = f"{self._path}: {error}"
        self.progress = 1.0
        found.sort(key=lambda each: each[0])
        for count, (_, start, length, is_silent, each) in enumerate(found, 1):
            number = len(table) + 1
            if each.is_close:
                table.close(each.connection)
            elif each.gap:
                table.add_damaged(number, start, length, each.connection, each.gap)
            else:
                kind = REQUEST if each.is_request else RESPONSE
                table.add(kind, number, (start, length), each.data, each.connection, size=length, is_silent=is_silent)
            if not count % _AT_ONCE:
                yield True
        yield True

    def _noted(self, table: FrameTable, each: NetworkFrame) -> tuple[float, int, int, bool, NetworkFrame]:
        """Store a frame's bytes in the temporary file. Return facts about the frame.

        These are (time, position in the file, size, whether it is a request without a response, the frame itself with
        only its first bytes).
        """
        start = self._spooled
        with self._lock:
            self._spool.seek(start)
            self._spool.write(each.data)
        self._spooled += len(each.data)
        is_silent = each.is_request and table.pairing.is_silent(each.data)
        return each.time, start, len(each.data), is_silent, each._replace(data=each.data[:_START])

    def frame(self, table: FrameTable, row: int) -> InputFrame:
        number, kind = table.numbers[row], table.kinds[row]
        with self._lock:
            self._spool.seek(table.starts[row])
            data = self._spool.read(table.lengths[row])
        word = "request" if kind == REQUEST else "response"
        connection = table.connection_names.names[table.connections[row]]
        return InputFrame(number, f"frame {number}, {word}, {connection}", data, kind == REQUEST)

    def close(self) -> None:
        self._spool.close()


class StreamFile(_GrowingFrames):
    """A file with the bytes sent in one direction on a connection. Each frame is preceded by its length."""

    def __init__(self, file: GrowingFile, kind: int, *, follows: bool) -> None:
        super().__init__(file, follows=follows)
        self._kind = kind

    def read(self, table: FrameTable) -> Iterator[bool]:
        splitter = FrameSplitter()
        while not self.error:
            data = b""
            try:
                data = self._file.more()
                splitter.feed(data)
                start = splitter.offset
                for frame in splitter:  # all frames that have been read completely
                    table.add(self._kind, len(table) + 1, (start + 4, len(frame)), frame, "", is_silent=True)
                    start = splitter.offset
                if not data and not self._follows:
                    splitter.close()
            except (InputError, DecodeError) as error:
                where = f"{self._file.path}: frame {len(table) + 1}: " if isinstance(error, DecodeError) else ""
                self.error = f"{where}{error}"
            if not data and not self._follows:
                break
            yield bool(data)
        yield True

    def frame(self, table: FrameTable, row: int) -> InputFrame:
        number, start = table.numbers[row], table.starts[row]
        title = f"frame {number} at byte {start - 4}"
        return InputFrame(number, title, self._file.at(start, table.lengths[row]), self._kind == REQUEST)
