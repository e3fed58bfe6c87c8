"""The rows of a split by the native engine: its columns of a log become those of the source; no record is an object.

Only what asks no question of single batches goes this way. PERMISSIVE, heads of
batches, transactions that were aborted, and files that are only partly here are
read batch by batch (`batches`, `rows`), and mean the same.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute

from tagwire.log.column_stream import arrays_between
from tagwire.log.scan import Scan
from tagwire.message.engines import engine
from tagwire.text_format import plain
from tagwire_spark.columns.schema_check import asked_batch
from tagwire_spark.log_read.column_table import HEADERS, MOST_MILLISECONDS, TIMESTAMP, record_places
from tagwire_spark.log_read.query import NO_OFFSET, LogQuery
from tagwire_spark.log_read.splits import Split

__all__ = ["goes_natively", "native_rows"]

pc: Final[Any] = pyarrow.compute  # its functions are made at run time, where no checker of types sees them

Columns = dict[str, Any]


class NativeColumn(NamedTuple):
    """A column of the source: the columns of the log that it needs, and how it is made of them."""

    needs: tuple[str, ...]
    make: Callable[[Columns, Split], Any]


def goes_natively(split: Split, query: LogQuery) -> bool:
    """Whether a split's rows can be made by `native_rows`."""
    return not (query.by_batch or query.permissive or split.transactions is not None) and engine() == "native"


def native_rows(split: Split, query: LogQuery, scan: Scan, position: int, schema: Any) -> Iterator[Any]:
    """The rows of the batches that begin from `position` to the split's end, as Arrow batches. Raises LogError."""
    names = [name for name in schema.names if name != "message"]
    if len(names) < len(schema.names):
        names += ["value", "offset"]  # what is decoded, and what its record is called if it can't be
    needed = dict.fromkeys(need for name in names for need in _COLUMNS[name].needs)
    needed |= dict.fromkeys(_needed_by_filters(split, query))
    cut_off = query.partial and split.is_last
    arrays = arrays_between(
        scan, list(needed) or ["offset"], position, split.end, split.first_offset, query.formats, cut_off=cut_off
    )
    for array in arrays:
        batch = pa.record_batch(array)
        if split.end_offset != NO_OFFSET and batch.num_rows and batch.column("offset")[0].as_py() >= split.end_offset:
            return
        wanted = _filtered(batch, split, query)
        if wanted.num_rows:
            columns = {name: wanted.column(name) for name in needed}
            columns["rows"] = wanted.num_rows
            yield _made(columns, split, query, schema, names)


def _made(columns: Columns, split: Split, query: LogQuery, schema: Any, names: list[str]) -> Any:
    made = {name: _COLUMNS[name].make(columns, split) for name in names}
    if "message" in schema.names:
        assert query.message is not None
        made["message"] = query.message.decode(made["value"], place=record_places(split.file, made["offset"]))
    if not schema.names:  # count() may need no column at all
        nothing = pa.Array.from_buffers(pa.struct([]), columns["rows"], [None], children=[])
        return pa.RecordBatch.from_struct_array(nothing)
    return asked_batch(made, schema, split.file)


# ---------------------------------------------------------------- which rows


def _needed_by_filters(split: Split, query: LogQuery) -> list[str]:
    needed = [] if query.control else ["is_control"]
    if split.end_offset != NO_OFFSET:
        needed.append("offset")
    if query.first_timestamp is not None or query.end_timestamp is not None:
        needed.append("timestamp")
    return needed


def _filtered(batch: Any, split: Split, query: LogQuery) -> Any:
    """The rows that are wanted; the batch itself where all are."""
    keep = []
    if not query.control and pc.any(batch.column("is_control")).as_py():
        keep.append(pc.invert(batch.column("is_control")))
    if split.end_offset != NO_OFFSET:
        keep.append(pc.less(batch.column("offset"), split.end_offset))
    if query.first_timestamp is not None or query.end_timestamp is not None:
        times = pc.fill_null(batch.column("timestamp").cast(pa.int64()), -1)
        if query.first_timestamp is not None:
            keep.append(pc.greater_equal(times, query.first_timestamp))
        if query.end_timestamp is not None:
            keep.append(pc.less(times, query.end_timestamp))
    for mask in keep[1:]:
        keep[0] = pc.and_(keep[0], mask)
    return batch.filter(keep[0]) if keep else batch


