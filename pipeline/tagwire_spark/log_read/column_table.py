"""The columns of `kafka_log`: what they are called, their types, and how records and batches become Arrow columns.

The first eight are those of Spark's own Kafka source, so that queries carry
over. A column is one row of a table: its name, its type, and its value. There
are two ways to the value, which mean the same: from `Record` and `RecordBatch`
objects, and from the columns of `tagwire.log.columns`, which the native engine
fills without objects.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute

from tagwire.records import Record, RecordBatch
from tagwire.text_format import encodable
from tagwire_spark.columns.arrow_types import ERROR_TYPE
from tagwire_spark.log_read.splits import Split

__all__ = [
    "BATCH_COLUMNS",
    "RECORD_COLUMNS",
    "BatchPlace",
    "Builder",
    "LogColumn",
    "RowPlaces",
    "SplitPlace",
    "record_names",
]

pc: Final[Any] = pyarrow.compute  # its functions are made at run time, where no checker of types sees them

HEADERS: Final = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
MOST_MILLISECONDS: Final = 0x7FFFFFFFFFFFFFFF // 1000
"""What a timestamp of Spark's, in microseconds, reaches."""
_TYPES: Final = {"create": 0, "append": 1}


class SplitPlace(NamedTuple):
    """Where all records of a split are."""

    topic: str
    partition: int
    file: str

    @classmethod
    def of(cls, split: Split) -> "SplitPlace":
        """The place of a split; names that are not UTF-8 have `?`."""
        return cls(encodable(split.topic), split.partition, encodable(split.file))


class RowPlaces(NamedTuple):
    """The splits that rows are of."""

    splits: Sequence[SplitPlace]
    numbers: Any
    """Which one each row is of, as an Arrow array; None if there is but one."""
    rows: int

    def spread(self, values: Any) -> Any:
        """The value of each row, out of the values of splits."""
        return pa.repeat(values[0], self.rows) if self.numbers is None else values.take(self.numbers)

    def file_of(self, row: int) -> str:
        """The file that a row is of."""
        return self.splits[0 if self.numbers is None else self.numbers[row].as_py()].file


class BatchPlace(NamedTuple):
    """A batch, and where it was found."""

    batch: RecordBatch
    split: SplitPlace
    position: int


def _same(column: Any) -> Any:
    return column


class LogColumn(NamedTuple):
    """A column. It has one of `record`, `batch` and `split`, or it is null; `needs` and `make` are the native way.

    `record` gives the values of records, `batch` the value that all records of a batch have, `split` the value that
    all records of a split have. `make` gets the columns `needs` of `tagwire.log.columns`, by name.
    """

    name: str
    type: Any
    record: Callable[[BatchPlace, list[Record]], list[Any]] | None = None
    batch: Callable[[BatchPlace], Any] | None = None
    split: Callable[[SplitPlace], Any] | None = None
    needs: tuple[str, ...] = ()
    make: Callable[..., Any] = _same

    def values(self, place: BatchPlace, records: list[Record]) -> list[Any]:
        """The value for each record."""
        if self.record is not None:
            return self.record(place, records)
        return [self.of_batch(place)] * len(records)

    def of_batch(self, place: BatchPlace) -> Any:
        """The value that all records of a batch share, or that of the batch; None if there is none."""
        if self.split is not None:
            return self.split(place.split)
        return None if self.batch is None else self.batch(place)

    def array(self, columns: dict[str, Any], places: "RowPlaces") -> Any:
        """The values of records, out of columns of the log."""
        if self.split is not None:
            return places.spread(pa.array([self.split(place) for place in places.splits], self.type))
        if not self.needs:
            return pa.nulls(places.rows, self.type)
        return self.make(*(columns[name] for name in self.needs))


def record_names(file_of: Callable[[int], str], offsets: Any) -> Callable[[int], str]:
    """What the records of a column are called in errors."""
    return lambda row: f"{file_of(row)}: the record at offset {offsets[row].as_py()}"


# ---------------------------------------------------------------- values out of objects


def _micros(milliseconds: int) -> int | None:
    """Spark's timestamps; none for -1, and for what is beyond them: some producers give nanoseconds."""
    return None if milliseconds == -1 or abs(milliseconds) > MOST_MILLISECONDS else milliseconds * 1000


def _headers(record: Record) -> list[dict[str, Any]] | None:
    return [{"key": str(key), "value": value} for key, value in record.headers] or None


def _timestamp_type(place: BatchPlace) -> int:
    return -1 if place.batch.magic == 0 else _TYPES[place.batch.timestamp_type]


def _sequences(place: BatchPlace, records: list[Record]) -> list[int]:
    """The sequence number of each record; 0 follows the highest int32."""
    first, base = place.batch.base_sequence, place.batch.base_offset
    return [-1 if first < 0 else (first + record.offset - base) & 0x7FFFFFFF for record in records]


def _horizon(batch: RecordBatch) -> int:
    horizon = batch.delete_horizon_ms
    return -1 if horizon is None else horizon


# ---------------------------------------------------------------- arrays out of columns of the log


def _micros_array(times: Any) -> Any:
    try:
        return times.cast(TIMESTAMP)
    except pa.ArrowInvalid:  # as `_micros`: none for what is beyond
        number = pc.cast(times, pa.int64())
        fits = pc.and_(pc.less_equal(number, MOST_MILLISECONDS), pc.greater_equal(number, -MOST_MILLISECONDS))
        return pc.if_else(fits, times, pa.scalar(None, times.type)).cast(TIMESTAMP)


