"""Compute statistics of a segment: batches by format and codec, records, producers, offset and timestamp ranges."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.scan import LogBatch, Progress, Skip, ignore
from tagwire.log.segment import Segment
from tagwire.records import RecordBatch
from tagwire.records.native import totals


class SegmentStat:
    """The statistics of a segment."""

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
        self.transactional_batches = 0
        self.control_batches = 0
        self.append_time_batches = 0
        """The number of batches whose timestamps were set by the broker."""
        self.delete_horizon_batches = 0
        """The number of batches with a delete horizon."""
        self.empty_batches = 0
        """The number of batches that compaction has emptied."""
        self.tombstones = 0
        self.records_with_headers = 0
        """The number of records with headers; `tombstones` also counts records."""
        self.nulls_without_flag = 0
        """The number of null values without the tombstone flag, in formats with the flag; compaction keeps them."""
        self.producers: set[int] = set()
        self.first_offset: int | None = None
        self.end_offset: int | None = None
        """The offset after the last record."""
        self.first_timestamp: int | None = None
        self.last_timestamp: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the statistics as JSON values. `producers` is the number of producers."""
        return vars(self) | {"producers": len(self.producers)}


def stat(
    segment: Segment,
    format: Any = "auto",
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = ignore,
    skip: Skip | None = None,
) -> SegmentStat:
    """Compute the statistics of a segment. `skip` works as in `Segment.batches`.

    `progress` is called with the number of bytes read since its last call. Raises LogError at an invalid batch, unless
    `skip` is given.
    """
    found = SegmentStat(str(segment.path))
    found.bytes = segment.size
    kinds: dict[tuple[str, int], LogBatch] = {}
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
        found.empty_batches += found.records == before
        progress(batch.size)
    for kind, count in counts.items():
        batch = kinds[kind]  # represents all batches of this kind
        found.batches += count
        found.formats[batch.format] += count
        found.codecs[batch.compression] += count
        found.transactional_batches += count * batch.is_transactional
        found.control_batches += count * batch.is_control
        found.append_time_batches += count * (batch.timestamp_type == "append")
        found.delete_horizon_batches += count * (batch.delete_horizon_ms is not None)
    return found


def _count(found: SegmentStat, batch: RecordBatch) -> None:
    together = totals(batch)
    if together is not None:
        found.records += together.records
        found.record_bytes += together.bytes
        found.tombstones += 0 if batch.is_control else together.null_values
        found.records_with_headers += together.with_headers
        if together.earliest is not None:
            found.first_timestamp = _known(min, found.first_timestamp, together.earliest)
            found.last_timestamp = _known(max, found.last_timestamp, together.latest)
        return
    is_control = batch.is_control
    for record in batch:
        found.records += 1
        found.record_bytes += len(record.key or b"") + len(record.value or b"")
        found.tombstones += record.is_tombstone and not is_control
        found.records_with_headers += record.headers != ()
        found.nulls_without_flag += record.value is None and record.tombstone is False
        if record.timestamp >= 0:
            found.first_timestamp = _known(min, found.first_timestamp, record.timestamp)
            found.last_timestamp = _known(max, found.last_timestamp, record.timestamp)


def _known(choose: Callable[..., int], one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else choose(one, other)
