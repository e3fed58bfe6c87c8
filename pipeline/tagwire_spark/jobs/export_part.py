"""Export one part on a worker: a segment, or a folder's other files.

A segment is exported as rows and exact bytes, other files only as exact bytes. A second pass stores the bytes of all
batches that can't be rebuilt exactly from their rows.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql.types import StructType

from tagwire.errors import DecodeError
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log import LogPathError
from tagwire.log.damage import Damage, pieces
from tagwire.log.file_bytes import FileBytes
from tagwire.log.scan import Scan
from tagwire.records import FormatSet, RecordBatch
from tagwire.records.moving import exact_header_of
from tagwire.text_format import encodable
from tagwire_spark.errors import PipelineError, changed, rejection
from tagwire_spark.files.reading import if_gone
from tagwire_spark.files.storage import Listed, Location
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions, is_remote
from tagwire_spark.jobs.exported import BYTES, EXACT, HEADER, NEEDED, PIECES, ROWS, ZEROS, ExportedFiles, Table
from tagwire_spark.jobs.outputs import attempt
from tagwire_spark.jobs.units import received_folder, shown_path
from tagwire_spark.log_read.column_table import MOST_MILLISECONDS
from tagwire_spark.log_read.query import NO_OFFSET, LogQuery
from tagwire_spark.log_read.rows import full_schema, rows_of
from tagwire_spark.log_read.splits import Split

TABLE: Final = "table"
"""Name of the subfolder in which a task attempt writes the tables of records."""
_CHUNK: Final = 4 << 20
"""Maximum number of bytes that one row of an `_exact` file stores."""
_PIECES: Final = 10_000
_PIECE_BYTES: Final = 8 << 20
"""Size of the write buffer of an `_exact` file, in bytes."""


class ExportOptions(NamedTuple):
    """The options of an export."""

    columns: list[str]
    permissive: bool
    formats: FormatSet
    limits: Limits = DEFAULT_LIMITS


class ExportReport(NamedTuple):
    """The result of exporting a segment: counts, sizes in bytes, and damaged ranges."""

    file: Path | str
    """The segment's path, or its URL as a string."""
    records: int
    batches: int
    kept: int
    """Number of batches that are also stored as bytes: compressed batches, markers, and batches in older formats."""
    bytes: int
    parquet_bytes: int
    """Size of the Parquet file that contains the segment's records."""
    exact_bytes: int
    """Size of the file for the rest of the segment's bytes, which are not stored in the table."""
    damage: tuple[tuple[int, str], ...]
    """The position of each invalid batch or unreadable record, and why. They are exported as bytes, not as rows."""

    def to_json(self) -> dict[str, Any]:
        damage = [{"position": position, "reason": reason} for position, reason in self.damage]
        return self._asdict() | {"file": str(self.file), "damage": damage}


class ExportUnit(NamedTuple):
    """The files that one task exports: one segment, or the other files of a folder."""

    part: ExportedFiles
    folder: str
    """The path or URL of the files' folder."""
    partition: tuple[str, int] | None
    """The segment's topic and partition number, or None for other files."""
    listed: Sequence[Listed] | None
    """The listing entries of the files if they are remote."""


class Exported(NamedTuple):
    """The result of a task: the folder of the task attempt, and the size and the report of what was exported."""

    attempt: str
    exact_bytes: int
    report: ExportReport | None
    """The segment's report, or None for other files."""


def export_part(
    unit: ExportUnit, attempts: str, options: ExportOptions, storage: StorageOptions = NO_OPTIONS
) -> Exported:
    """Export files to a new folder. Raises LogPathError, LogError or PipelineError for unreadable or changed files."""
    part, folder, report = unit.part, attempt(attempts), None
    exact = _Pieces(folder / EXACT / part.name)
    with received_folder(unit.folder, unit.listed, storage) as source:
        for number, (name, size) in enumerate(part.files):
            path = source.local / name
            try:
                if unit.partition is None:
                    with source.opened(path) as data:
                        exact.add_file(number, data)
                else:
                    table = folder / TABLE / f"{part.name}.parquet"
                    segment = _Segment(source, path, size, encodable(part.path_of(number)), options, storage)
                    report = segment.export(unit.partition, table, exact)
                now = source.state_of(path).size
            except LogPathError as error:
                raise if_gone(rejection(error), source.name_of(path)) from None
            if exact.end != size or now != size:
                text = f"the size changed from {size} to {now} bytes, but only logs that are not in use can be exported"
                raise changed(f"{source.name_of(path)}: {text}")
    exact_bytes = exact.close()
    return Exported(folder.name, exact_bytes, report and report._replace(exact_bytes=exact_bytes))


