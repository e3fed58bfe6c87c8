"""`import_logs` restores logs exported by `export_logs`, byte for byte.

If a file can't be restored exactly, the import fails and writes no output.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tagwire.errors import TagwireError
from tagwire.log import LogPathError
from tagwire.log.errors import LogReadError, is_file
from tagwire.log.whole_folder import on_disk
from tagwire.records import Record
from tagwire.records.moving import BatchHeader, rebuilt
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.reading import opened_stream
from tagwire_spark.files.storage import Listed, Location
from tagwire_spark.files.store import StorageOptions, is_remote
from tagwire_spark.jobs.exported import (
    BYTES,
    EXACT,
    HEADER,
    NEEDED,
    PIECES,
    ROWS,
    ZEROS,
    Export,
    ExportedFiles,
    check_incomplete,
)
from tagwire_spark.jobs.outputs import attempt, job_output, staging
from tagwire_spark.jobs.tasks import run_units
from tagwire_spark.jobs.units import job_inputs, received_folder, reject_output_inside
from tagwire_spark.log_read.query import NO_OFFSET


class RestoredFile(NamedTuple):
    """A restored file: its path and size, and how many of its batches were rebuilt from records."""

    file: Path | str
    bytes: int
    batches: int

    def to_json(self) -> dict[str, Any]:
        return self._asdict() | {"file": str(self.file)}


def import_logs(
    spark: SparkSession,
    path: str | Path,
    output: str | Path,
    *,
    storage_options: Mapping[str, Any] | None = None,
    work_folder: str | Path | None = None,
) -> list[RestoredFile]:
    """Restore the logs of an export to a folder. Return a report for each file, in order.

    For URLs, see `tagwire_spark.jobs`. Raises PipelineError or LogPathError if the export can't be read or the output
    can't be written.
    """
    target = job_output(output, work_folder, storage_options)
    with ExitStack() as stack:
        [source] = job_inputs(path, stack, storage_options)
        export = Export.read(source)
        reject_output_inside(target, [(source, source.local)])
        staged = stack.enter_context(staging(target, spark))
        storage = StorageOptions(storage_options or {})
        work = partial(_import, source=source.origin, attempts=str(staged.attempts), storage=storage)
        sizes = [sum(size for _, size in part.files) for part in export.parts]
        units = [(part, source.listed(source.local, _files_of(part, source))) for part in export.parts]
        results = run_units(spark, units, sizes, work)
        for folder in export.folders:
            (staged.output / folder).mkdir(parents=True, exist_ok=True)
        for part, (attempt_name, _) in zip(export.parts, results, strict=True):
            staged.take(attempt_name, part.folder)
    return [
        RestoredFile(target.below(part.path_of(number)), size, batches[number])
        for part, (_, batches) in zip(export.parts, results, strict=True)
        for number, (_, size) in enumerate(part.files)
    ]


def _files_of(part: ExportedFiles, source: Location) -> Iterator[Path]:
    for name in (f"{EXACT}/{part.name}", part.rows):
        if name is not None and is_file(path := source.local / name):
            yield path


def _import(
    unit: tuple[ExportedFiles, Sequence[Listed] | None], source: str, attempts: str, storage: StorageOptions
) -> tuple[str, list[int]]:
    """Restore a part of an export. Return the attempt's name and, for each file, the number of rebuilt batches."""
    part, listed = unit
    folder = attempt(attempts)
    with received_folder(source, listed, storage) as location:
        return folder.name, _Files(part, location, folder).write()


