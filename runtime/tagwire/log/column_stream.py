"""Read the records or batch headers of a log as Arrow columns: `tagwire.log.columns`.

The native engine reads batches directly into columns. If it rejects a batch or can't determine its format, Python reads
the batch as in `tagwire.log.read`. Without the native engine, Python reads all batches, and pyarrow creates the arrays.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tagwire.arrow import ArrowSchema, spare_frames
from tagwire.arrow.errors import ColumnError
from tagwire.arrow.shape import Column
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.batch_rules import check_order
from tagwire.log.column_table import Payload, batch_values, is_uniform, record_values, root_column
from tagwire.log.damage import Damage, pieces
from tagwire.log.directory import check_arguments, log_at, starting_offset
from tagwire.log.errors import LogError, LogPathError
from tagwire.log.file_bytes import open_file, window_of
from tagwire.log.partition import Partition
from tagwire.log.scan import Scan
from tagwire.log.segment import Segment
from tagwire.message.engines import DisagreementError, engine
from tagwire.records import RecordBatch
from tagwire.records.format_set import AUTO, Formats, FormatSet, format_set
from tagwire.text_format import encodable

if TYPE_CHECKING:
    from tagwire.message.base import Message

_ROWS: Final = 1 << 16
_BYTES: Final = 1 << 24
"""The maximum size of an array in bytes. Also the maximum number of log bytes that are read for one array."""
_ERRORS: Final = ("raise", "skip")


def columns(
    path: str | Path,
    columns: Iterable[str] | None = None,
    *,
    start_offset: int | None = None,
    format: Formats = AUTO,
    only: bool = False,
    strict: bool = True,
    level: str = "record",
    errors: str = "raise",
    limits: Limits = DEFAULT_LIMITS,
    partial: bool = False,
    from_log_start: bool = False,
    message: "type[Message] | None" = None,
    version: int | None = None,
    fields: Iterable[str] | None = None,
) -> "LogColumns":
    """Return a segment file or a partition folder as Arrow columns, with a row for each record or batch.

    `columns` names the columns; None means all. With `level="batch"`, there is a row for each batch header (in v0 and
    v1, for each outermost message); nothing is decompressed, and checksums are verified only with `partial`, to find an
    incomplete batch. Rows begin at `start_offset`. `format`, `only`, `strict`, `partial` and `from_log_start` work as
    in `tagwire.log.read`.

    At an invalid batch, `errors="raise"` raises LogError after yielding the rows before it. With "skip", reading
    continues after the batch, and the result's `skipped` lists the skipped bytes.

    `message` is a message class. It adds a last column `message` with the decoded record values, or only their
    `fields`. `version` is the version of all values; leave it out for coordinator and metadata logs, whose records
    contain their version. In these logs, records of other types are null. If a value can't be decoded, `errors="raise"`
    raises a DecodeError or UnsupportedVersionError. The error's attribute `row` is the row's number in the current
    array. With "skip", the message is null.

    Invalid arguments raise LogPathError, FormatError, ColumnError or an error of `tagwire.arrow.schema`, before reading
    begins.
    """
    check_arguments(start_offset, limits)
    formats = format_set(format, only=only, strict=strict)
    if message is None and (version is not None or fields is not None):
        raise ColumnError("`version` and `fields` describe the messages in the records; pass their class as `message`")
    payload = None if message is None else Payload(message, version, fields, errors, limits)
    options = ReadOptions(
        *(start_offset, formats, level == "batch", errors, limits, partial, from_log_start), verified=partial
    )
    if payload is not None and level == "batch":
        raise ColumnError(
            "argument `message` decodes values of records, so it can't be combined with level 'batch'; "
            "leave `message` out"
        )
    return LogColumns(path, root_column(level, columns, formats), options, payload)


def record_arrays(scan: Scan, columns: Iterable[str]) -> Iterator[Any]:
    """Yield arrays with a file's records. Raises LogError at an invalid batch, after yielding the rows before it."""
    pass_ = Pass(root_column("record", columns, scan.formats), ReadOptions(formats=scan.formats, limits=scan.limits))
    pass_.rows.begin(encodable(scan.file), 0, None)
    return pass_.with_rest(pass_.of_file(scan, None, cut_off=False))


class ReadOptions(NamedTuple):
    """The options for reading a log as columns, except for the list of columns."""

    start_offset: int | None = None
    formats: FormatSet = format_set(AUTO)
    headers_only: bool = False
    errors: str = "raise"
    limits: Limits = DEFAULT_LIMITS
    partial: bool = False
    from_log_start: bool = False
    verified: bool = False
    """Whether to verify the batches' checksums even if only headers are read."""
    ordered: bool = False
    """Whether to reject a batch whose base offset is not above the last offset of the previous batch."""
    transient: bool = False
    """Whether the caller releases each array soon, so that a later array can use the same buffers."""