def _text_array(words: Any) -> Any:
    return words.dictionary_decode()


def _timestamp_type_array(words: Any, magic: Any) -> Any:
    numbers = pa.array([_TYPES[word] for word in words.dictionary.to_pylist()], pa.int32())
    types = numbers.take(words.indices)
    if not types.null_count:
        return types
    none = pc.if_else(pc.equal(magic, 0), pa.scalar(-1, pa.int32()), pa.scalar(0, pa.int32()))
    return pc.coalesce(types, none)


def _header_array(found: Any) -> Any:
    """Headers with keys as text; null if there are none."""
    items = found.flatten()
    pairs = pa.StructArray.from_arrays(
        [items.field("key").cast(pa.string()), items.field("value")], fields=list(HEADERS.value_type)
    )
    lengths = pc.list_value_length(found)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    return pa.ListArray.from_arrays(offsets, pairs, type=HEADERS, mask=pc.equal(lengths, 0))


def _sequence_array(base_sequence: Any, offset: Any, base_offset: Any) -> Any:
    first = base_sequence.cast(pa.int64())
    numbers = pc.bit_wise_and(pc.add(first, pc.subtract(offset, base_offset)), 0x7FFFFFFF)
    return pc.if_else(pc.less(first, 0), pa.scalar(-1, pa.int64()), numbers).cast(pa.int32())


# ---------------------------------------------------------------- the table


def _of_record(name: str, type: Any, attribute: str, needed: str | None = None) -> LogColumn:
    """An attribute of each record; the log's column has that name as well, or `needed`."""
    value = attrgetter(attribute)
    return LogColumn(name, type, lambda p, records: list(map(value, records)), needs=(needed or attribute,))


def _of_batch(name: str, type: Any, attribute: str) -> LogColumn:
    """An attribute of the batch; the log's column has that name as well."""
    value = attrgetter(attribute)
    make = _text_array if type == pa.string() else _same
    return LogColumn(name, type, batch=lambda p: value(p.batch), needs=(attribute,), make=make)


def _time_of_batch(name: str, needed: str, value: Callable[[RecordBatch], int]) -> LogColumn:
    """Milliseconds of the batch, -1 for none, as a timestamp."""
    return LogColumn(name, TIMESTAMP, batch=lambda p: _micros(value(p.batch)), needs=(needed,), make=_micros_array)


_SPLIT: Final = (
    LogColumn("topic", pa.string(), split=lambda p: p.topic),
    LogColumn("partition", pa.int32(), split=lambda p: p.partition),
)
_FILE: Final = (
    LogColumn("file", pa.string(), split=lambda p: p.file),
    LogColumn("position", pa.int64(), batch=lambda p: p.position, needs=("position",)),
)
_TIMESTAMP_TYPE: Final = LogColumn(
    "timestampType",
    pa.int32(),
    batch=_timestamp_type,
    needs=("timestamp_type", "magic"),
    make=_timestamp_type_array,
)
_HEAD: Final = (
    _of_batch("magic", pa.int32(), "magic"),
    _of_batch("format", pa.string(), "format"),
    _of_batch("compression", pa.string(), "compression"),
    _of_batch("baseOffset", pa.int64(), "base_offset"),
    _of_batch("partitionLeaderEpoch", pa.int32(), "partition_leader_epoch"),
    _of_batch("producerId", pa.int64(), "producer_id"),
    _of_batch("producerEpoch", pa.int32(), "producer_epoch"),
    _of_batch("isTransactional", pa.bool_(), "is_transactional"),
    _of_batch("isControl", pa.bool_(), "is_control"),
)

RECORD_COLUMNS: Final = (
    _of_record("key", pa.binary(), "key"),
    _of_record("value", pa.binary(), "value"),
    *_SPLIT,
    _of_record("offset", pa.int64(), "offset"),
    LogColumn(
        "timestamp",
        TIMESTAMP,
        lambda p, records: [_micros(record.timestamp) for record in records],
        needs=("timestamp",),
        make=_micros_array,
    ),
    _TIMESTAMP_TYPE,
    LogColumn(
        "headers",
        HEADERS,
        lambda p, records: [_headers(record) for record in records],
        needs=("headers",),
        make=_header_array,
    ),
    _of_record("tombstone", pa.bool_(), "is_tombstone", "tombstone"),
    *_HEAD,
    LogColumn(
        "sequence",
        pa.int32(),
        _sequences,
        needs=("base_sequence", "offset", "base_offset"),
        make=_sequence_array,
    ),
    *_FILE,
    LogColumn("_error", ERROR_TYPE),
)
"""With level=record."""

BATCH_COLUMNS: Final = (
    *_SPLIT,
    *_HEAD,
    _of_batch("lastOffset", pa.int64(), "last_offset"),
    _of_batch("baseSequence", pa.int32(), "base_sequence"),
    _of_batch("count", pa.int32(), "count"),
    _time_of_batch("baseTimestamp", "base_timestamp", lambda batch: batch.base_timestamp),
    _time_of_batch("maxTimestamp", "max_timestamp", lambda batch: batch.max_timestamp),
    _TIMESTAMP_TYPE,
    _time_of_batch("deleteHorizon", "delete_horizon_ms", _horizon),
    _of_batch("sizeInBytes", pa.int32(), "size")._replace(make=lambda sizes: sizes.cast(pa.int32())),
    _of_batch("crc", pa.int64(), "crc"),
    *_FILE,
    LogColumn("_error", ERROR_TYPE),
)
"""With level=batch: a row for each batch, or outermost message of the older formats."""


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
