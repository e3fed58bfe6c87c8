"""Open files by path or URL, and read remote files in ranges, without a local copy.

A split is read sequentially, so blocks are fetched ahead of the reader. The first blocks are small, since a reader may
stop early. Index entries, and batch headers before a split, are read in small ranges (`tagwire.log.file_bytes`).

All ranges must come from the version of the file that the driver saw during planning. S3 checks this itself, because
each request includes the ETag. For other stores, the file's state is compared once, when the file is opened.

Libraries such as gzip, Parquet and scapy read a remote file as a stream (`opened_stream`).
"""

from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from errno import EINVAL
from functools import partial
from io import SEEK_CUR, SEEK_END, SEEK_SET, BufferedReader, RawIOBase
from pathlib import Path
from struct import Struct
from typing import IO, Any, Final, NamedTuple

from tagwire.log import LogPathError
from tagwire.log.errors import LogReadError, is_file, is_folder
from tagwire.log.file_bytes import FileBytes, open_file
from tagwire.log.indexes import IndexLookup
from tagwire_spark.errors import PipelineError, changed, rejection
from tagwire_spark.files.file_state import FileState, check_file, check_unchanged, state_of_facts
from tagwire_spark.files.store import (
    NO_OPTIONS,
    StorageOptions,
    is_concurrent,
    is_remote,
    reaching,
    retried,
    s3_object,
    store,
)

_ENTRIES: Final = 24 << 10
"""Number of bytes that one request reads from an index file. An index entry has 8 or 12 bytes."""
_FIRST: Final = 1 << 20
"""Number of bytes that the first request for a split reads. Each further request is twice as large."""
_BLOCK: Final = 1 << 23
"""Maximum number of bytes that a request for a split reads."""
_FIRST_OF_HEADERS: Final = 1 << 16
"""Number of bytes that the first request reads if only headers are needed."""
_TAIL: Final = 1 << 16
"""Number of bytes to read past the end of a split, in case the split's last batch extends beyond it."""
_AHEAD: Final = 2
"""Number of blocks to fetch ahead of the reader."""
_ETAG: Final = "ETag "
_BUFFER: Final = 1 << 18


