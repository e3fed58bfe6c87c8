"""File objects for libraries such as gzip, Parquet and scapy. Remote files are read in ranges, without a local copy."""

from collections.abc import Generator
from contextlib import contextmanager
from io import SEEK_CUR, SEEK_END, SEEK_SET, BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, Any, Final

from tagwire.log.file_bytes import FileBytes
from tagwire_spark.files.file_state import FileState
from tagwire_spark.files.remote_file import RemoteFile, opened_remote
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions, is_remote

_BUFFER: Final = 1 << 18


class ByteStream(RawIOBase):
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

    def tell(self) -> int:
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
    remote.check_first()
    with opened_remote(remote, 0, remote.state.size if in_sequence else 0) as data:
        yield BufferedReader(ByteStream(data), _BUFFER)
