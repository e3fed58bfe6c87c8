"""Split a batch into its header bytes and its records, and rebuild the batch from both.

This serves programs that keep records in columns and need the exact batches back. The header has values that don't
follow from the records (producers, horizons, offsets left by compaction), so its bytes are kept; its checksum then
proves that the records are the original ones.

Some batches must be kept whole: compressed batches, because their bytes depend on the compression library and its
version; messages, which have no batch header; and records with values that `Record` can't represent.
"""

from collections.abc import Iterable
from operator import attrgetter
from typing import Final, NamedTuple, NoReturn

from tagwire.errors import EncodeError
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.records.batch import RecordBatch, read_batch
from tagwire.records.building import BatchBuilder
from tagwire.records.conversion import header_rules
from tagwire.records.format_set import FormatSet
from tagwire.records.formats import format_of
from tagwire.records.reading import read_outline
from tagwire.records.record import Record

_ATTRIBUTES: Final = attrgetter("attributes")
_TIMESTAMP: Final = attrgetter("timestamp")


class BatchHeader(NamedTuple):
    """The data of a batch apart from its records."""

    format: str
    data: bytes
    """Everything before the records."""
    size: int
    """The size of the whole batch, in bytes."""
    timestamps: tuple[int, ...] | None
    """The records' own timestamps, if the columns don't have them; else None."""


def exact_header_of(batch: RecordBatch, latest: int) -> BatchHeader | None:
    """Return the header that together with the records gives the same batch; None if the bytes would differ.

    The bytes are rebuilt and compared. `timestamps` is set if the broker replaced the timestamps, or if one is beyond
    `latest`, the highest that the columns hold (milliseconds). Raises DecodeError for records that can't be read.
    """
    if not _is_plain(batch):
        return None
    walk = batch.walk()
    is_appended, walk.appended = walk.appended is not None, None
    records = list(walk)
    if any(map(_ATTRIBUTES, records)):
        return None
    data = batch.encode()
    size = len(data) - batch.records_size
    if _written(batch, records) != data[size:]:
        return None
    times = tuple(map(_TIMESTAMP, records))
    are_kept = is_appended or max(times, default=0) > latest or min(times, default=0) < -latest
    return BatchHeader(batch.format, data[:size], len(data), times if are_kept else None)


def _is_plain(batch: RecordBatch) -> bool:
    """Whether the format's records have no more than offset, timestamp, key, value and headers, uncompressed."""
    format = batch.record_format
    has_head = format.records is not None and batch.codec == "none"
    return has_head and "is_tombstone" not in format.record_bits and header_rules(format)[0] is str


def rebuilt(header: BatchHeader, records: Iterable[Record], limits: Limits = DEFAULT_LIMITS) -> RecordBatch:
    """Return the original batch, from its header and records.

    Raises DecodeError if the checksum does not match, or the header is invalid; EncodeError if the number or size of
    the records differs, or the format can't represent them; FormatError.
    """
    found = list(records)
    if header.timestamps is not None:
        if len(header.timestamps) != len(found):
            _refuse(header, f"are {len(found)}, but the timestamps beside them are {len(header.timestamps)}")
        for record, timestamp in zip(found, header.timestamps, strict=True):
            record.timestamp = timestamp
    format = format_of(header.format)
    if format.records is None:
        _refuse(header, f"have no batch around them in {header.format}")
    outline = read_outline(
        header.data + bytes(max(0, header.size - len(header.data))), FormatSet(format, only=True), limits
    )
    data = header.data + _written(outline, found)
    if len(data) != header.size:
        _refuse(header, f"are {len(data) - len(header.data)} bytes, but were {header.size - len(header.data)}")
    return read_batch(data, 0, format, limits)


def _refuse(header: BatchHeader, reason: str) -> NoReturn:
    raise EncodeError(reason, message_name=header.format, version=None, path="records")


def _written(batch: RecordBatch, records: list[Record]) -> bytes:
    """Encode records for a batch with this header."""
    builder = BatchBuilder(batch.record_format, base_offset=batch.base_offset, base_timestamp=batch.base_timestamp)
    return builder.extend(records).written(batch.walk().header, batch.base_offset, batch.base_timestamp).data
