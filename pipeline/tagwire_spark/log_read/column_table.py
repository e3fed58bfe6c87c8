"""The columns of `kafka_log`: their names and types, and how they are converted from log columns to Arrow columns.

The first eight are the columns of Spark's own Kafka source.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from tagwire.arrow.shape import Column
from tagwire.frames.known_packages import header_key_name
from tagwire.log.column_table import root_column
from tagwire.records import FormatSet
from tagwire.records.format_set import AUTO, format_set
from tagwire_spark.columns.arrow_types import ERROR_TYPE, pc
from tagwire_spark.log_read.splits import Split

HEADERS: Final = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))
HEADER_NAMES: Final = pa.list_(pa.field("element", pa.string()))
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
MOST_MILLISECONDS: Final = 0x7FFFFFFFFFFFFFFF // 1000
"""The largest number of milliseconds that fits in a Spark timestamp."""
_ARROW_TYPES: Final = {"i": pa.int32(), "l": pa.int64(), "b": pa.bool_(), "z": pa.binary(), "tsm:UTC": TIMESTAMP}
"""Maps the Arrow format of a log column to the Arrow type of its `kafka_log` column."""
_TIMESTAMP_TYPES: Final = {"create": 0, "append": 1}


class RowSplits(NamedTuple):
    """Maps each row of an Arrow batch to the split that it was read from."""

    splits: Sequence[Split]
    """The splits, with `?` in place of bytes in their names that are not valid UTF-8."""
    numbers: Any
    """The split index of each row as an Arrow array, or None if there is only one split."""
    rows: int

    def spread(self, values: Any) -> Any:
        """Return an array with a value for each row. `values` has one value for each split."""
        return pa.repeat(values[0], self.rows) if self.numbers is None else values.take(self.numbers)

    def file_of(self, row: int) -> str:
        return self.splits[0 if self.numbers is None else self.numbers[row].as_py()].file


def _same(column: Any) -> Any:
    return column


class SparkColumn(NamedTuple):
    """A column of `kafka_log`.

    `make` converts the log columns listed in `needs`. `split` returns one value for all rows of a split. A column
    without `make` and `split` is always null.
    """

    name: str
    type: Any
    needs: tuple[str, ...] = ()
    make: Callable[..., Any] = _same
    split: Callable[[Split], Any] | None = None

    def array(self, columns: dict[str, Any], splits: RowSplits) -> Any:
        if self.split is not None:
            return splits.spread(pa.array([self.split(split) for split in splits.splits], self.type))
        if not self.needs:
            return pa.nulls(splits.rows, self.type)
        return self.make(*(columns[name] for name in self.needs))


def has_number_keys(formats: FormatSet) -> bool:
    """Return whether record headers in these formats have numeric keys, as in KIP-82's first draft."""
    key = root_column("record", ["headers"], formats).children[0].children[0].children[0]
    return key.format == "i"


def _micros_array(times: Any) -> Any:
    try:
        return times.cast(TIMESTAMP)
    except pa.ArrowInvalid:  # times that Spark can't represent become null
        number = pc.cast(times, pa.int64())
        fits = pc.and_(pc.less_equal(number, MOST_MILLISECONDS), pc.greater_equal(number, -MOST_MILLISECONDS))
        return pc.if_else(fits, times, pa.scalar(None, times.type)).cast(TIMESTAMP)


def _timestamp_type_array(dictionary_array: Any, magic: Any) -> Any:
    numbers = pa.array([_TIMESTAMP_TYPES[name] for name in dictionary_array.dictionary.to_pylist()], pa.int32())
    types = numbers.take(dictionary_array.indices)
    if not types.null_count:
        return types
    none = pc.if_else(pc.equal(magic, 0), pa.scalar(-1, pa.int32()), pa.scalar(0, pa.int32()))
    return pc.coalesce(types, none)


