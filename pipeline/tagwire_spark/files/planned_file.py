"""Open a file for a task, as it was when the read was planned."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tagwire.log.file_bytes import FileBytes, open_file
from tagwire_spark.files.file_state import FileState, check_file
from tagwire_spark.files.remote_file import RemoteFile, opened_remote
from tagwire_spark.files.store import StorageOptions, is_remote

__all__ = ["opened"]


@contextmanager
def opened(
    file: str, state: FileState | None, start: int, end: int, options: StorageOptions, *, may_grow: bool
) -> Generator[FileBytes]:
    """Open a segment by its planned name, to read the bytes from `start` up to `end`.

    Raises PipelineError if the file has changed since planning; LogPathError.
    """
    if is_remote(file):
        remote = RemoteFile(file, state, options, end=end, may_grow=may_grow)
        remote.check_first()
        with opened_remote(remote, start, end) as data:
            yield data
        return
    with open_file(Path(file)) as data:
        if state is not None:
            check_file(file, state, data, end=end, may_grow=may_grow)
        yield data
