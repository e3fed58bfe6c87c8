"""Convert Arrow rows to records and batch properties."""

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, Final, NamedTuple

import pyarrow as pa

from tagwire.records import Record
from tagwire.records.record import Header
from tagwire_spark.errors import PipelineError
from tagwire_spark.log_write.target import LogTarget

_INT32: Final = 0x7FFFFFFF


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
        columns.bytes("key"),
        columns.bytes("value"),
        columns.headers(),
        columns.values("tombstone", None),
        strict=True,
    )
    for given, *rest in rows:
        if known is None or given != last:
            last, known = given, Facts(*given)
        yield RecordToWrite(known, *rest)


def facts_of(batch: Any, target: LogTarget) -> Facts:
    """Return the batch properties of the first row in an Arrow batch."""
    return Facts(*next(_Columns(batch, target).facts()))


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

    def values(self, name: str, default: Any, option: Any = None) -> Any:
        """Return `option` for each row if it is set, otherwise the column's value. `default` replaces a null."""
        if option is not None or name not in self.names:
            return self._all(default if option is None else option)
        column = self.batch.column(name)
        values = column.to_pylist()
        if column.null_count and default is not None:
            values = [default if value is None else value for value in values]
        return values

    def bytes(self, name: str) -> Any:
        if name not in self.names:
            return self._all(None)
        return self.batch.column(name).cast(pa.binary()).to_pylist()

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
        if "headers" not in self.names or self.batch.column("headers").null_count == self.batch.num_rows:
            return self._all(())
        rows = self.batch.column("headers").to_pylist()
        try:
            return [tuple((each["key"], each["value"]) for each in row) if row else () for row in rows]
        except TypeError:
            raise PipelineError(
                "UNENCODABLE_KAFKA_RECORD", "A row has a null header; remove it from column headers."
            ) from None

    def facts(self) -> Iterator[tuple[Any, ...]]:
        """Yield the batch properties of each row, as a tuple of arguments for `Facts`."""
        target = self.target
        keeps = target.keeps_batches and "offset" in self.names
        return zip(
            self.values("topic", "", target.topic),
            self.values("partition", 0),
            self.values("format", "v2", target.format),
            self.values("compression", "none", target.compression),
            self.values("baseOffset", None) if keeps else self._all(None),
            self.values("partitionLeaderEpoch", -1),
            self.values("producerId", -1),
            self.values("producerEpoch", -1),
            self._sequences(),
            self.values("isTransactional", False),
            self.values("isControl", False),
            self._append_times(),
            strict=True,
        )

    def _sequences(self) -> Any:
        """Return (sequence number - offset) mod 2^31 for each row, or -1 if unknown."""
        if not {"sequence", "offset"} <= self.names:
            return self._all(-1)
        pairs = zip(self.values("sequence", -1), self.offsets(), strict=True)
        return [-1 if sequence < 0 else (sequence - offset) & _INT32 for sequence, offset in pairs]

    def _append_times(self) -> Any:
        if "timestampType" not in self.names:
            return self._all(None)
        pairs = zip(self.values("timestampType", 0), self.timestamps(), strict=True)
        return [time if kind == 1 else None for kind, time in pairs]

    def _all(self, value: Any) -> Any:
        return repeat(value, self.batch.num_rows)
