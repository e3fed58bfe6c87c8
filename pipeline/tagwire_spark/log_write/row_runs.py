"""Convert rows of an Arrow batch to records without creating Python objects.

A run is a series of rows in format v2 with the same batch properties. All other rows are converted one by one
(`entries`), and so are the rows of an invalid run.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute

from tagwire_spark.log_write.entries import Facts, facts_of
from tagwire_spark.log_write.target import LogTarget

if TYPE_CHECKING:
    from tagwire._records import Rows


pc: Final[Any] = pyarrow.compute  # typed as Any, because pyarrow creates its compute functions at run time

_INT32: Final = 0x7FFFFFFF
_NOWHERE: Final = -(1 << 63)
"""Stands for a null `baseOffset` in comparisons. No row has this offset."""
_FEWEST: Final = 16
"""Minimum average number of rows per run."""
_DEFAULTS: Final = {
    "topic": "",
    "partition": 0,
    "format": "v2",
    "compression": "none",
    "partitionLeaderEpoch": -1,
    "producerId": -1,
    "producerEpoch": -1,
    "isTransactional": False,
}
"""Maps columns with batch properties to the defaults that replace nulls."""


class RowRun(NamedTuple):
    """Consecutive rows of an Arrow batch with the same batch properties."""

    facts: Facts
    batch: Any
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start

    @property
    def has_offsets(self) -> bool:
        """Whether the rows have an `offset` column. Otherwise, offsets are assigned in the order of the rows."""
        return "offset" in self.batch.schema.names

    def offset(self, row: int) -> int:
        value: int = self.batch.column("offset")[self.start + row].as_py()
        return value

    def rows(self, next_offset: int) -> "Rows":
        """Return the rows of the run as buffers for C code. Rows without offsets are numbered from `next_offset`."""
        from tagwire._records import Rows

        key, value = (self._column(name, pa.binary()) for name in ("key", "value"))
        timestamp, offset = (self._column(name, pa.int64()) for name in ("timestamp", "offset"))
        return Rows(self.size, key, value, timestamp, offset, self._headers(), next_offset)

    def since(self, row: int) -> Any:
        """Return the run's rows from index `row` on, as an Arrow batch."""
        return self.batch.slice(self.start + row, self.size - row)

    def _column(self, name: str, type: pa.DataType) -> Any:
        if name not in self.batch.schema.names:
            return None
        return _buffers(self.batch.column(name).cast(type), self.start)

    def _headers(self) -> Any:
        column = _headers_of(self.batch)
        if column is None:
            return None
        valid, ends = column.buffers()[:2]
        pairs = column.values
        key, value = (_buffers(pairs.field(name).cast(pa.binary()), 0) for name in ("key", "value"))
        return valid, ends, column.offset + self.start, len(pairs), key, value


def _buffers(column: Any, start: int) -> Any:
    """Return a flat column's Arrow buffers and the position of row `start`, for C code."""
    valid, *data = column.buffers()
    return (valid, *(b"" if each is None else each for each in data), column.offset + start)


def _headers_of(batch: Any) -> Any:
    if "headers" not in batch.schema.names or batch.column("headers").null_count == batch.num_rows:
        return None
    return batch.column("headers")


def row_runs(batch: Any, target: LogTarget) -> Iterator[RowRun] | None:
    """Split an Arrow batch into runs of rows. Return None if C code can't convert them."""
    if not batch.num_rows or find_spec("tagwire._records") is None or not _is_plain(batch, target):
        return None
    starts = _starts(batch, target)
    if len(starts) * _FEWEST > batch.num_rows + _FEWEST:
        return None
    runs = [
        RowRun(facts_of(batch.slice(start, 1), target), batch, start, stop)
        for start, stop in pairwise([*starts, batch.num_rows])
    ]
    return iter(runs) if all(run.facts.format == "v2" for run in runs) else None


def _is_plain(batch: Any, target: LogTarget) -> bool:
    """Return whether C code can convert all values of a batch.

    C code can't convert markers, append times, null headers, null offsets, or tombstone flags that contradict the
    value.
    """
    headers = _headers_of(batch)
    columns = {name: batch.column(name) for name in batch.schema.names}
    null = pa.nulls(batch.num_rows)
    value = columns.get("value", null)
    checks = (
        headers is None or _has_all_keys(headers),
        _is_all(columns.get("tombstone", null), lambda each: pc.equal(each, pc.is_null(value))),
        _is_all(columns.get("timestampType", null), lambda each: pc.not_equal(each, 1)),
        _is_all(columns.get("isControl", null), pc.invert),
        not ("offset" in columns and columns["offset"].null_count),
    )
    return all(checks)


def _has_all_keys(headers: Any) -> bool:
    pairs = headers.values
    return pa.types.is_list(headers.type) and not pairs.null_count and not pairs.field("key").null_count


def _is_all(column: Any, check: Any) -> bool:
    return column.null_count == len(column) or bool(pc.all(check(column), min_count=0).as_py())


def _starts(batch: Any, target: LogTarget) -> list[int]:
    """Return the indexes of the rows at which a new run begins."""
    given = {"topic": target.topic, "format": target.format, "compression": target.compression}
    names = {field.name for field in batch.schema if not pa.types.is_null(field.type)}
    columns = [
        pc.fill_null(batch.column(name), default)
        for name, default in _DEFAULTS.items()
        if name in names and given.get(name) is None
    ]
    if {"baseOffset", "offset"} <= names and target.keeps_batches:
        columns.append(pc.fill_null(batch.column("baseOffset").cast(pa.int64()), _NOWHERE))
    if {"sequence", "offset"} <= names:
        columns.append(_sequence_at_zero(batch))
    changes: Any = None
    for column in columns:
        change = pc.not_equal(column.slice(1), column.slice(0, len(column) - 1))
        changes = change if changes is None else pc.or_(changes, change)
    return [0] if changes is None else [0, *pc.add(pc.indices_nonzero(changes), 1).to_pylist()]


def _sequence_at_zero(batch: Any) -> Any:
    """Return (sequence number - offset) mod 2^31 for each row, or -1 if the row has no sequence number."""
    sequence = pc.fill_null(batch.column("sequence").cast(pa.int64()), -1)
    distance = pc.subtract(sequence, batch.column("offset").cast(pa.int64()))
    return pc.if_else(pc.less(sequence, 0), pa.scalar(-1, pa.int64()), pc.bit_wise_and(distance, _INT32))
