"""Read a remote file in ranges, without a local copy.

A split is read sequentially, so blocks are fetched ahead of the reader. The first blocks are small, since a reader may
stop early. Index entries, and batch headers before a split, are read in small ranges (`tagwire.log.file_bytes`).

All ranges must come from the version of the file that the driver saw during planning. S3 checks this itself, because
each request includes the ETag. For other stores, the file's state is compared once, when the file is opened.
"""

from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from errno import EINVAL
from functools import partial
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

from tagwire.lazy import required
from tagwire.log import LogPathError
from tagwire.log.file_bytes import FileBytes
from tagwire.log.indexes import IndexLookup
from tagwire_spark.files.file_state import FileState, check_unchanged, state_of_facts
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions, reaching, retried, store

_ENTRIES: Final = 24 << 10
"""Number of bytes that one request reads from an index file. An index entry has 8 or 12 bytes."""
_FIRST: Final = 1 << 20
"""Number of bytes that the first request for a split reads. Each further request is twice as large."""
_BLOCK: Final = 1 << 23
"""Maximum number of bytes that a request for a split reads."""
_LOOK: Final = 1 << 16
"""Number of bytes that the first request reads if only headers are needed."""
_TAIL: Final = 1 << 16
"""Number of bytes to read past the end of a split, in case the split's last batch extends beyond it."""
_AHEAD: Final = 2
"""Number of blocks to fetch ahead of the reader."""
_ETAG: Final = "ETag "


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
        self.state = state or self._facts()

    @property
    def is_concurrent(self) -> bool:
        """Whether several threads may send requests at once. Only asynchronous file systems allow this."""
        return bool(getattr(self._system, "async_impl", False))

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
                found = self._tagged(start, end)
            else:
                found = bytes(self._system.cat_file(self._name, start=start, end=end))
        except OSError as error:
            if error.errno == EINVAL:  # the ETag has changed: the file was replaced, or it has grown
                self._check()
            raise
        if len(found) < end - start:
            self._check()
            raise OSError(f"received {len(found)} bytes from byte {start}, but {end - start} were requested")
        return found

    def _tagged(self, start: int, end: int) -> bytes:
        bucket, key, _ = self._system.split_path(self._name)
        conditions = {"IfMatch": self.state.tag.removeprefix(_ETAG), "Range": f"bytes={start}-{end - 1}"}
        body = self._system.call_s3("get_object", Bucket=bucket, Key=key, **conditions)["Body"]
        try:
            return bytes(required("fsspec", "spark").asyn.sync(self._system.loop, body.read))
        finally:
            body.close()

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
    """Open a remote file for sequential reading from `start` to `end`. If `ahead` is true, prefetch blocks."""
    if not (ahead and file.is_concurrent):
        yield RemoteBytes(file, None, start, end, _FIRST if ahead else _LOOK)
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