class LogColumns:
    """A log as Arrow arrays. Iterate over it, or pass it to a library that consumes `__arrow_c_stream__`.

    Each iteration reads the log again, with one array in memory at a time. Invalid bytes raise LogError; a library that
    consumes the stream raises its own exception with the same message.
    """

    def __init__(self, path: str | Path, records: Column, options: ReadOptions, payload: Payload | None = None) -> None:
        if options.errors not in _ERRORS:
            raise ColumnError(f"errors: expected 'raise' or 'skip', got {options.errors!r}")
        self.path = Path(path)
        self.options = options
        self.payload = payload
        self.root = self.gathered = records
        """The struct of all columns (`root`), and the struct of the columns that are read from batches (`gathered`)."""
        if payload is not None:
            self.root = Column("", "+s", children=(*records.children, payload.column))
            self.gathered = payload.with_sources(records, options.formats)
        self.skipped: list[Damage] = []
        """The byte ranges that the last pass skipped with errors="skip", and why."""
        found = log_at(self.path)
        self._partition = found if isinstance(found, Partition) else None
        self._start = starting_offset(found, options.start_offset, from_log_start=options.from_log_start)

    @property
    def schema(self) -> ArrowSchema:
        """The Arrow type of a row."""
        return ArrowSchema(self.root)

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        pass_ = Pass(self.gathered, self.options)
        if pass_.is_native:
            from tagwire._columns import export_stream
        else:
            from tagwire.arrow.pure import export_stream
        return export_stream(self.root, self._arrays(pass_))

    def __iter__(self) -> Iterator[Any]:
        return self._arrays(Pass(self.gathered, self.options))

    def _arrays(self, pass_: "Pass") -> Iterator[Any]:
        self.skipped = pass_.skipped
        arrays = self._arrays_of_all(pass_)
        if self.payload is None:
            return arrays
        return (self.payload.with_messages(array, self.root, native=pass_.is_native) for array in arrays)

    def _arrays_of_all(self, pass_: "Pass") -> Iterator[Any]:
        """Yield the arrays of all segments.

        If a broker has removed a segment, list the folder again, and continue after the last offset read.
        """
        partition, start = self._partition, self._start
        while True:
            try:
                files = [(Segment(self.path), start, True)] if partition is None else partition.segments_from(start)
                yield from pass_.with_rest(pass_.full_arrays(files))
                return
            except LogPathError:
                partition = None if partition is None else partition.listed_again()
                if partition is None:
                    raise
                if pass_.last_offset >= 0:
                    start = max(pass_.last_offset + 1, start or 0)

    def __repr__(self) -> str:
        return f"<columns of {self.path}: {', '.join(map(str, self.root.children))}>"


