"""Where a log ends: behind its last whole batch."""

from pathlib import Path
from typing import Any, NamedTuple

from tagwire.log import LogError, Partition, Segment
from tagwire.log.scan import Scan, mapped

__all__ = ["LogEnd", "log_end"]


class LogEnd(NamedTuple):
    """The end of a partition's log."""

    offset: int
    """The offset that comes next."""
    rest: int
    """Bytes of the last segment behind its last batch: zeros, which a broker writes to some time."""


def log_end(folder: Path, format: Any = "auto") -> LogEnd | None:
    """Where the log in a partition's folder ends, by the heads of its last batches; None where there is none.

    Raises LogError.
    """
    segments = Partition(folder).segments if folder.is_dir() else ()
    if not segments:
        return None
    last = segments[-1]
    base = last.base_offset or 0
    with mapped(last.path) as data:
        scan = Scan(str(last.path), data, format)
        position, offset = _near_the_end(scan, last)
        for place in scan.places(position):
            position, offset = place.position + place.size, place.last_offset + 1
        return LogEnd(max(base, offset), len(data) - position)


def _near_the_end(scan: Scan, segment: Segment) -> tuple[int, int]:
    """Where the last batch begins that the index has, if a whole batch of that offset is there."""
    base = segment.base_offset or 0
    try:
        entry = segment.offset_index[-1] if segment.offset_index else None
        if entry is not None:
            batch = scan.batch(entry.position)
            if batch.base_offset <= entry.offset <= batch.last_offset:
                return entry.position, batch.base_offset
    except (LogError, IndexError):
        pass
    return 0, base
