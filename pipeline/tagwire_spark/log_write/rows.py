"""Convert Arrow rows to records and batch properties, one by one or in runs.

A run is a series of rows in format v2 with the same batch properties. C code converts a run to records without creating
Python objects. All other rows are converted one by one, and so are the rows of an invalid run.
"""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from tagwire.records import Record
from tagwire.records.record import Header
from tagwire_spark.columns.arrow_types import pc
from tagwire_spark.errors import PipelineError
from tagwire_spark.log_write.target import LogTarget

if TYPE_CHECKING:
    from tagwire._records import Rows


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


class Facts(NamedTuple):
    """The properties of a batch, such as topic, format, codec and producer."""

    topic: str
    partition: int
    format: str
    compression: str
    base_offset: int | None
    """Base offset of the original batch, or None if the original batches are not kept."""
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    sequence_at_zero: int
    """The sequence number that offset 0 would have, mod 2^31, or -1 if the rows have no sequence numbers."""
    is_transactional: bool
    is_control: bool
    append_time: int | None
    """The append time of all records, in milliseconds, or None if each record has its own timestamp."""

    @property
    def log(self) -> str:
        return f"{self.topic}-{self.partition}"


class RecordToWrite(NamedTuple):
    """A record to write. Its offset is None if the writer must assign it."""

    facts: Facts
    offset: int | None
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]
    tombstone: bool | None


def entries(batch: Any, target: LogTarget) -> Iterator[RecordToWrite]:
    """Yield the records of an Arrow batch, in order. Raises PipelineError for rows that can't be written."""
    columns = _Columns(batch, target)
    last: Any = None
    known: Facts | None = None
    rows = zip(
        columns.facts(),
        columns.offsets(),
        columns.timestamps(),
        columns.values("key", None, pa.binary()),
        columns.values("value", None, pa.binary()),
        columns.headers(),
        columns.values("tombstone", None),
        strict=True,
    )
    for given, *rest in rows:
        if known is None or given != last:
            last, known = given, Facts(*given)
        yield RecordToWrite(known, *rest)


def as_record(entry: RecordToWrite, offset: int, has_tombstones: bool) -> Record:
    """Convert an entry to a record.

    `has_tombstones` means that the format has a tombstone flag. In other formats, a null value marks a tombstone, so
    `tombstone` is dropped if it agrees with the value. If it contradicts the value, encoding rejects the record.
    """
    tombstone = entry.tombstone
    if not has_tombstones and tombstone == (entry.value is None):
        tombstone = None
    return Record(offset, entry.timestamp, entry.key, entry.value, entry.headers, tombstone=tombstone)


def with_numbers(entry: RecordToWrite) -> RecordToWrite:
    """Convert header names to ints, for a format with numeric header keys. Raises PipelineError for other names."""
    return entry._replace(headers=tuple((_number(name), value) for name, value in entry.headers))


def _number(name: object) -> int:
    try:
        return int(str(name))
    except ValueError:
        text = f"Header name {name!r} is not an integer, but this record format has only integer header keys."
        raise PipelineError("UNENCODABLE_KAFKA_RECORD", text) from None


