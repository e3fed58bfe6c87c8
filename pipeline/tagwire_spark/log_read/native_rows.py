"""The rows of a split by the native engine: its columns of a log become those of the source; no record is an object.

Only what asks no question of single batches goes this way. PERMISSIVE, heads of
batches, transactions that were aborted, and files that are only partly here are
read batch by batch (`batches`, `rows`), and mean the same.
"""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute

from tagwire.log.column_stream import arrays_between
from tagwire.log.scan import Scan
from tagwire.message.engines import engine
from tagwire_spark.columns.schema_check import asked_batch
from tagwire_spark.log_read.column_table import RECORD_COLUMNS, SplitPlace, record_names
from tagwire_spark.log_read.query import NO_OFFSET, LogQuery
from tagwire_spark.log_read.splits import Split

__all__ = ["goes_natively", "native_rows"]

pc: Final[Any] = pyarrow.compute  # its functions are made at run time, where no checker of types sees them

_COLUMNS: Final = {column.name: column for column in RECORD_COLUMNS}


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
    place = SplitPlace.of(split)
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
            made = {name: _COLUMNS[name].array(columns, wanted.num_rows, place) for name in names}
            yield _rows(made, wanted.num_rows, split, query, schema)


def _rows(made: dict[str, Any], count: int, split: Split, query: LogQuery, schema: Any) -> Any:
    if "message" in schema.names:
        assert query.message is not None
        made["message"] = query.message.decode(made["value"], row_name=record_names(split.file, made["offset"]))
    if not schema.names:  # count() may need no column at all
        nothing = pa.Array.from_buffers(pa.struct([]), count, [None], children=[])
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
