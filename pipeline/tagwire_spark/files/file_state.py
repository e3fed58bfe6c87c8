"""Whether a file that a task reads is still the one that the driver planned with.

A task reads minutes after planning. By then an overwrite or a broker's cleaner
may have put another file in its place, and the rows would be some of the old
log and some of the new one. So a split carries what identifies its file: here
size, inode and time of modification, elsewhere size and the ETag or the time
that the file system has. A log's last segment may have grown. Here it has grown
only if its first and its last bytes are still those that were planned with:
`cp` and `rsync --inplace` write over a file, and it keeps its inode.
"""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from zlib import crc32

from tagwire.log.file_bytes import FileBytes
from tagwire_spark.errors import PipelineError

__all__ = [
    "FileState",
    "check_file",
    "check_unchanged",
    "growing_state",
    "modified_at",
    "state_of_facts",
    "state_of_status",
]

_TAGS: Final = ("ETag", "etag", "md5Hash", "LastModified", "last_modified", "updated", "mtime", "modified", "created",
                "date_time")  # fmt: skip
"""What fsspec's file systems call that which changes with a file; the first that is there counts."""

_END: Final = 64
"""Bytes at each end of a file that are compared; the head of a batch, with its checksum, is within the first."""
_TIMES: Final = ("LastModified", "last_modified", "updated", "mtime", "modified", "created")


class FileState(NamedTuple):
    """What identifies a file and its bytes."""

    size: int
    name: str = ""
    """What tells it from another file of the same path, also when it grows: the inode."""
    tag: str = ""
    """What changes with its bytes: the time of modification, or an ETag."""
    ends: tuple[int, int] | None = None
    """Sums over the first and the last bytes of a file that may grow."""


def state_of_status(status: os.stat_result) -> FileState:
    """Of a file of this machine, or one that all workers mount."""
    return FileState(status.st_size, f"inode {status.st_ino}", f"modified at {status.st_mtime_ns} ns")


def state_of_facts(facts: Mapping[str, Any]) -> FileState:
    """Of a file of fsspec's, by what `info` or a listing says."""
    tag = next((f"{name} {_text(facts[name])}" for name in _TAGS if facts.get(name) is not None), "")
    return FileState(int(facts["size"] or 0), "", tag)


def modified_at(facts: Mapping[str, Any]) -> int | None:
    """When a file of fsspec's was last written to, in nanoseconds since 1970; None where nothing says so."""
    for value in map(facts.get, _TIMES):
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                continue
        if isinstance(value, datetime):
            value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
        if isinstance(value, int | float):
            return int(value * 1_000_000_000)
    return None


def _text(value: Any) -> str:
    """A value as it is in a listing and for the file alone: some have a time as seconds in one of them."""
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    return str(value)


def check_unchanged(file: str, planned: FileState, found: FileState, *, end: int, may_grow: bool) -> None:
    """Refuse a file that is another than was planned with; one that grows must have its bytes up to `end`.

    Raises PipelineError.
    """
    has_other_bytes = found.tag.partition(" ")[0] == planned.tag.partition(" ")[0] and found.tag != planned.tag
    if may_grow:
        changed = found.size < end or (not found.name and found.size == planned.size and has_other_bytes)
    else:
        changed = found.size != planned.size or has_other_bytes
    if changed or found.name != planned.name:
        pairs = [(f"{one.size} bytes", one.name, one.tag) for one in (planned, found)]
        was, now = (
            ", ".join(each) for each in zip(*(p for p in zip(*pairs, strict=True) if p[0] != p[1]), strict=True)
        )
        text = f"{file}: it was replaced or cut after the read was planned: it was {was}, and is {now} now; read again."
        raise PipelineError("KAFKA_LOG_CHANGED", text)


def growing_state(data: FileBytes) -> FileState:
    """Of a file of this machine that may grow. Raises LogPathError."""
    state = state_of_status(data.status())
    return state._replace(ends=_ends(data, state.size))


def check_file(file: str, planned: FileState, data: FileBytes, *, end: int, may_grow: bool) -> None:
    """Refuse a file of this machine as `check_unchanged`, and one that was written over from its beginning.

    Raises PipelineError, LogPathError.
    """
    found = state_of_status(data.status())
    check_unchanged(file, planned, found, end=end, may_grow=may_grow)
    if planned.ends is None or found.tag == planned.tag:
        return
    now = _ends(data, planned.size)
    if any(was not in (0, each) for was, each in zip(planned.ends, now, strict=True)):
        text = f"{file}: it was written over after the read was planned: its first {planned.size} bytes are others now"
        raise PipelineError("KAFKA_LOG_CHANGED", f"{text}; read again.")


def _ends(data: FileBytes, size: int) -> tuple[int, int]:
    """Sums over the first and the last bytes of what a file has up to a size; 0 for zeros, which are not written yet.

    A broker cuts off a tail of zeros. The last bytes are gone then, and their sum is 0, too. Raises LogPathError.
    """
    length = min(_END, size, len(data))
    first, last = data.read(0, length), data.read(size - length, length) if size <= len(data) else b""
    return crc32(first) if any(first) else 0, crc32(last) if any(last) else 0