def _header_array(found: Any) -> Any:
    """Return the headers of each record, with string keys. A record that has no headers gets a null."""
    items = found.flatten()
    pairs = pa.StructArray.from_arrays(
        [items.field("key").cast(pa.string()), items.field("value")], fields=list(HEADERS.value_type)
    )
    return _per_record(found, pairs, HEADERS)


def _header_name_array(found: Any) -> Any:
    """Return KIP-82's names for each record's numeric header keys. A record that has no headers gets a null."""
    keys = found.flatten().field("key").dictionary_encode()
    names = pa.array(map(header_key_name, keys.dictionary.to_pylist()), pa.string())
    return _per_record(found, names.take(keys.indices), HEADER_NAMES)


def _per_record(found: Any, items: Any, type: Any) -> Any:
    """Group the headers of all records into one list for each record. A record that has no headers gets a null."""
    lengths = pc.list_value_length(found)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    return pa.ListArray.from_arrays(offsets, items, type=type, mask=pc.equal(lengths, 0))


def _sequence_array(base_sequence: Any, offset: Any, base_offset: Any) -> Any:
    first = base_sequence.cast(pa.int64())
    numbers = pc.bit_wise_and(pc.add(first, pc.subtract(offset, base_offset)), 0x7FFFFFFF)
    return pc.if_else(pc.less(first, 0), pa.scalar(-1, pa.int64()), numbers).cast(pa.int32())


def _of_log(*names: str, level: str = "record") -> tuple[SparkColumn, ...]:
    """Define columns with the types and values of the log columns `names`. Their own names are in camel case."""
    return tuple(map(_log_column, root_column(level, names, format_set(AUTO)).children))


def _log_column(column: Column) -> SparkColumn:
    name = re.sub("_(.)", lambda found: found[1].upper(), column.name)
    if column.is_dictionary:
        return SparkColumn(name, pa.string(), (column.name,), lambda names: names.dictionary_decode())
    type = _ARROW_TYPES[column.format]
    return SparkColumn(name, type, (column.name,), _micros_array if type == TIMESTAMP else _same)


_SPLIT: Final = (
    SparkColumn("topic", pa.string(), split=lambda split: split.topic),
    SparkColumn("partition", pa.int32(), split=lambda split: split.partition),
)
_FILE: Final = (SparkColumn("file", pa.string(), split=lambda split: split.file), *_of_log("position"))
_TIMESTAMP_TYPE: Final = SparkColumn("timestampType", pa.int32(), ("timestamp_type", "magic"), _timestamp_type_array)
_BATCH_HEADER: Final = _of_log(
    *("magic", "format", "compression", "base_offset", "partition_leader_epoch"),
    *("producer_id", "producer_epoch", "is_transactional", "is_control"),
)

RECORD_COLUMNS: Final = (
    *_of_log("key", "value"),
    *_SPLIT,
    *_of_log("offset", "timestamp"),
    _TIMESTAMP_TYPE,
    SparkColumn("headers", HEADERS, ("headers",), _header_array),
    SparkColumn("headerNames", HEADER_NAMES, ("headers",), _header_name_array),
    *_of_log("tombstone"),
    *_BATCH_HEADER,
    SparkColumn("sequence", pa.int32(), ("base_sequence", "offset", "base_offset"), _sequence_array),
    *_FILE,
    SparkColumn("_error", ERROR_TYPE),
)
"""The columns for level=record."""

BATCH_COLUMNS: Final = (
    *_SPLIT,
    *_BATCH_HEADER,
    *_of_log("last_offset", "base_sequence", "count", "base_timestamp", "max_timestamp", level="batch"),
    _TIMESTAMP_TYPE,
    SparkColumn("deleteHorizon", TIMESTAMP, ("delete_horizon_ms",), _micros_array),
    SparkColumn("sizeInBytes", pa.int32(), ("size",), lambda sizes: sizes.cast(pa.int32())),
    *_of_log("crc"),
    *_FILE,
    SparkColumn("_error", ERROR_TYPE),
)
"""The columns for level=batch. A row is a batch or, in the older formats, an outermost message."""
