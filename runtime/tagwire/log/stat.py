"""Compute statistics of a segment: batches by format and codec, records, producers, offset and timestamp ranges."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.scan import Skip, Tell
from tagwire.log.segment import Segment
from tagwire.records import RecordBatch
from tagwire.records.native import totals

_COUNTS: Final = (
    *("bytes", "batches", "records", "record_bytes", "transactional", "control", "append_time", "delete_horizon"),
    *("empty", "tombstones", "with_headers", "unflagged"),
)


class SegmentStat:
    """The statistics of a segment. `add` adds the statistics of another segment to them."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.bytes = 0
        self.batches = 0
        self.records = 0
        self.record_bytes = 0
        """The uncompressed bytes of keys and values."""
        self.formats: Counter[str] = Counter()
        """The number of batches by format; the next four attributes count batches by codec or property."""
        self.codecs: Counter[str] = Counter()
        self.transactional = 0
        self.control = 0
        self.append_time = 0
        """The number of batches whose timestamps were set by the broker."""
        self.delete_horizon = 0
        """The number of batches with a delete horizon."""
        self.empty = 0
        """The number of batches that compaction has emptied."""
        self.tombstones = 0
        self.with_headers = 0
        """The number of records with headers; `tombstones` also counts records."""
        self.unflagged = 0
        """The number of null values without the tombstone flag, in formats with the flag; compaction keeps them."""
        self.producers: set[int] = set()
        self.first_offset: int | None = None
        self.end_offset: int | None = None
        """The offset after the last record."""
        self.first_timestamp: int | None = None
        self.last_timestamp: int | None = None

    def add(self, other: "SegmentStat") -> None:
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.formats += other.formats
        self.codecs += other.codecs
        self.producers |= other.producers
        for name in ("first_offset", "first_timestamp", "end_offset", "last_timestamp"):
            choose = min if name.startswith("first") else max
            setattr(self, name, _known(choose, getattr(self, name), getattr(other, name)))

    def to_json(self) -> dict[str, Any]:
        """Return the statistics as JSON values. `producers` is the number of producers."""
        return {
            "file": self.file,
            "bytes": self.bytes,
            "batches": self.batches,
            "records": self.records,
            "recordBytes": self.record_bytes,
            "formats": dict(self.formats),
            "codecs": dict(self.codecs),
            "transactionalBatches": self.transactional,
            "controlBatches": self.control,
            "appendTimeBatches": self.append_time,
            "deleteHorizonBatches": self.delete_horizon,
            "emptyBatches": self.empty,
            "tombstones": self.tombstones,
            "recordsWithHeaders": self.with_headers,
            "nullsWithoutFlag": self.unflagged,
            "producers": len(self.producers),
            "firstOffset": self.first_offset,
            "endOffset": self.end_offset,
            "firstTimestamp": self.first_timestamp,
            "lastTimestamp": self.last_timestamp,
        }


def stat(
    segment: Segment,
    format: Any = "auto",
    limits: Limits = DEFAULT_LIMITS,
    tell: Tell | None = None,
    skip: Skip | None = None,
) -> SegmentStat:
    """Compute the statistics of a segment. `skip` works as in `Segment.batches`.

    `tell` is called with the number of bytes read since its last call. Raises LogError at an invalid batch, unless
    `skip` is given.
    """
    found = SegmentStat(str(segment.path))
    found.bytes = segment.size
    kinds: dict[tuple[str, int], RecordBatch] = {}
    """The first batch with each format and attributes."""
    counts = Counter[tuple[str, int]]()
    for batch in segment.batches(None, format, limits, skip=skip):
        kind = batch.format, batch.attributes
        kinds.setdefault(kind, batch)
        counts[kind] += 1
        if batch.producer_id >= 0:
            found.producers.add(batch.producer_id)
        found.first_offset = _known(min, found.first_offset, batch.base_offset)
        found.end_offset = _known(max, found.end_offset, batch.last_offset + 1)
        before = found.records
        _count(found, batch)
        found.empty += found.records == before
        if tell:
            tell(batch.size)
    for kind, count in counts.items():
        batch = kinds[kind]  # represents all batches of this kind
        found.batches += count
        found.formats[batch.format] += count
        found.codecs[batch.compression] += count
        found.transactional += count * batch.is_transactional
        found.control += count * batch.is_control
        found.append_time += count * (batch.timestamp_type == "append")
        found.delete_horizon += count * (batch.delete_horizon_ms is not None)
    return found


def _count(found: SegmentStat, batch: RecordBatch) -> None:
    together = totals(batch)
    if together is not None:
        found.records += together.records
        found.record_bytes += together.bytes
        found.tombstones += 0 if batch.is_control else together.null_values
        found.with_headers += together.with_headers
        if together.earliest is not None:
            found.first_timestamp = _known(min, found.first_timestamp, together.earliest)
            found.last_timestamp = _known(max, found.last_timestamp, together.latest)
        return
    is_control = batch.is_control
    for record in batch:
        found.records += 1
        found.record_bytes += len(record.key or b"") + len(record.value or b"")
        found.tombstones += record.is_tombstone and not is_control
        found.with_headers += record.headers != ()
        found.unflagged += record.value is None and record.tombstone is False
        if record.timestamp >= 0:
            found.first_timestamp = _known(min, found.first_timestamp, record.timestamp)
            found.last_timestamp = _known(max, found.last_timestamp, record.timestamp)


def _known(choose: Callable[..., int], one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else choose(one, other)
