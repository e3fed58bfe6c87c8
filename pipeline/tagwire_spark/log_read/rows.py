"""Convert the record batches in a task's splits to Arrow batches for Spark, with only the requested columns.

Several splits share an Arrow batch, because creating an Arrow batch takes longer than reading a small segment.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql.types import StructType

from tagwire.captures import capture_kind
from tagwire.errors import TagwireError
from tagwire.log.damage import Damage
from tagwire.log.errors import LogError
from tagwire.log.scan import Scan
from tagwire.records.control import control_type
from tagwire.text_format import encodable
from tagwire_spark.columns.arrow_types import arrow_schema, pc, spark_type
from tagwire_spark.columns.schema_check import requested_batch
from tagwire_spark.errors import PipelineError, described, rejection, rejections
from tagwire_spark.files.reading import first_bytes, if_gone
from tagwire_spark.files.storage import folder_of
from tagwire_spark.log_read.batches import SplitPass, begun_scan
from tagwire_spark.log_read.column_table import BATCH_COLUMNS, RECORD_COLUMNS, RowSplits, has_number_keys
from tagwire_spark.log_read.query import NO_OFFSET, LogQuery
from tagwire_spark.log_read.splits import Split
from tagwire_spark.log_read.uncommitted import Transactions, check_abort, check_unfinished
from tagwire_spark.session import settle_worker

_MESSAGE: Final = "message"
_MOST_PARTITIONS: Final = 0x7FFFFFFF
_NO_BOUND: Final = -(1 << 63)
"""A number less than every offset. It stands for a missing offset bound of a split."""
_ABORT: Final = 0
"""The type of an abort marker, as `control_type` returns it."""
_OF_TRANSACTIONS: Final = ("base_offset", "producer_id", "is_transactional", "is_control")


def full_schema(query: LogQuery, *, strict: bool = False) -> StructType:
    """Return all columns that a query can have. `strict` makes fields of the decoded message NOT NULL if possible."""
    schema = StructType()
    is_there = {
        "headers": query.has_headers,
        "headerNames": query.has_headers and has_number_keys(query.formats),
        "_error": query.permissive and not query.drops,
    }
    for column in BATCH_COLUMNS if query.by_batch else RECORD_COLUMNS:
        if is_there.get(column.name, True):
            schema.add(column.name, spark_type(column.type))
    if query.message is not None and not query.by_batch:
        schema.add(_MESSAGE, query.message.strict_schema if strict else query.message.schema)
    return schema


def _raised(error: PipelineError, split: Split) -> None:
    raise if_gone(error, split.file)


def rows_of(split: Split, query: LogQuery, schema: StructType) -> Iterator[Any]:
    """On a worker, return the rows of a split as Arrow batches. Raises PipelineError if the split can't be read."""
    return rows_of_task([split], query, schema)


def rows_of_task(
    splits: Sequence[Split],
    query: LogQuery,
    schema: StructType,
    rejected: Callable[[PipelineError, Split], None] = _raised,
) -> Iterator[Any]:
    """Yield the rows of a task's splits, in order, as Arrow batches. Many small splits share an Arrow batch.

    If a split can't be read, `rejected` is called with the error and the split. The default raises the error; if
    `rejected` returns, reading continues with the next split. Raises PipelineError if a partition number is too large.
    """
    settle_worker()
    rows = _Rows(splits, query, arrow_schema(schema))
    for number, split in enumerate(splits):
        check_number(split.partition, split.file)
        try:
            with begun_scan(split, query) as begun:
                yield from rows.of_split(number, *begun)
        except (OSError, TagwireError) as error:
            rejected(_as_capture(error, split, query) or rejection(error, "MALFORMED_KAFKA_LOG"), split)
    with rejections("MALFORMED_KAFKA_LOG"):
        yield from rows.rest()


def _as_capture(error: Exception, split: Split, query: LogQuery) -> PipelineError | None:
    """Return an error if the file is a capture of frames; otherwise None."""
    if not isinstance(error, LogError) or split.start:
        return None
    kind = capture_kind(first_bytes(split.file, split.state, 4096, query.storage))
    text = f"{split.file}: {kind}, not a log segment; use format kafka_rpc."
    return PipelineError("MALFORMED_KAFKA_LOG", text) if kind else None


def check_number(partition: int, where: str) -> None:
    """Raise PipelineError if a partition number doesn't fit in Spark's int column."""
    if partition > _MOST_PARTITIONS:
        raise PipelineError(
            "MALFORMED_KAFKA_LOG",
            f"{where}: partition number {partition} is greater than {_MOST_PARTITIONS}; rename the folder.",
        )


class _Condition(NamedTuple):
    """A condition that the rows of a query must meet."""

    column: str
    mask: Callable[[Any, Any], Any]
    """Returns a mask of rows, or None for all rows, from this column and the split index of each row."""


