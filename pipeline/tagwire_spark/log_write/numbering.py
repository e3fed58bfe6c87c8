"""Assign offsets to rows without offsets: each task numbers its rows, and the driver concatenates the tasks.

A task numbers the rows of a partition from the end of the log. Other tasks do the same with their rows, and by the time
of the commit the log may have grown. So the driver moves whole segments to later offsets. In formats that store one
batch offset outside of the checksum, and all others relative to it, this changes eight bytes per batch. Indexes count
from the segment's first offset, so only their names change.
"""

import mmap
from array import array
from functools import cache
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Final

from tagwire.layout import Checksum
from tagwire.records import RecordBatch, format_of
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.commit_folder import CommitFolder

if TYPE_CHECKING:
    from tagwire_spark.log_write.staged_segments import StagedSegment

__all__ = ["numbered", "offset_place", "places_file"]

_OFFSET: Final = Struct(">q")


def offset_place(batch: RecordBatch) -> int | None:
    """Return the position of the offset in a batch; None if other offsets, or a checksum, would have to change too."""
    is_compressed = batch.compression != "none"
    return _place(batch.format, is_compressed)


@cache
def _place(name: str, is_compressed: bool) -> int | None:
    format = format_of(name)
    items = [item.name for item in format.header.root.items]
    sums = [item.type.first for item in format.header.root.items if isinstance(item.type, Checksum)]
    offset = items.index(format.fields["base_offset"].name)
    if any(items.index(first) <= offset for first in sums):
        return None
    if format.records is None and format.magic == 0 and is_compressed:  # compressed messages have offsets of their own
        return None
    return format.header_positions.offset_at


def places_file(segment: Path) -> Path:
    """Return the file next to a staged segment with the positions of its batch offsets."""
    return segment.with_name(f"places-{segment.stem}")


def numbered(folder: CommitFolder, end: int, found: "list[StagedSegment]") -> "list[StagedSegment]":
    """Return the segments of a partition, in task order, with offsets from `end` on. Raises PipelineError."""
    moved = []
    for segment in found:
        with folder.refused():
            moved.append(_moved(folder, segment, end - segment.base_offset))
        end = moved[-1].end_offset
    return moved


def _moved(folder: CommitFolder, segment: "StagedSegment", shift: int) -> "StagedSegment":
    """Return a segment moved to other offsets. Raises PipelineError, OSError."""
    if not shift:
        return segment
    if segment.places is None:
        why = "with transactions" if segment.has_transactions else f"of {segment.format} with these codecs"
        text = f"Rows of {segment.log} without offsets have come to several tasks, or to two writes at once, and "
        text += f"batches {why} can't be renumbered; repartition by topic and partition, or give offsets."
        raise PipelineError("KAFKA_LOG_ROWS_NOT_IN_ORDER", text)
    places = array("I", folder.read(segment.places) or b"")
    with folder.edited(segment.files[-1]) as path, path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        for place in places:
            _OFFSET.pack_into(data, place, _OFFSET.unpack_from(data, place)[0] + shift)
        data.flush()
    return segment._replace(
        base_offset=segment.base_offset + shift,
        end_offset=segment.end_offset + shift,
        first_record=segment.first_record + shift,
        epochs=tuple((epoch, offset + shift) for epoch, offset in segment.epochs),
    )