class _Segment(NamedTuple):
    source: Location
    path: Path
    size: int
    file: str
    """The path as a value of column `file`, relative to the root of the logs."""
    options: ExportOptions
    storage: StorageOptions

    def export(self, partition: tuple[str, int], table: Path, exact: "_Pieces") -> ExportReport:
        """Export the segment. Return its report, without the size of the exact bytes."""
        try:
            rows, damage = self._rows(partition, table, permissive=False)
        except PipelineError:
            if not self.options.permissive:
                raise
            rows, damage = self._rows(partition, table, permissive=True)
        batches, kept = self._pieces(exact)
        file = shown_path(self.source.name_of(self.path))
        return ExportReport(file, rows.rows, batches, kept, self.size, rows.close(), 0, tuple(damage))

    def _rows(self, partition: tuple[str, int], path: Path, *, permissive: bool) -> tuple[Table, list[tuple[int, str]]]:
        """Write the segment's rows to a table. Return the table, and the position and error of each damaged range.

        The caller must close the table.
        """
        formats, limits = self.options.formats, self.options.limits
        query = LogQuery(paths=(), permissive=permissive, formats=formats, limits=limits, storage=self.storage)
        name = self.source.name_of(self.path)
        state = self.source.state_of(self.path) if is_remote(name) else None
        split = Split(name, *partition, 0, self.size, None, 0, NO_OFFSET, is_last=False, state=state)
        names = [name for name in self.options.columns if name != "file"]
        extra = ["position", "_error"] if permissive else []
        known = full_schema(query)
        schema = StructType([known[name] for name in dict.fromkeys((*names, *extra))])
        table, damage = Table(path, pa.schema([(name, ROWS[name]) for name in self.options.columns])), []
        try:
            for batch in rows_of(split, query, schema):
                if permissive:
                    wrong = batch.select(["position", "_error"]).filter(batch.column("_error").is_valid())
                    damage += [(row["position"], row["_error"]["reason"]) for row in wrong.to_pylist()]
                    batch = batch.filter(batch.column("_error").is_null())
                file = pa.repeat(pa.scalar(self.file), batch.num_rows)
                arrays = [file if field.name == "file" else batch.column(field.name) for field in table.schema]
                table.add(pa.RecordBatch.from_arrays(arrays, schema=table.schema))
        except PipelineError:
            table.abandon()
            raise
        return table, damage

    def _pieces(self, exact: "_Pieces") -> tuple[int, int]:
        """Store the segment byte for byte. Return the number of batches, and how many are stored as raw bytes."""
        exact.begin(0)
        batches = kept = 0
        with self.source.opened(self.path) as data:
            scan = Scan(self.source.name_of(self.path), data, self.options.formats, self.options.limits)
            for piece in pieces(scan):
                if isinstance(piece, Damage):
                    for start in range(piece.position, piece.end, _CHUNK):
                        exact.add(BYTES, data[start : min(start + _CHUNK, piece.end)])
                    continue
                batches += 1
                kept += not self._header(piece, exact)
            if exact.end < len(data):
                exact.add(ZEROS, None, len(data) - exact.end)
        return batches, kept

    def _header(self, batch: RecordBatch, exact: "_Pieces") -> bool:
        """Store a batch's header if its records can be rebuilt from the rows, otherwise the whole batch.

        Return whether only the header was stored.
        """
        header = None
        if not batch.is_control and set(NEEDED) <= set(self.options.columns):
            with suppress(DecodeError):  # the reader of the rows has already reported this error
                header = exact_header_of(batch, MOST_MILLISECONDS)
        if header is None:
            exact.add(BYTES, batch.encode(), format=batch.format)
            return False
        exact.add(HEADER, header.data, header.size, format=header.format, timestamps=header.timestamps)
        return True


class _Pieces:
    """Writes pieces of log files to a Parquet file, one piece per row. A piece is bytes, zeros, or a batch header."""

    def __init__(self, path: Path) -> None:
        self.table = Table(path, PIECES)
        self.file = 0
        self.end = 0
        """Position in the file at which the next piece starts."""
        self._rows: list[tuple[Any, ...]] = []
        self._bytes = 0

    def begin(self, file: int) -> None:
        self.file, self.end = file, 0

    def add(
        self,
        kind: str,
        data: bytes | None,
        size: int | None = None,
        *,
        format: str | None = None,
        timestamps: tuple[int, ...] | None = None,
    ) -> None:
        """Add a piece that covers `size` bytes of the file (default: the size of `data`)."""
        length = len(data or b"") if size is None else size
        self._rows.append((self.file, self.end, length, kind, format, timestamps, data))
        self.end += length
        self._bytes += len(data or b"")
        if len(self._rows) >= _PIECES or self._bytes >= _PIECE_BYTES:
            self._flush()

    def add_file(self, file: int, source: FileBytes) -> None:
        self.begin(file)
        for start in range(0, len(source), _CHUNK):
            data = source[start : start + _CHUNK]
            if data.count(0) == len(data):
                self.add(ZEROS, None, len(data))
            else:
                self.add(BYTES, data)

    def close(self) -> int:
        self._flush()
        return self.table.close()

    def _flush(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [pa.array(list(column), field.type) for column, field in zip(columns, PIECES, strict=True)]
            self.table.add(pa.RecordBatch.from_arrays(arrays, schema=PIECES))
            self._rows, self._bytes = [], 0
