"""The columns of `kafka_log`: what they are called, their types, and how records and batches become Arrow columns.

The first eight are those of Spark's own Kafka source, so that queries carry
over. A column is a row of a table: its name, its type, and its value for each
record, or its one value for all records of a batch.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import pyarrow as pa

from tagwire.records import Record, RecordBatch
from tagwire_spark.columns.arrow_types import ERROR_TYPE

__all__ = ["BATCH_COLUMNS", "RECORD_COLUMNS", "BatchPlace", "Builder", "LogColumn", "record_places"]

HEADERS: Final = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
MOST_MILLISECONDS: Final = 0x7FFFFFFFFFFFFFFF // 1000
"""What a timestamp of Spark's, in microseconds, reaches."""
_TYPES: Final = {"create": 0, "append": 1}


class BatchPlace(NamedTuple):
    """A batch, and where it was found."""

    batch: RecordBatch
    topic: str
    partition: int
    file: str
    position: int


class LogColumn(NamedTuple):
    """A column: `record` gives the values of records, `batch` the value that all of them have."""

    name: str
    type: Any
    record: Callable[[BatchPlace, list[Record]], list[Any]] | None = None
    batch: Callable[[BatchPlace], Any] | None = None

    def values(self, place: BatchPlace, records: list[Record]) -> list[Any]:
        """The value for each record."""
        if self.record is not None:
            return self.record(place, records)
        return [self.of_batch(place)] * len(records)

    def of_batch(self, place: BatchPlace) -> Any:
        """The value that all records of a batch have, or its own; None where there is none."""
        return None if self.batch is None else self.batch(place)


def record_places(file: str, offsets: Any) -> Callable[[int], str]:
    """What the records of a column are called in errors."""
    return lambda row: f"{file}: the record at offset {offsets[row].as_py()}"


def _micros(milliseconds: int) -> int | None:
    """Spark's timestamps; none for -1, and for what is beyond them: some producers give nanoseconds."""
    return None if milliseconds == -1 or abs(milliseconds) > MOST_MILLISECONDS else milliseconds * 1000


def _headers(record: Record) -> list[dict[str, Any]] | None:
    return [{"key": str(key), "value": value} for key, value in record.headers] or None


def _timestamp_type(place: BatchPlace) -> int:
    return -1 if place.batch.magic == 0 else _TYPES[place.batch.timestamp_type]


def _sequences(place: BatchPlace, records: list[Record]) -> list[int]:
    """Each record's sequence number, which comes again from 0 behind the highest int32."""
    first, base = place.batch.base_sequence, place.batch.base_offset
    return [-1 if first < 0 else (first + record.offset - base) & 0x7FFFFFFF for record in records]


_PLACE: Final = {
    "topic": LogColumn("topic", pa.string(), batch=lambda p: p.topic),
    "partition": LogColumn("partition", pa.int32(), batch=lambda p: p.partition),
    "file": LogColumn("file", pa.string(), batch=lambda p: p.file),
    "position": LogColumn("position", pa.int64(), batch=lambda p: p.position),
}
_HEAD: Final = (
    LogColumn("magic", pa.int32(), batch=lambda p: p.batch.magic),
    LogColumn("format", pa.string(), batch=lambda p: p.batch.format),
    LogColumn("compression", pa.string(), batch=lambda p: p.batch.compression),
    LogColumn("baseOffset", pa.int64(), batch=lambda p: p.batch.base_offset),
    LogColumn("partitionLeaderEpoch", pa.int32(), batch=lambda p: p.batch.partition_leader_epoch),
    LogColumn("producerId", pa.int64(), batch=lambda p: p.batch.producer_id),
    LogColumn("producerEpoch", pa.int32(), batch=lambda p: p.batch.producer_epoch),
    LogColumn("isTransactional", pa.bool_(), batch=lambda p: p.batch.is_transactional),
    LogColumn("isControl", pa.bool_(), batch=lambda p: p.batch.is_control),
)

RECORD_COLUMNS: Final = (
    LogColumn("key", pa.binary(), lambda p, records: [record.key for record in records]),
    LogColumn("value", pa.binary(), lambda p, records: [record.value for record in records]),
    _PLACE["topic"],
    _PLACE["partition"],
    LogColumn("offset", pa.int64(), lambda p, records: [record.offset for record in records]),
    LogColumn("timestamp", TIMESTAMP, lambda p, records: [_micros(record.timestamp) for record in records]),
    LogColumn("timestampType", pa.int32(), batch=_timestamp_type),
    LogColumn("headers", HEADERS, lambda p, records: [_headers(record) for record in records]),
    LogColumn("tombstone", pa.bool_(), lambda p, records: [record.is_tombstone for record in records]),
    *_HEAD,
    LogColumn("sequence", pa.int32(), _sequences),
    _PLACE["file"],
    _PLACE["position"],
    LogColumn("_error", ERROR_TYPE),
)
"""With level=record."""

BATCH_COLUMNS: Final = (
    _PLACE["topic"],
    _PLACE["partition"],
    *_HEAD,
    LogColumn("lastOffset", pa.int64(), batch=lambda p: p.batch.last_offset),
    LogColumn("baseSequence", pa.int32(), batch=lambda p: p.batch.base_sequence),
    LogColumn("count", pa.int32(), batch=lambda p: p.batch.count),
    LogColumn("baseTimestamp", TIMESTAMP, batch=lambda p: _micros(p.batch.base_timestamp)),
    LogColumn("maxTimestamp", TIMESTAMP, batch=lambda p: _micros(p.batch.max_timestamp)),
    LogColumn("timestampType", pa.int32(), batch=_timestamp_type),
    LogColumn("deleteHorizon", TIMESTAMP, batch=lambda p: _micros(_horizon(p.batch))),
    LogColumn("sizeInBytes", pa.int32(), batch=lambda p: p.batch.size),
    LogColumn("crc", pa.int64(), batch=lambda p: p.batch.crc),
    _PLACE["file"],
    _PLACE["position"],
    LogColumn("_error", ERROR_TYPE),
)
"""With level=batch: a row for each batch, or outermost message of the older formats."""


def _horizon(batch: RecordBatch) -> int:
    horizon = batch.delete_horizon_ms
    return -1 if horizon is None else horizon


class Builder:
    """Rows that become Arrow columns; those that are not wanted are not made."""

    def __init__(self, columns: Iterable[LogColumn]) -> None:
        self.columns = tuple(columns)
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self._values: dict[str, list[Any]] = {column.name: [] for column in self.columns}
        self.rows = 0
        self.bytes = 0

    def add(self, place: BatchPlace, records: list[Record]) -> None:
        """A row for each record."""
        for column in self.columns:
            self._values[column.name].extend(column.values(place, records))
        self.rows += len(records)

    def add_row(self, facts: dict[str, Any]) -> None:
        """A row that has these values alone."""
        for column in self.columns:
            self._values[column.name].append(facts.get(column.name))
        self.rows += 1

    def arrays(self) -> dict[str, Any]:
        """Each column by name."""
        return {column.name: pa.array(self._values[column.name], column.type) for column in self.columns}