class Pass:
    """One pass over the segment files of a log, which collects records (or batches) into Arrow arrays."""

    def __init__(self, root: Column, options: ReadOptions) -> None:
        self.root = root
        self.options = options
        self.rows = _rows(root, options)
        self.is_native = not isinstance(self.rows, GatheredRows)
        """Whether the native engine collects the rows and makes the arrays."""
        self.skipped: list[Damage] = []
        self.last_offset = -1
        """The last offset of the last batch read from any file, or -1. `rows.last_offset` is only that of one file."""

    def full_arrays(self, files: Iterable[tuple[Segment, int | None, bool]]) -> Iterator[Any]:
        """Yield full arrays of rows. Each of `files` is (segment, start offset or None, whether it is the last one).

        The last rows stay in `rows`. Raises LogError at an invalid batch.
        """
        for segment, first_offset, is_last in files:
            with open_file(segment.path) as data:
                scan = Scan(str(segment.path), data, self.options.formats, self.options.limits)
                position = 0 if first_offset is None else segment.position_of(scan, first_offset)
                self.rows.begin(encodable(scan.file), position, first_offset)
                try:
                    yield from self.of_file(scan, first_offset, cut_off=self.options.partial and is_last)
                finally:
                    self.last_offset = max(self.last_offset, self.rows.last_offset)

    def with_rest(self, full: Iterator[Any]) -> Iterator[Any]:
        """Yield the `full` arrays, and then an array of the remaining rows, even if a LogError ends the full arrays."""
        failure = None
        try:
            yield from full
        except LogError as error:
            failure = error
        if len(self.rows):
            yield self.rows.take()
        if failure is not None:
            raise failure

    def of_file(self, scan: Scan, first_offset: int | None, *, cut_off: bool, end: int | None = None) -> Iterator[Any]:
        """Read a file's batches, up to position `end` in the file, and yield each array as soon as it is full.

        The last rows, which don't fill an array, stay in `self.rows`. A batch that begins before `end` is read whole.
        """
        rows, window = self.rows, _Window(scan)
        stop = len(scan.data) if end is None else end
        while True:
            halt = rows.walk(window.data, window.start, stop)
            if halt == "full":
                yield rows.take()
                continue
            if rows.position >= stop:
                return
            if self.is_native and window.turn(rows.position):
                continue
            if rows.index == 0 and scan.ends_at(rows.position):
                return
            try:
                yield from self.in_python(scan, first_offset, rejected=halt == "rejected")
            except LogError as error:
                if cut_off and scan.was_unfinished(error, rows.position, rows.last_offset):
                    return
                yield from self.failed(scan, error)

    def in_python(self, scan: Scan, first_offset: int | None, *, rejected: bool) -> Iterator[Any]:
        """Read the rest of a batch in Python, starting at the first record that native code could not read.

        Raises LogError if the batch is invalid.
        """
        rows, root, headers_only = self.rows, self.root, self.options.headers_only
        position, done = rows.position, rows.index
        is_outline = headers_only and not self.options.verified
        batch = scan.outline(position) if is_outline else scan.batch(position)
        if self.options.ordered:
            check_order(batch, rows.last_offset)
        size = batch.size
        shared = batch_values(root, batch, headers_only=is_outline)
        if headers_only:
            rows.put(shared)
        for number, record in enumerate(() if headers_only else batch):
            if number < done or (first_offset is not None and record.offset < first_offset):
                continue
            rows.put(record_values(root, record, shared))
            if rows.is_full:
                yield rows.take()
        if rejected and self.options.formats.strict:
            raise DisagreementError(batch.record_format.layout, rejected=f"the batch at byte {position} of {scan.file}")
        rows.resume_at(position + size, batch.last_offset)

    def failed(self, scan: Scan, error: LogError) -> Iterable[Any]:
        """Raise `error` if the option `errors` is "raise"; otherwise, skip the invalid bytes.

        Returns the arrays to yield instead of the skipped rows.
        """
        if self.options.errors == "raise":
            raise error
        self.skipped.append(self.skip(scan, error)[0])
        return ()

    def skip(self, scan: Scan, error: LogError) -> tuple[Damage, RecordBatch | None]:
        """Skip the invalid bytes at the current position: a batch with invalid records, or the bytes before a batch.

        Returns (skipped range, skipped batch). The batch is None if the skipped bytes aren't a batch.
        """
        position = self.rows.position
        piece = next(pieces(scan, position, self.rows.last_offset))
        if isinstance(piece, Damage):
            self.rows.resume_at(piece.end, None)
            return piece, None
        self.rows.resume_at(piece.end, piece.last_offset)
        return Damage(position, piece.end, error), piece


class _Window:
    """The bytes of a file that native code reads in one call: at least one whole batch, usually many."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.data = b""
        self.start = 0

    def turn(self, position: int) -> bool:
        """Move the window to the batch at `position`. Return whether it was moved.

        The window is not moved if it already contains the whole batch, or if the batch's size is unknown.
        """
        try:
            size = self.scan.size(position)
        except LogError:
            return False
        if self.start <= position and position + size <= self.start + len(self.data):
            return False
        self.data, self.start = window_of(self.scan.data, position, size), position
        return True


def _rows(root: Column, options: ReadOptions) -> Any:
    is_native = engine() == "native" and options.limits.bound_nothing_counted
    if is_native and is_uniform(root, options.formats):
        from tagwire._columns import RecordColumns
        from tagwire._engine import NotNative

        try:
            return RecordColumns(
                root,
                options.formats,
                headers_only=options.headers_only,
                limits=options.limits,
                most_rows=_ROWS,
                most_bytes=_BYTES,
                spares=spare_frames(),
                verified=options.verified,
                ordered=options.ordered,
                transient=options.transient,
            )
        except NotNative:
            pass
    return GatheredRows(root)


class GatheredRows:
    """Collects rows in pure Python. Has the same methods as `tagwire._columns.RecordColumns`."""

    def __init__(self, root: Column) -> None:
        self.root = root
        self.position = self.index = self.bytes = 0
        self.last_offset = -1
        self.values: list[dict[str, Any]] = []

    def begin(self, file: str, position: int, first_offset: int | None) -> None:
        self.resume_at(position, -1)

    def resume_at(self, position: int, last_offset: int | None) -> None:
        """Continue at `position`. `last_offset` is that of the previous batch, or None after invalid bytes."""
        self.position = position
        if last_offset is not None:
            self.last_offset = last_offset

    def walk(self, data: Any, start: int, end: int) -> str:
        """Return what the caller must do next.

        "unclear": read a batch in Python. "full": `take` the rows. "done": nothing, because everything up to `end` has
        been read.
        """
        return "unclear" if self.position < end else "full" if self.is_full else "done"

    def put(self, values: dict[str, Any]) -> None:
        row = {column.name: values[column.name] for column in self.root.children}
        self.bytes += sum(len(value) for value in row.values() if isinstance(value, bytes))
        self.values.append(row)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_full(self) -> bool:
        return len(self.values) >= _ROWS or self.bytes >= _BYTES

    def take(self) -> Any:
        from tagwire.arrow.pure import array_of

        array, self.values, self.bytes = array_of(self.root, self.values), [], 0
        return array
