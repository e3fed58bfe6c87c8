"""Find the part of a segment that is earlier than a requested time, using the segment's time index.

An entry in a `.timeindex` means that no record up to its offset has a later timestamp. An index that is damaged or
belongs to another segment must not hide records, so an entry is used only if the batch with its offset has exactly the
entry's timestamp as its maximum. Everything after that batch is read, because timestamps need not be in order.

File modification times can't be used instead, because producers set record timestamps. The index can't help to find the
end of a time range, because early timestamps can follow late ones.
"""

from itertools import islice
from typing import Any, Final, NamedTuple

from tagwire.log import LogError, LogPathError, Segment
from tagwire.log.indexes import TimeIndex
from tagwire.log.scan import Scan
from tagwire_spark.log_read.ends import position_before

_HEADS: Final = 64
"""Number of batch headers to read after an index entry, to find the batch with its offset."""


class Earlier(NamedTuple):
    """The part of a segment in which all records are earlier than a given time."""

    end_offset: int
    """All records with lower offsets are earlier than the time."""
    is_all: bool
    """Whether the whole segment is earlier."""


def earlier_part(segment: Segment, timestamp: int, format: Any = "auto") -> Earlier | None:
    """Return the part of a segment before a timestamp in milliseconds; None if the time index has no usable entry."""
    path = segment.sibling("timeindex")
    if path is None:
        return None
    try:
        with segment.lookup(path, TimeIndex.LAYOUT) as entries:
            found = entries.at_or_before(timestamp - 1)
        if found is None:
            return None
        latest, offset = found[0], (segment.base_offset or 0) + found[1]
        with segment.opened() as data:
            scan = Scan(segment.name, data, format)
            spans = islice(scan.spans(position_before(scan, segment, offset)), _HEADS)
            span = next((each for each in spans if each.last_offset >= offset), None)
            if span is None:
                return None
            batch = scan.outline(span.position)
            if batch.base_offset > offset or batch.max_timestamp != latest:
                return None
            return Earlier(span.last_offset + 1, span.position + span.size == len(data))
    except (LogError, LogPathError):
        return None