# ---------------------------------------------------------------- columns


def _same(name: str) -> NativeColumn:
    return NativeColumn((name,), lambda columns, split: columns[name])


def _words(name: str) -> NativeColumn:
    return NativeColumn((name,), lambda columns, split: columns[name].dictionary_decode())


def _constant(type: Any, value: Callable[[Split], Any]) -> NativeColumn:
    return NativeColumn((), lambda columns, split: pa.repeat(pa.scalar(value(split), type), columns["rows"]))


def _times(columns: Columns, split: Split) -> Any:
    times = columns["timestamp"]
    try:
        return times.cast(TIMESTAMP)
    except pa.ArrowInvalid:  # as in column_table: none for what is beyond
        number = pc.cast(times, pa.int64())
        fits = pc.and_(pc.less_equal(number, MOST_MILLISECONDS), pc.greater_equal(number, -MOST_MILLISECONDS))
        return pc.if_else(fits, times, pa.scalar(None, times.type)).cast(TIMESTAMP)


def _timestamp_types(columns: Columns, split: Split) -> Any:
    found = columns["timestamp_type"]
    numbers = pa.array([{"create": 0, "append": 1}[word] for word in found.dictionary.to_pylist()], pa.int32())
    types = numbers.take(found.indices)
    if not types.null_count:
        return types
    none = pc.if_else(pc.equal(columns["magic"], 0), pa.scalar(-1, pa.int32()), pa.scalar(0, pa.int32()))
    return pc.coalesce(types, none)


def _headers(columns: Columns, split: Split) -> Any:
    """Null where there are none, and keys as text."""
    found = columns["headers"]
    items = found.flatten()
    pairs = pa.StructArray.from_arrays(
        [items.field("key").cast(pa.string()), items.field("value")], fields=list(HEADERS.value_type)
    )
    empty = pc.equal(pc.list_value_length(found), 0)
    lengths = pc.list_value_length(found)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    return pa.ListArray.from_arrays(offsets, pairs, type=HEADERS, mask=empty)


def _sequences(columns: Columns, split: Split) -> Any:
    first = columns["base_sequence"].cast(pa.int64())
    behind = pc.add(first, pc.subtract(columns["offset"], columns["base_offset"]))
    numbers = pc.bit_wise_and(behind, 0x7FFFFFFF)
    return pc.if_else(pc.less(first, 0), pa.scalar(-1, pa.int64()), numbers).cast(pa.int32())


_COLUMNS: Final = {
    "key": _same("key"),
    "value": _same("value"),
    "topic": _constant(pa.string(), lambda split: plain(split.topic)),
    "partition": _constant(pa.int32(), lambda split: split.partition),
    "offset": _same("offset"),
    "timestamp": NativeColumn(("timestamp",), _times),
    "timestampType": NativeColumn(("timestamp_type", "magic"), _timestamp_types),
    "headers": NativeColumn(("headers",), _headers),
    "tombstone": _same("tombstone"),
    "magic": _same("magic"),
    "format": _words("format"),
    "compression": _words("compression"),
    "baseOffset": _same("base_offset"),
    "partitionLeaderEpoch": _same("partition_leader_epoch"),
    "producerId": _same("producer_id"),
    "producerEpoch": _same("producer_epoch"),
    "isTransactional": _same("is_transactional"),
    "isControl": _same("is_control"),
    "sequence": NativeColumn(("base_sequence", "offset", "base_offset"), _sequences),
    "file": _constant(pa.string(), lambda split: plain(split.file)),
    "position": _same("position"),
}