class _Columns:
    """The columns of an Arrow batch as Python values. A column is converted when it is first needed."""

    def __init__(self, batch: Any, target: LogTarget) -> None:
        self.batch = batch
        self.target = target
        self.names = set(batch.schema.names)

    def values(self, name: str, default: Any, type: Any = None) -> Any:
        """Return the column's value for each row, converted to `type` if it is given. `default` replaces a null."""
        if name not in self.names:
            return self._all(default)
        column = self.batch.column(name)
        values = (column if type is None else column.cast(type)).to_pylist()
        if column.null_count and default is not None:
            values = [default if value is None else value for value in values]
        return values

    def offsets(self) -> Any:
        """Return each row's offset, or all None if there is no offset column. Raises PipelineError if one is null."""
        if "offset" not in self.names:
            return self._all(None)
        column = self.batch.column("offset")
        if column.null_count:
            text = "A row has no offset; give every row an offset, or leave out the column to have offsets assigned."
            raise PipelineError("UNENCODABLE_KAFKA_RECORD", text)
        return column.to_pylist()

    def timestamps(self) -> Any:
        """Return each row's timestamp in milliseconds, or -1 if it is null or there is no timestamp column."""
        if "timestamp" not in self.names:
            return self._all(-1)
        micros = self.batch.column("timestamp").cast(pa.int64()).to_pylist()
        return [-1 if each is None else each // 1000 for each in micros]

    def headers(self) -> Any:
        column = _headers_of(self.batch)
        if column is None:
            return self._all(())
        rows = column.to_pylist()
        try:
            return [tuple((each["key"], each["value"]) for each in row) if row else () for row in rows]
        except TypeError:
            raise PipelineError(
                "UNENCODABLE_KAFKA_RECORD", "A row has a null header; remove it from column headers."
            ) from None

    def facts(self) -> Iterator[tuple[Any, ...]]:
        """Yield the batch properties of each row, as a tuple of arguments for `Facts`."""
        keeps = self.target.keeps_batches and "offset" in self.names
        return zip(
            *map(self._given, ("topic", "partition", "format", "compression")),
            self.values("baseOffset", None) if keeps else self._all(None),
            *map(self._given, ("partitionLeaderEpoch", "producerId", "producerEpoch")),
            self._sequences(),
            self._given("isTransactional"),
            self.values("isControl", False),
            self._append_times(),
            strict=True,
        )

    def _given(self, name: str) -> Any:
        """Return a batch property of each row: the write's option if it is set, otherwise the column's value."""
        option = _options(self.target).get(name)
        return self.values(name, _DEFAULTS[name]) if option is None else self._all(option)

    def _sequences(self) -> Any:
        """Return (sequence number - offset) mod 2^31 for each row, or -1 if unknown."""
        if not {"sequence", "offset"} <= self.names:
            return self._all(-1)
        return _sequence_at_zero(self.batch).to_pylist()

    def _append_times(self) -> Any:
        if "timestampType" not in self.names:
            return self._all(None)
        kinds = self.values("timestampType", 0)
        for kind in {*kinds} - {0, 1, -1}:
            text = f"A row has timestampType {kind}; expected 0 (create time), 1 (append time) or -1 (no timestamp)."
            raise PipelineError("UNENCODABLE_KAFKA_RECORD", text)
        return [time if kind == 1 else None for kind, time in zip(kinds, self.timestamps(), strict=True)]

    def _all(self, value: Any) -> Any:
        return repeat(value, self.batch.num_rows)


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


def _options(target: LogTarget) -> dict[str, str | None]:
    """Return the options that set a batch property for all rows, with the names of the corresponding columns."""
    return {"topic": target.topic, "format": target.format, "compression": target.compression}


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
        RowRun(Facts(*next(_Columns(batch.slice(start, 1), target).facts())), batch, start, stop)
        for start, stop in pairwise([*starts, batch.num_rows])
    ]
    return iter(runs) if all(run.facts.format == "v2" for run in runs) else None


def _is_plain(batch: Any, target: LogTarget) -> bool:
    """Return whether C code can convert all values of a batch.

    C code can't convert markers, append times, invalid timestamp types, null headers, null offsets, or tombstone flags
    that contradict the value.
    """
    headers = _headers_of(batch)
    columns = {name: batch.column(name) for name in batch.schema.names}
    null = pa.nulls(batch.num_rows)
    value = columns.get("value", null)
    checks = (
        headers is None or _has_all_keys(headers),
        _is_all(columns.get("tombstone", null), lambda each: pc.equal(each, pc.is_null(value))),
        _is_all(columns.get("timestampType", null), lambda each: pc.is_in(each, pa.array([-1, 0, None], each.type))),
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
    given = _options(target)
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
