"""Read a segment: a file of batches, with its index files."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from struct import Struct
from typing import Any

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.damage import without_damage
from tagwire.log.errors import LogError, LogPathError, is_file
from tagwire.log.file_bytes import JUMP, FileBytes, file_status, open_file
from tagwire.log.indexes import (
    AbortedTransaction,
    IndexLookup,
    OffsetEntry,
    OffsetIndex,
    TimeIndex,
    index_lookup,
    read_transaction_index,
)
from tagwire.log.names import LogFile, log_file
from tagwire.log.scan import LogBatch, Scan, Skip


class Segment:
    """A file of batches: a segment of a log, or a snapshot of a metadata log.

    The file may have any name. `base_offset` comes from the name, or is None if the file isn't named like a segment.
    Raises LogPathError if there is no such file. This is not checked if `name`, the parsed file name, is given.
    """

    def __init__(self, path: str | Path, name: LogFile | None = None) -> None:
        self.path = path if isinstance(path, Path) else Path(path)
        if name is None:
            if not is_file(self.path):
                raise LogPathError(f"{self.path}: there is no such file")
            name = log_file(self.path)
        self.base_offset = name.base_offset if name else None
        self.end: int | None = None
        """Readers stop at this position, after which a batch may be incomplete, or None for the end of the file."""

    @property
    def name(self) -> str:
        """The segment's name in error messages."""
        return str(self.path)

    @property
    def size(self) -> int:
        """The current size of the file in bytes. Raises LogPathError if the file no longer exists."""
        return self.status().st_size

    def status(self) -> os.stat_result:
        """Return the `stat` result of the file. Raises LogPathError if the file no longer exists."""
        return file_status(self.path)

    def opened(self) -> AbstractContextManager[FileBytes]:
        """Open the file for reading up to `self.end`. Raises LogPathError if that fails."""
        return open_file(self.path, self.end)

    def copy(self, path: Path, target: Path) -> None:
        """Copy the segment file or an index file, with its modification time.

        Raises OSError or LogPathError if a file can't be read or written.
        """
        from shutil import copy2  # imported here, because the import is slow

        copy2(path, target)

    def lookup(self, path: Path, layout: Struct) -> AbstractContextManager[IndexLookup]:
        """Open an index file to read single entries. Raises LogPathError if the file can't be read."""
        return index_lookup(path, layout)

    def batches(
        self,
        start_offset: int | None = None,
        format: Any = "auto",
        limits: Limits = DEFAULT_LIMITS,
        *,
        partial: bool = False,
        skip: Skip | None = None,
    ) -> Iterator[LogBatch]:
        """Yield the batches, starting at the batch that contains `start_offset`.

        If no batch contains it, start at the next batch. Only one batch is in memory at a time. With `partial`, an
        incomplete last batch is left out. Raises LogError at the first invalid batch. With `skip`, damage is left out
        instead: bytes that aren't a batch, and the rest of a batch from its first invalid record on. `skip` is called
        with a LogError for each of these.
        """
        with self.opened() as data:
            scan = Scan(self.name, data, format, limits)
            position = 0 if start_offset is None else self.position_of(scan, start_offset)
            if skip is None:
                yield from scan.batches(position, partial=partial)
            else:
                yield from without_damage(scan, position, skip, partial=partial)

    def end_offset(self, format: Any = "auto") -> int | None:
        """Return the offset after the last batch, or None if there are no batches. Reads only headers."""
        with self.opened() as data:
            last = None
            for span in Scan(self.name, data, format).spans():
                last = span.last_offset
            return None if last is None else last + 1

    def position_of(self, scan: Scan, offset: int) -> int:
        """Return the position of the first batch that contains `offset` or a higher offset.

        A wrong index must not hide records. So the index is used only if it leads to a whole batch at or below
        `offset`.
        """
        if len(scan.data) <= JUMP and (found := scan.first_with(offset)) is not None:
            return found  # faster than reading the index
        start = 0
        try:
            hint = self.index_entry(offset)
            if hint is not None and scan.batch(hint.position).base_offset <= offset:
                start = hint.position
        except LogError:
            start = 0
        try:
            for span in scan.spans(start):
                if span.last_offset >= offset:
                    return span.position
                start = span.position + span.size
        except LogError:
            pass  # the caller will read from `start`, and get the same error
        return start

    def sibling(self, kind: str) -> Path | None:
        """Return the path of the segment's file with an extension, such as "index", or None if there is none."""
        name = log_file(self.path)
        if name is None or name.kind != "log":
            return None
        # Joining strings is several times faster than `Path.with_name`.
        folder, slash, file = str(self.path).rpartition(os.sep)
        stem, _, suffix = file.partition(".log")
        path = f"{folder}{slash}{stem}.{kind}{suffix}"
        return Path(path) if is_file(path) else None

    def index_entry(self, offset: int | None = None) -> OffsetEntry | None:
        """Return the last `.index` entry at or below `offset` (by default, the last entry), or None if there is none.

        Reads only a few entries. An entry with a negative position is ignored. Raises LogError if the index is invalid.
        """
        path = self.sibling("index")
        if path is None:
            return None
        base = self.base_offset or 0
        with self.lookup(path, OffsetIndex.LAYOUT) as entries:
            found = (entries[-1] if entries else None) if offset is None else entries.at_or_before(offset - base)
        return None if found is None or found[1] < 0 else OffsetEntry(base + found[0], found[1])

    @cached_property
    def offset_index(self) -> OffsetIndex | None:
        """The entries of the `.index` file, or None if it does not exist. Raises LogError for invalid bytes."""
        path = self.sibling("index")
        return OffsetIndex(path, self.base_offset or 0) if path else None

    @cached_property
    def time_index(self) -> TimeIndex | None:
        """The entries of the `.timeindex` file, or None if it does not exist. Raises LogError for invalid bytes."""
        path = self.sibling("timeindex")
        return TimeIndex(path, self.base_offset or 0) if path else None

    @cached_property
    def aborted_transactions(self) -> list[AbortedTransaction]:
        """The entries of the `.txnindex` file, or empty if it does not exist. Raises LogError for invalid bytes."""
        path = self.sibling("txnindex")
        return read_transaction_index(path) if path else []

    def __repr__(self) -> str:
        return f"<segment {self.path}>"