class _Files:
    """Restores the log files of one part of an export."""

    def __init__(self, part: ExportedFiles, source: Location, folder: Path) -> None:
        self.part = part
        self.source = source
        self.exact = source.local / EXACT / part.name
        self.folder = folder
        self.records = _Records(source, source.local / part.rows) if part.rows else None
        self.batches = 0

    def write(self) -> list[int]:
        """Write all files. Return, for each file, the number of batches rebuilt from records."""
        pieces = self._pieces()
        piece = next(pieces, None)
        counts = []
        for number, (name, size) in enumerate(self.part.files):
            self.batches = end = 0
            path = self.folder / name
            with path.open("wb") as file:
                while piece is not None and piece["file"] == number and piece["position"] == end:
                    end += piece["size"]
                    if piece["kind"] == ZEROS:
                        file.truncate(end)
                        file.seek(end)
                    else:
                        file.write(self._data(piece))
                    piece = next(pieces, None)
            if end != size:
                self._reject(f"no row contains byte {end} of {name}, or the rows are out of order")
            on_disk(path)
            counts.append(self.batches)
        if piece is not None:
            self._reject("the export has rows after the end of the last exported file")
        return counts

    def _pieces(self) -> Iterator[dict[str, Any]]:
        if not any(size for _, size in self.part.files) and not self.exact.exists():
            return
        for table in _row_groups(self.source, self.exact, PIECES):
            for batch in table.to_batches(max_chunksize=64):
                yield from batch.to_pylist()

    def _data(self, piece: dict[str, Any]) -> bytes:
        kind, data, size = piece["kind"], piece["data"], piece["size"]
        if kind == HEADER and data is not None:
            return self._batch(piece)
        if kind == BYTES and data is not None and len(data) == size:
            return bytes(data)
        self._reject(
            f"the row for byte {piece['position']} must have {size} bytes, but its data (kind {kind!r}) is null or has "
            "another size"
        )

    def _batch(self, piece: dict[str, Any]) -> bytes:
        self.batches += 1
        times = piece["timestamps"]
        header = BatchHeader(piece["format"], piece["data"], piece["size"], None if times is None else tuple(times))
        try:
            records = self.records.at(piece["position"]) if self.records else []
            return rebuilt(header, records).encode()
        except PipelineError:
            raise
        except TagwireError as error:
            where = f"the records of the batch at byte {piece['position']} differ from the exported ones"
            self._reject(f"{where}: {error}")

    def _reject(self, text: str) -> NoReturn:
        file, segment = self.source.name_of(self.exact), self.part.path_of(0)
        raise PipelineError("MALFORMED_LOG_EXPORT", f"{segment} can't be restored from {file}: {text}.")


class _Records:
    """Reads one segment's records from a table file, batch by batch."""

    def __init__(self, source: Location, path: Path) -> None:
        groups = _row_groups(source, path, pa.schema([(name, ROWS[name]) for name in NEEDED]))
        self._batches = groupby(chain.from_iterable(map(_rows, groups)), key=itemgetter(0))
        self._position = -1
        """The position of the batch to which `_found` belongs."""
        self._found: Iterator[tuple[Any, ...]] = iter(())

    def at(self, position: int) -> list[Record]:
        """Return the records of the batch at this position in the log file. Positions must ascend from call to call."""
        while self._position < position:
            self._position, self._found = next(self._batches, (NO_OFFSET, iter(())))
        records = []
        for _, offset, micros, key, value, headers in self._found if self._position == position else ():
            pairs = [(each["key"], each["value"]) for each in headers or ()]
            records.append(Record(offset, -1 if micros is None else micros // 1000, key, value, pairs))
        return records


def _rows(table: Any) -> Iterator[tuple[Any, ...]]:
    """Return a tuple for each row: position of the batch, offset, timestamp in microseconds, key, value, headers."""
    times = table.column("timestamp").cast(pa.int64()).to_pylist()
    position, offset, key, value, headers = (
        table.column(name).to_pylist() for name in ("position", "offset", "key", "value", "headers")
    )
    return zip(position, offset, times, key, value, headers, strict=True)


def _row_groups(source: Location, path: Path, schema: Any) -> Iterator[Any]:
    """Yield a Parquet file's row groups as tables, cast to `schema`. Raises PipelineError if the file can't be read."""
    name = source.name_of(path)
    try:
        state = source.state_of(path) if is_remote(name) and path.is_file() else None
        with ExitStack() as stack:
            where = stack.enter_context(opened_stream(name, state, source.options, in_sequence=False))
            file = stack.enter_context(pq.ParquetFile(where if is_remote(name) else name, pre_buffer=is_remote(name)))
            for number in range(file.num_row_groups):
                # Don't store the table in a variable, which would keep it in memory while the next row group is read.
                yield file.read_row_group(number, columns=schema.names).select(schema.names).cast(schema)
    except (pa.ArrowException, OSError, KeyError, LogPathError) as error:
        if isinstance(error, OSError | LogReadError):
            check_incomplete(name, error)
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise PipelineError("MALFORMED_LOG_EXPORT", f"{name} can't be read: {text}.") from None
