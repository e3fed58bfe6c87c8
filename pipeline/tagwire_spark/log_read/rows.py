"""From the batches of a split to the Arrow batches that Spark gets: the columns that are wanted, and no others."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.types import StructType

from tagwire.errors import DecodeError, TagwireError
from tagwire.log.damage import Damage, Found
from tagwire.log.errors import LogError, LogPathError, placed
from tagwire.records import Record
from tagwire_spark.columns.arrow_types import arrow_schema, spark_type
from tagwire_spark.columns.schema_check import asked_batch
from tagwire_spark.errors import PipelineError, described, refusal
from tagwire_spark.log_read.batches import begun_scan, is_wanted, split_pieces
from tagwire_spark.log_read.column_table import (
    BATCH_COLUMNS,
    RECORD_COLUMNS,
    BatchPlace,
    Builder,
    SplitPlace,
    record_names,
)
from tagwire_spark.log_read.native_rows import NativeRows, goes_natively
from tagwire_spark.log_read.query import LogQuery
from tagwire_spark.log_read.splits import Split
from tagwire_spark.worker import settle_worker

__all__ = ["check_number", "full_schema", "rows_of", "rows_of_task"]

_ROWS: Final = 20_000
"""Of an Arrow batch: enough for Spark, and few enough for a worker's memory."""
_BYTES: Final = 8 << 20
"""Of keys and values in them, and one record more."""
_MESSAGE: Final = "message"
_MOST_PARTITIONS: Final = 0x7FFFFFFF


def full_schema(query: LogQuery, *, strict: bool = False) -> StructType:
    """All columns that a query can have; `strict` has NOT NULL wherever a schema may ask for it within them."""
    columns = BATCH_COLUMNS if query.by_batch else RECORD_COLUMNS
    schema = StructType()
    for column in columns:
        if column.name != "_error" or (query.permissive and not query.drops):
            schema.add(column.name, spark_type(column.type))
    if query.message is not None and not query.by_batch:
        schema.add(_MESSAGE, query.message.strict_schema if strict else query.message.schema)
    return schema


def _raised(error: PipelineError) -> None:
    raise error


def rows_of(split: Split, query: LogQuery, schema: StructType) -> Iterator[Any]:
    """The rows of a split as Arrow batches, on a worker. Raises PipelineError."""
    return rows_of_task([split], query, schema)


def rows_of_task(
    splits: Sequence[Split],
    query: LogQuery,
    schema: StructType,
    refused: Callable[[PipelineError], None] = _raised,
) -> Iterator[Any]:
    """The rows of a task's splits, in order, as Arrow batches; one batch has the rows of many small splits.

    `refused` is given the error of a split that can't be read, which is raised by default; if it returns, the
    remaining splits are read. Raises PipelineError.
    """
    settle_worker()
    columns = arrow_schema(schema)
    native = NativeRows(splits, query, columns) if goes_natively() else None
    for number, split in enumerate(splits):
        check_number(split.partition, split.file)
        try:
            if native:
                with begun_scan(split, query) as begun:
                    yield from _with_errors(native.of_split(number, *begun), split, query, columns)
                continue
            rows = _Rows(split, query, columns)
            for piece in split_pieces(split, query):
                yield from rows.of_piece(piece)
            yield from rows.rest()
        except (LogError, LogPathError) as error:  # of the latter, it was there when the read was planned
            refused(refusal(error, "MALFORMED_KAFKA_LOG"))
    if native:
        yield from native.rest()


def _with_errors(pieces: Iterable[Any], split: Split, query: LogQuery, schema: Any) -> Iterator[Any]:
    """Arrow batches, and a row for what is damage among them."""
    for piece in pieces:
        if isinstance(piece, Damage):
            rows = _Rows(split, query, schema)
            yield from rows.of_piece(piece)
            yield from rows.rest()
        else:
            yield piece


def check_number(partition: int, where: str) -> None:
    """Refuse the number of a partition that the column has no place for. Raises PipelineError."""
    if partition > _MOST_PARTITIONS:
        text = f"{where}: the folder says partition {partition}, but numbers of partitions end at {_MOST_PARTITIONS}"
        raise PipelineError("MALFORMED_KAFKA_LOG", f"{text}; rename it.")


class _Rows:
    """The rows of one split."""

    def __init__(self, split: Split, query: LogQuery, schema: Any) -> None:
        self.split = split
        self.query = query
        self.schema = schema
        names = {*self.schema.names, *(["value", "offset"] if _MESSAGE in self.schema.names else [])}
        columns = BATCH_COLUMNS if query.by_batch else RECORD_COLUMNS
        self.builder = Builder(column for column in columns if column.name in names)
        self.place = SplitPlace.of(split)
        self.file_of = lambda _: self.place.file
        self.bytes = 0

    def of_piece(self, piece: Found | Damage) -> Iterator[Any]:
        """What a batch, or damage, adds; Arrow batches as they are full."""
        if isinstance(piece, Damage):
            if self.query.drops:
                return
            self.builder.add_row(self._error_row(piece.position, piece.error))
            return
        if not is_wanted(piece.batch, self.split, self.query):
            return
        place = BatchPlace(piece.batch, self.place, piece.position)
        if self.query.by_batch:
            self.builder.add_row({column.name: column.of_batch(place) for column in self.builder.columns})
        else:
            yield from self._of_records(place)
        if self.builder.rows >= _ROWS:
            yield from self.rest()

    def _of_records(self, place: BatchPlace) -> Iterator[Any]:
        records: list[Record] = []
        fault = None
        try:
            for record in place.batch:
                if self._wants(record):
                    records.append(record)
                    self.bytes += len(record.key or b"") + len(record.value or b"")
                if len(records) >= _ROWS or self.bytes >= _BYTES:
                    self.builder.add(place, records)
                    records = []
                    yield from self.rest()
        except DecodeError as error:
            fault = error if isinstance(error, LogError) else placed(error, self.place.file, "TWL105", place.position)
            if not self.query.permissive:
                raise fault from None
        self.builder.add(place, records)
        if fault is not None and not self.query.drops:
            self.builder.add_row(self._error_row(place.position, fault))

    def _wants(self, record: Record) -> bool:
        query, split = self.query, self.split
        return (
            (not split.first_offset or record.offset >= split.first_offset)
            and record.offset < split.end_offset
            and (query.first_timestamp is None or record.timestamp >= query.first_timestamp)
            and (query.end_timestamp is None or record.timestamp < query.end_timestamp)
        )

    def _error_row(self, position: int, error: TagwireError) -> dict[str, Any]:
        return {
            **self.place._asdict(),
            "position": position,
            "_error": described(error),
        }

    def rest(self) -> Iterable[Any]:
        """The collected rows as an Arrow batch; nothing without rows."""
        self.bytes = 0
        if not self.builder.rows:
            return ()
        arrays = self.builder.arrays()
        if _MESSAGE in self.schema.names:
            assert self.query.message is not None
            names = record_names(self.file_of, arrays["offset"])
            arrays[_MESSAGE] = self.query.message.decode(arrays["value"], row_name=names)
        count = self.builder.rows
        self.builder.clear()
        if not self.schema.names:  # count() may need no column at all
            return (pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([]))),)
        return (asked_batch(arrays, self.schema, self.file_of),)