def _of_rows(values: Any, numbers: Any) -> Any:
    """Return an array with a value for each row. `values` has a value for each split, `numbers` each row's split."""
    return values[0] if numbers is None else values.take(numbers)


def _milliseconds(column: Any) -> Any:
    return pc.fill_null(column.cast(pa.int64()), -1)


class _Rows:
    """Reads a task's splits, one after another, and yields the requested rows and columns as Arrow batches."""

    def __init__(self, splits: Sequence[Split], query: LogQuery, schema: Any) -> None:
        self._splits = splits
        self._shown = [each._replace(topic=encodable(each.topic), file=encodable(each.file)) for each in splits]
        self._query = query
        self._schema = schema
        self._columns = {each.name: each for each in (BATCH_COLUMNS if query.by_batch else RECORD_COLUMNS)}
        self._names = [name for name in schema.names if name != _MESSAGE]
        if _MESSAGE in schema.names:
            self._names += ["value", "offset"]
        self._conditions = [*self._needed_conditions()]
        self._has_transactions = any(split.transactions is not None for split in splits)
        self._has_indexed = any(split.transactions and split.transactions.indexed_to for split in splits)
        """Whether aborted transactions are known from transaction indexes, which may be incomplete."""
        self._of_logs: dict[str, Transactions] = {}
        self._begun: dict[str, tuple[Split, dict[int, int]]] = {}
        """Maps a partition folder to its last split, and to its open transactions (producer ID to an offset)."""
        needs = (need for name in self._names for need in self._columns[name].needs)
        self._needed = dict.fromkeys((*needs, *(each.column for each in self._conditions), *self._of_checks()))
        self._pass = SplitPass([*self._needed] or ["is_control"], query)
        self._numbers: dict[str, int] = {}
        """Maps the engine's file names to split indexes, for the splits that have rows in the current Arrow batch."""

    def _needed_conditions(self) -> Iterator[_Condition]:
        """Yield the conditions of the query, apart from transactions. The native engine applies other start offsets."""
        query, splits = self._query, self._splits
        offset, time = ("base_offset", "max_timestamp") if query.by_batch else ("offset", "timestamp")
        if not query.control:
            yield _Condition("is_control", lambda column, _: pc.invert(column) if pc.any(column).as_py() else None)
        if query.by_batch and any(split.first_offset for split in splits):
            starts = pa.array([split.first_offset or _NO_BOUND for split in splits], pa.int64())
            yield _Condition("last_offset", lambda column, at: pc.greater_equal(column, _of_rows(starts, at)))
        if any(split.end_offset != NO_OFFSET for split in splits):
            lasts = pa.array([split.end_offset - 1 for split in splits], pa.int64())
            yield _Condition(offset, lambda column, at: pc.less_equal(column, _of_rows(lasts, at)))
        if query.first_timestamp is not None:
            yield _Condition(time, lambda column, _: pc.greater_equal(_milliseconds(column), query.first_timestamp))
        # With level=batch, the end time is ignored, because a late batch can have early records.
        if query.end_timestamp is not None and not query.by_batch:
            yield _Condition(time, lambda column, _: pc.less(_milliseconds(column), query.end_timestamp))

    def _of_checks(self) -> Iterator[str]:
        """Yield the columns that are needed to find uncommitted records, and the splits of rows."""
        if self._has_transactions:
            yield from _OF_TRANSACTIONS
        if self._has_indexed:
            yield from ("is_control", *(() if self._query.by_batch else ("key",)))
        if len(self._splits) > 1:
            yield "file"

    def of_split(self, number: int, scan: Scan, position: int, last: int) -> Iterator[Any]:
        """Read a split. Yield each Arrow batch as soon as it is full.

        The last rows stay buffered until the next call. In PERMISSIVE mode, each damaged range becomes an error row. In
        FAILFAST mode, LogError is raised after the rows before the damage.
        """
        name = encodable(scan.file)
        known = self._numbers.setdefault(name, number)
        if known != number:
            yield from self.rest()
            self._numbers[name] = number
        for piece in self._pass.of_split(self._splits[number], scan, position, last):
            yield from self._error_row(number, piece) if isinstance(piece, Damage) else self._made(piece)

    def rest(self) -> Iterator[Any]:
        if len(self._pass.rows):
            yield from self._made(self._pass.rows.take())
        self._numbers.clear()
        for split, begun in self._begun.values():
            if begun:
                check_unfinished(split, self._query, begun)
        self._begun.clear()

    def _made(self, array: Any) -> Iterator[Any]:
        """Yield the requested rows of an array as a batch for Spark, if there are any."""
        batch = pa.record_batch(array)
        numbers = self._split_numbers(batch)
        if self._has_indexed and batch.num_rows:
            self._check_markers(batch, numbers)
        masks = [
            mask for each in self._conditions if (mask := each.mask(batch.column(each.column), numbers)) is not None
        ]
        if self._has_transactions and batch.num_rows:
            masks.append(self._committed(batch, numbers))
        selected = batch.filter(reduce(pc.and_, masks)) if masks else batch
        if not selected.num_rows:
            return
        splits = RowSplits(self._shown, self._split_numbers(selected), selected.num_rows)
        columns = {name: selected.column(name) for name in self._needed}
        arrays = {name: self._columns[name].array(columns, splits) for name in self._names}
        yield self._finished(arrays, splits)

    def _error_row(self, number: int, damage: Damage) -> Iterator[Any]:
        """Yield a batch with one row for a damaged range. Columns other than position and error are null."""
        splits = RowSplits(self._shown[number : number + 1], None, 1)
        arrays = {name: pa.nulls(1, self._columns[name].type) for name in self._names}
        arrays |= {name: each.array({}, splits) for name, each in self._columns.items() if each.split is not None}
        arrays["position"] = pa.array([damage.position], pa.int64())
        arrays["_error"] = pa.array([described(damage.error)], self._columns["_error"].type)
        yield self._finished(arrays, splits)

    def _finished(self, arrays: dict[str, Any], splits: RowSplits) -> Any:
        if _MESSAGE in self._schema.names:
            assert self._query.message is not None
            offsets = arrays["offset"]
            arrays[_MESSAGE] = self._query.message.decode(
                arrays["value"],
                row_name=lambda row: f"{splits.file_of(row)}: the record at offset {offsets[row].as_py()}",
            )
        if not self._schema.names:  # `count()` may request no columns
            nothing = pa.Array.from_buffers(pa.struct([]), splits.rows, [None], children=[])
            return pa.RecordBatch.from_struct_array(nothing)
        return requested_batch(arrays, self._schema, splits.file_of)

    def _split_numbers(self, batch: Any) -> Any:
        """Return an array with the index of each row's split, or None if the task has only one split."""
        if len(self._splits) == 1:
            return None
        files = batch.column("file")
        return pa.array([self._numbers.get(name) for name in files.dictionary.to_pylist()], pa.int32()).take(
            files.indices
        )

    def _check_markers(self, batch: Any, numbers: Any) -> None:
        """Raise PipelineError if the transaction of an abort marker is missing from the transaction index."""
        found = pc.indices_nonzero(batch.column("is_control"))
        rows = batch.select([name for name in (*_OF_TRANSACTIONS, "key") if name in self._needed]).take(found)
        splits = [0] * len(found) if numbers is None else numbers.take(found).to_pylist()
        for number, row in zip(splits, rows.to_pylist(), strict=True):
            split, marker = self._splits[number], (row["producer_id"], row["base_offset"])
            # With level=batch, rows have no key that would identify abort markers, so check every marker.
            is_abort = "key" not in row or control_type(row["key"]) == _ABORT
            if is_abort and split.transactions is not None and split.transactions.misses_abort(*marker):
                check_abort(split, self._query, *marker, self._of_logs)

    def _committed(self, batch: Any, numbers: Any) -> Any:
        """Return a mask that is false for the rows of aborted and open transactions."""
        bases = batch.column("base_offset")
        changes = pc.not_equal(bases[1:], bases[:-1])
        if numbers is not None:
            changes = pc.or_(changes, pc.not_equal(numbers[1:], numbers[:-1]))
        ends = pc.add(pc.indices_nonzero(changes), 1).cast(pa.int32())
        starts = pa.concat_arrays([pa.array([0], pa.int32()), ends])
        batch_headers = [batch.column(name).take(starts).to_pylist() for name in _OF_TRANSACTIONS]
        splits = [0] * len(starts) if numbers is None else numbers.take(starts).to_pylist()
        found = []
        for number, *header in zip(splits, *batch_headers, strict=True):
            known = self._splits[number].transactions
            found.append(known is None or not known.hides(*header))
            if found[-1] and known is not None and header[0] < known.indexed_to:
                self._follow(self._splits[number], *header)
        ends = pa.concat_arrays([ends, pa.array([batch.num_rows], pa.int32())])
        return pc.run_end_decode(pa.RunEndEncodedArray.from_arrays(ends, pa.array(found)))

    def _follow(self, split: Split, offset: int, producer_id: int, is_transactional: bool, is_control: bool) -> None:
        """Track transactions that are open at the split's end, because they can be aborted later."""
        if is_transactional and offset < split.end_offset < NO_OFFSET:
            _, begun = self._begun.get(folder_of(split.file), (split, {}))
            if is_control:
                begun.pop(producer_id, None)
            else:
                begun.setdefault(producer_id, offset)
            self._begun[folder_of(split.file)] = split, begun
