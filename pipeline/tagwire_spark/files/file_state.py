"""Check that a file is unchanged since the driver planned a read.

If another program replaces a file after planning, a read would mix old and new rows. So a split includes the identity
of its file: size, inode and modification time of a local file; size and ETag (or modification time) of a remote file.

The last segment of a log may grow. Because `cp` and `rsync --inplace` also keep a file's inode, a local file counts as
grown only if its first and last planned bytes are unchanged.
"""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from zlib import crc32

from tagwire.log.file_bytes import FileBytes
from tagwire_spark.errors import changed, unreadable

_TIMES: Final = ("LastModified", "last_modified", "updated", "mtime", "modified", "created")
_TAGS: Final = ("ETag", "etag", "md5Hash", *_TIMES, "date_time")
"""Keys in fsspec's details of a file, in order of preference. Their values change when the file changes."""

_END: Final = 64
"""Number of bytes compared at each end of a file; enough for a batch header with its checksum."""


class FileState(NamedTuple):
    """The size and identity of a file, used to detect changes."""

    size: int
    name: str = ""
    """The inode, which changes if the file is replaced by another, but not if it grows."""
    tag: str = ""
    """The modification time or an ETag, which changes when the bytes change."""
    ends: tuple[int, int] | None = None
    """Checksums of the first and the last bytes of a file that may grow."""


def state_of_status(status: os.stat_result) -> FileState:
    """Return the state of a local or mounted file from its `stat` result."""
    return FileState(status.st_size, f"inode {status.st_ino}", f"modified at {status.st_mtime_ns} ns")


def state_of_facts(facts: Mapping[str, Any]) -> FileState:
    """Return the state of an fsspec file from its details, a dict that `info` or a listing returned.

    Raises PipelineError if its size is unknown.
    """
    if facts.get("size") is None:
        raise unreadable(f"{facts.get('name')}: the file system does not report the size of this file")
    tag = next((f"{name} {_timestamp(facts[name])}" for name in _TAGS if facts.get(name) is not None), "")
    return FileState(int(facts["size"]), "", tag)


def modified_at(facts: Mapping[str, Any]) -> int | None:
    """Return the modification time of an fsspec file, in nanoseconds since 1970, or None if unknown."""
    for value in map(facts.get, _TIMES):
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                continue
        if isinstance(number := _timestamp(value), int | float):
            return int(number * 1_000_000_000)
    return None


def _timestamp(value: Any) -> Any:
    """Convert a datetime (by default, in UTC) to seconds since 1970. Return other values unchanged."""
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() if isinstance(value, datetime) else value


def check_unchanged(file: str, planned: FileState, found: FileState, *, end: int, may_grow: bool) -> None:
    """Raise PipelineError if a file changed since planning.

    If `may_grow` is set, the size may differ, but it must be at least `end`, where the read ends.
    """
    has_other_bytes = found.tag.partition(" ")[0] == planned.tag.partition(" ")[0] and found.tag != planned.tag
    if may_grow:
        is_other = found.size < end or (not found.name and found.size == planned.size and has_other_bytes)
    else:
        is_other = found.size != planned.size or has_other_bytes
    if is_other or found.name != planned.name:
        pairs = [(f"{one.size} bytes", one.name, one.tag) for one in (planned, found)]
        was, now = (
            ", ".join(each) for each in zip(*(p for p in zip(*pairs, strict=True) if p[0] != p[1]), strict=True)
        )
        text = f"{file} was replaced or truncated after the read was planned (it was {was}, and is now {now})"
        raise changed(text)


def growing_state(data: FileBytes, end: int | None = None) -> FileState:
    """Return a growing local file's state, with checksums of its first and last bytes.

    Bytes after `end` are ignored, because they may change. Raises LogPathError if reading fails.
    """
    state = state_of_status(data.status())
    size = state.size if end is None else min(state.size, end)
    return state._replace(size=size, ends=_ends(data, size))


def check_file(file: str, planned: FileState, data: FileBytes, *, end: int, may_grow: bool) -> None:
    """Check that a local file is unchanged since planning. If it may grow, only check its first and last planned bytes.

    Raises PipelineError if the file has changed, and LogPathError if it can't be read.
    """
    found = state_of_status(data.status())
    check_unchanged(file, planned, found, end=end, may_grow=may_grow)
    if planned.ends is None or found.tag == planned.tag:
        return
    now = _ends(data, planned.size)
    if any(was not in (0, each) for was, each in zip(planned.ends, now, strict=True)):
        raise changed(f"{file} was overwritten after the read was planned (its first {planned.size} bytes differ)")


def _ends(data: FileBytes, size: int) -> tuple[int, int]:
    """Return the checksums of a file's first bytes, and of the last bytes before position `size`.

    For bytes that are all zeros, the result is 0 instead of a checksum, because a broker may preallocate a file with
    zeros and later replace them. If the file has less than `size` bytes, the second result is also 0.
    Raises LogPathError if reading fails.
    """
    length = min(_END, size, len(data))
    first, last = data.read(0, length), data.read(size - length, length) if size <= len(data) else b""
    return crc32(first) if any(first) else 0, crc32(last) if any(last) else 0