class RemoteFile:
    """An fsspec file that must not change after planning. If `may_grow` is set, the file may grow.

    Methods raise PipelineError for any other change.
    """

    def __init__(
        self,
        url: str,
        state: FileState | None,
        options: StorageOptions = NO_OPTIONS,
        *,
        end: int = 0,
        may_grow: bool = False,
    ) -> None:
        self.url = url
        self._options = options
        self._end = end
        self._may_grow = may_grow
        self._system, self._name = store(url, options)
        self._is_conditional = state is not None and state.tag.startswith(_ETAG) and hasattr(self._system, "call_s3")
        self.is_concurrent = is_concurrent(self._system)
        self.state = state or self._facts()

    def check_first(self) -> None:
        """Raise PipelineError if the file changed since planning. Do nothing if each request checks the ETag."""
        if not self._is_conditional:
            self._check()

    def range(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to `end`. Raises PipelineError, or LogPathError if the file is missing."""
        if start >= end:
            return b""
        with self._reaching():
            return retried(partial(self._range, start, end))

    def _range(self, start: int, end: int) -> bytes:
        """Request a byte range once. Raises PipelineError if the file changed, and the S3 client's errors."""
        try:
            if self._is_conditional:
                conditions = {"IfMatch": self.state.tag.removeprefix(_ETAG), "Range": f"bytes={start}-{end - 1}"}
                found, _ = s3_object(self._system, self._name, **conditions)
            else:
                found = bytes(self._system.cat_file(self._name, start=start, end=end))
        except OSError as error:
            if error.errno == EINVAL:  # the ETag has changed: the file was replaced, or it has grown
                self._check()
            raise
        if len(found) != end - start:
            self._check()
            raise OSError(f"received {len(found)} bytes from byte {start}, but {end - start} were requested")
        return found

    def _check(self) -> None:
        """Update the stored state of the file. Raises PipelineError if it changed, unless it only grew and may grow."""
        found = self._facts()
        check_unchanged(self.url, self.state, found, end=self._end, may_grow=self._may_grow)
        self.state = found

    def _facts(self) -> FileState:
        with self._reaching():
            self._system.invalidate_cache()
            return state_of_facts(retried(partial(self._system.info, self._name)))

    @contextmanager
    def _reaching(self) -> Generator[None]:
        with reaching(self.url, self._options):
            try:
                yield
            except FileNotFoundError:
                raise GoneError(f"{self.url}: the file no longer exists") from None


class GoneError(LogPathError):
    """Raised for a remote file that was listed but no longer exists."""


class _Block(NamedTuple):
    start: int
    end: int
    data: Future[bytes]


class RemoteBytes(FileBytes):
    """The bytes of a remote file. Blocks between `start` and `end` are prefetched for a sequential reader."""

    __slots__ = ("_blocks", "_length", "_next", "_pool", "_remote", "_stop")

    def __init__(
        self, file: RemoteFile, pool: ThreadPoolExecutor | None, start: int, end: int, first: int = _FIRST
    ) -> None:
        self._path = Path(file.url)
        self._size = file.state.size
        self._window = b""
        self._start = self._end = 0
        self._remote = file
        self._pool = pool
        self._blocks: deque[_Block] = deque()
        self._next, self._length = start, first
        """Start and length of the next block to fetch."""
        self._stop = min(end + _TAIL, self._size) if end else 0

    def read(self, start: int, size: int) -> bytes:
        """Return `size` bytes from `start`, fewer at the file's end. Raises the same errors as `RemoteFile.range`."""
        parts, end = [], min(start + size, self._size)
        while start < end:
            block = self._block(start)
            if block is None:
                part = self._remote.range(start, end)
            else:
                part = block.data.result()[start - block.start : end - block.start]
            parts.append(part)
            start += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def window(self, start: int, least: int) -> bytes:
        """Return at least `least` bytes from position `start`, unless the file ends earlier.

        The result may be up to a block longer. Raises PipelineError if a request fails.
        """
        most = max(start + least, min(start + _FIRST, self._stop))
        return self.read(start, min(most, self._size) - start)

    def _block(self, position: int) -> _Block | None:
        """Prefetch blocks. Return the one that contains `position`, or None if it is outside the prefetched range."""
        blocks = self._blocks
        # Keep the last block before `position`, because the current batch may begin in it.
        while len(blocks) > 1 and blocks[1].end <= position:
            blocks.popleft()
        if self._next <= position < self._stop:
            blocks.clear()
            self._next = position  # skip the bytes before `position`
            self._begin_next()
        ahead = 0 if self._pool is None else _AHEAD
        while self._next < self._stop and sum(each.start > position for each in blocks) < ahead:
            self._begin_next()
        return next((each for each in blocks if each.start <= position < each.end), None)

    def _begin_next(self) -> None:
        end = min(self._next + self._length, self._stop)
        self._blocks.append(_Block(self._next, end, self._begun(self._next, end)))
        self._next, self._length = end, min(2 * self._length, _BLOCK)

    def _begun(self, start: int, end: int) -> Future[bytes]:
        if self._pool is not None:
            return self._pool.submit(self._remote.range, start, end)
        done: Future[bytes] = Future()
        done.set_result(self._remote.range(start, end))
        return done


@contextmanager
def opened_remote(file: RemoteFile, start: int, end: int, *, ahead: bool = True) -> Generator[RemoteBytes]:
    """Open a remote file for sequential reading from `start` to `end`.

    If `ahead` is true, blocks are prefetched. Then, PipelineError is raised at once if the file changed since planning,
    unless each request checks the ETag.
    """
    if ahead:
        file.check_first()
    if not (ahead and file.is_concurrent):
        yield RemoteBytes(file, None, start, end, _FIRST if ahead else _FIRST_OF_HEADERS)
        return
    pool = ThreadPoolExecutor(_AHEAD + 1, "tagwire-ahead")
    try:
        yield RemoteBytes(file, pool, start, end)
    finally:
        pool.shutdown(cancel_futures=True)


def remote_lookup(file: RemoteFile, layout: Struct) -> IndexLookup:
    """Return a reader of index entries. It keeps fetched entries in memory."""
    pieces: dict[int, bytes] = {}
    size = file.state.size - file.state.size % layout.size

    def read(count: int, start: int) -> bytes:
        number = start // _ENTRIES
        if number not in pieces:
            pieces[number] = file.range(number * _ENTRIES, min((number + 1) * _ENTRIES, size))
        at = start - number * _ENTRIES
        return pieces[number][at : at + count]

    return IndexLookup(Path(file.url), size, read, layout)


class _ByteStream(RawIOBase):
    """A readable, seekable stream over the bytes of a file."""

    def __init__(self, data: FileBytes) -> None:
        super().__init__()
        self._data = data
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        self._position = offset + {SEEK_SET: 0, SEEK_CUR: self._position, SEEK_END: len(self._data)}[whence]
        return self._position

    def readinto(self, buffer: Any) -> int:
        end = min(self._position + len(buffer), len(self._data))
        found = self._data.read(self._position, end - self._position) if end > self._position else b""
        buffer[: len(found)] = found
        self._position += len(found)
        return len(found)


def first_bytes(file: str, state: FileState | None, count: int, options: StorageOptions = NO_OPTIONS) -> bytes:
    """Return up to `count` bytes from the start of a file. Raises the same errors as `opened_stream`."""
    if is_remote(file):
        remote = RemoteFile(file, state, options)
        return remote.range(0, min(count, remote.state.size))
    with Path(file).open("rb") as opened:
        return opened.read(count)


@contextmanager
def opened_stream(
    file: str, state: FileState | None, options: StorageOptions = NO_OPTIONS, *, in_sequence: bool = True
) -> Generator[IO[bytes]]:
    """Open a file by path or URL for reading. `in_sequence` enables read-ahead for a remote file.

    Raises OSError or LogPathError if the file can't be read, and PipelineError if it has changed since planning.
    """
    if not is_remote(file):
        with Path(file).open("rb") as opened:
            yield opened
        return
    remote = RemoteFile(file, state, options)
    with opened_remote(remote, 0, remote.state.size if in_sequence else 0) as data:
        yield BufferedReader(_ByteStream(data), _BUFFER)


@contextmanager
def opened(
    file: str, state: FileState | None, start: int, end: int, options: StorageOptions, *, may_grow: bool
) -> Generator[FileBytes]:
    """Open a planned segment, given by path or URL, to read the bytes from `start` up to `end`.

    Raises PipelineError if the file has changed since planning, and LogPathError if it can't be read.
    """
    if is_remote(file):
        remote = RemoteFile(file, state, options, end=end, may_grow=may_grow)
        with opened_remote(remote, start, end) as data:
            yield data
        return
    with open_file(Path(file)) as data:
        if state is not None:
            check_file(file, state, data, end=end, may_grow=may_grow)
        yield data


def if_gone(error: PipelineError, file: str) -> PipelineError:
    """Return the error KAFKA_LOG_CHANGED if `error` means that a planned file was removed; otherwise, return `error`.

    Also returns `error` if a local file's folder is missing: the worker has probably not mounted the folder.
    """
    if error.condition != "KAFKA_LOG_NOT_FOUND":
        return error
    try:
        is_there = not is_remote(file) and (is_file(file) or not is_folder(Path(file).parent))
    except LogReadError as unread:
        return rejection(unread)
    return error if is_there else changed(error.text.rstrip("."))
