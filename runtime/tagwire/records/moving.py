"""Move records from one batch to another in native code, without creating record objects.

This works for formats whose records have the fields of magic 2, including an attributes byte. For other formats, and
for records that native code rejects, the caller moves `Record` objects instead.
"""

from array import array
from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from tagwire.errors import EncodeError
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.records.batch import RecordBatch, read_batch
from tagwire.records.building import BatchBuilder
from tagwire.records.format_set import FormatSet, format_of
from tagwire.records.native import native_walk, source_class
from tagwire.records.reading import read_outline
from tagwire.records.record import Record

if TYPE_CHECKING:
    from tagwire._records import RecordRun, Source

IS_LAST: Final = 1
HAS_NO_KEY: Final = 2
HAS_NO_VALUE: Final = 4
"""The flags of a record: `IS_LAST`, `HAS_NO_KEY` and `HAS_NO_VALUE`."""
_NONE: Final = array("q")
_LARGEST: Final = (1 << 63) - 1
"""The largest limit that native code accepts. No batch is so large."""


class Movable:
    """The records of a batch that have not yet been moved to a `RecordRun`. All of them are valid."""

    __slots__ = ("_source", "batch", "facts", "next_offset")

    def __init__(self, batch: RecordBatch, source: "Source", facts: bytes) -> None:
        self.batch = batch
        self.facts = facts
        """One byte per record, with its flags."""
        self.next_offset: int | None = batch.base_offset
        """The offset of the next record, or None if native code can't add that record to the last run."""
        self._source = source

    @property
    def left(self) -> int:
        """The number of records that have not been moved."""
        return self._source.left

    def move(
        self,
        run: "RecordRun",
        kept: bytes | None = None,
        most_bytes: int | None = None,
        most_records: int | None = None,
    ) -> None:
        """Move records to a `RecordRun` until the run is full, and drop those whose byte in `kept` is 0."""
        most = (None if each is None else min(each, _LARGEST) for each in (most_bytes, most_records))
        self.next_offset = run.take(self._source, kept, *most)


def movable(batch: RecordBatch, lasts: Any = _NONE, *, stored: bool = False) -> Movable | None:
    """Return a batch's records in a form that native code can move, or None if they must be read as objects.

    `lasts` is a buffer of ascending int64 offsets. Records with these offsets are marked as IS_LAST in `Movable.facts`.
    With `stored`, records keep their own timestamps even if append time overrides them. The result is also None for a
    batch that can't be decompressed or has a wrong record count.
    """
    has_attributes = batch.record_format.has_magic2_records and batch.record_format.record.items[1].condition is None
    if not has_attributes or (walked := native_walk(batch)) is None:
        return None
    walk, count = walked
    if stored:
        walk.appended = None
    source = source_class()(walk.data, walk.pos, walk.end, count, walk.bases)
    facts = source.facts(lasts) if count else None
    return None if facts is None else Movable(batch, source, facts)


def new_run(base_offset: int, base_timestamp: int | None) -> "RecordRun":
    """Return an empty run, which collects encoded records for one batch.

    Timestamps are relative to `base_timestamp` or, if that is None, to the first record's timestamp.
    """
    from tagwire._records import RecordRun

    return RecordRun(base_offset, base_timestamp)


# For programs that store records in columns, split a batch into header bytes and records, and rebuild it exactly. When
# a batch is rebuilt, the checksum in the header proves that the records are the original ones. Compressed batches are
# stored whole, because their bytes depend on the version of the compression library. Single messages, which have no
# batch header, and batches that can't be rebuilt exactly are also stored whole.

_ATTRIBUTES: Final = attrgetter("attributes")
_TIMESTAMP: Final = attrgetter("timestamp")


class BatchHeader(NamedTuple):
    """Everything except the records that is needed to rebuild a batch exactly."""

    format: str
    data: bytes
    """The bytes before the records."""
    size: int
    """The size of the whole batch, in bytes."""
    timestamps: tuple[int, ...] | None
    """The records' own timestamps if the broker replaced them or some don't fit in an Arrow column, otherwise None."""


def exact_header_of(batch: RecordBatch, latest: int) -> BatchHeader | None:
    """Return the data needed, besides the records, to rebuild a batch, or None if the rebuilt bytes would differ.

    The batch is rebuilt once as a test. `latest` is the highest timestamp that an Arrow column can store, in
    milliseconds since 1970. If any timestamp is outside the column's range, the result contains all of them.
    Raises DecodeError for records that can't be read.
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
    """Return whether records are uncompressed and have nothing but offset, timestamp, key, value and headers."""
    format = batch.record_format
    is_uncompressed = format.records is not None and batch.codec == "none"
    return is_uncompressed and "is_tombstone" not in format.record_bits and format.header_key is str


def rebuilt(header: BatchHeader, records: Iterable[Record], limits: Limits = DEFAULT_LIMITS) -> RecordBatch:
    """Rebuild a batch from its header and records.

    Raises DecodeError for an invalid header or a wrong checksum, EncodeError for records that the format can't
    represent or whose number or size differs from the original, and FormatError for an unknown format.
    """
    found = list(records)
    if header.timestamps is not None:
        if len(header.timestamps) != len(found):
            _reject(header, f"expected {len(header.timestamps)} records, one per timestamp, got {len(found)}")
        for record, timestamp in zip(found, header.timestamps, strict=True):
            record.timestamp = timestamp
    format = format_of(header.format)
    if format.records is None:
        _reject(header, f"the format {header.format} has no batch headers, so batches can't be rebuilt from a header")
    outline = read_outline(
        header.data + bytes(max(0, header.size - len(header.data))), FormatSet(format, only=True), limits
    )
    data = header.data + _written(outline, found)
    if len(data) != header.size:
        _reject(header, f"expected a batch of {header.size} bytes, the original size, got {len(data)}")
    return read_batch(data, 0, format, limits)


def _reject(header: BatchHeader, reason: str) -> NoReturn:
    raise EncodeError(reason, message_name=header.format, version=None, path="records")


def _written(batch: RecordBatch, records: list[Record]) -> bytes:
    builder = BatchBuilder(batch.record_format, base_offset=batch.base_offset, base_timestamp=batch.base_timestamp)
    return builder.extend(records).written(batch.walk().header, batch.base_offset, batch.base_timestamp).data
