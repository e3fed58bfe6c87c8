"""The layout of an export folder, shared by the code that writes exports and the code that reads them.

    OUT/
        topic=orders/partition=0/part-00000.parquet     the records of a segment, as `kafka_log` shows them
        _exact/part-00000                               bytes that can't be rebuilt from the records, as Parquet
        _export.json                                    which log files are in which part

Spark, pyarrow and pandas ignore names that begin with `_`, so they see only the table of records.

A part in `_exact` has one row for each piece of the part's files. A piece is a sequence of bytes, a run of zeros, or
the header of a batch whose records are in the table. The import rebuilds such a batch from its header and records.
"""

import json
from collections.abc import Iterable
from errno import ENOENT
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from tagwire.log.errors import LogReadError
from tagwire.log.whole_folder import on_disk
from tagwire.text_format import encodable
from tagwire_spark.errors import PipelineError, unreadable
from tagwire_spark.files.commit_folder import below
from tagwire_spark.files.storage import Location
from tagwire_spark.log_read.column_table import RECORD_COLUMNS

EXACT: Final = "_exact"
_MANIFEST: Final = "_export.json"
_LEVEL: Final = 1
"""Version of the layout. Increase it if older readers would misread the files."""

HEADER: Final = "header"
BYTES: Final = "bytes"
ZEROS: Final = "zeros"
PIECES: Final = pa.schema(
    [
        ("file", pa.int32()),  # index into ExportedFiles.files
        ("position", pa.int64()),
        ("size", pa.int64()),
        ("kind", pa.string()),
        ("format", pa.string()),
        ("timestamps", pa.list_(pa.int64())),
        ("data", pa.binary()),
    ]
)

_OF_FOLDERS: Final = ("topic", "partition")
_LEFT_OUT: Final = (*_OF_FOLDERS, "headerNames", "_error")
ROWS: Final = {column.name: column.type for column in RECORD_COLUMNS if column.name not in _LEFT_OUT}
"""The columns of the table's files."""
NEEDED: Final = ("key", "value", "offset", "timestamp", "headers", "position")
"""The columns needed to rebuild batches from rows."""
_GROUP_ROWS: Final = 1 << 20
_GROUP_BYTES: Final = 32 << 20
"""Maximum size of a row group in bytes. Export and import keep a whole row group in memory."""


class ExportedFiles(NamedTuple):
    """The log files that one task exports or imports: one segment, or the other files of a folder."""

    number: int
    folder: str
    """The folder that contains the files, relative to the root of the logs. It is empty for the root itself."""
    files: tuple[tuple[str, int], ...]
    rows: str | None = None
    """Path of the file that contains the segment's records, relative to the root of the export, or None."""

    @property
    def name(self) -> str:
        """The part's name in the export, such as part-00000."""
        return f"part-{self.number:05}"

    def path_of(self, file: int) -> str:
        """Return the path of `files[file]`, relative to the root of the logs."""
        return (PurePosixPath(self.folder) / self.files[file][0]).as_posix()


class Export(NamedTuple):
    """The manifest of an export, which lists its parts and folders."""

    parts: tuple[ExportedFiles, ...]
    folders: tuple[str, ...]
    """All folders of the logs, including empty folders."""

    def write(self, folder: Path) -> None:
        facts = {"level": _LEVEL, "folders": self.folders, "parts": [part._asdict() for part in self.parts]}
        (folder / _MANIFEST).write_text(json.dumps(facts), encoding="utf-8")

    @classmethod
    def read(cls, folder: Location) -> "Export":
        """Read the manifest of an export folder. Raises PipelineError if the export is incomplete or invalid."""
        file = folder.local / _MANIFEST
        path = folder.name_of(file)
        try:
            if file.exists():
                folder.bring(file)
            facts = json.loads(file.read_text(encoding="utf-8"))
            level = facts["level"]
            if level == _LEVEL:
                return cls(tuple(map(_part, facts["parts"])), tuple(map(below, facts["folders"])))
        except OSError as error:
            check_incomplete(path, error)
            text = f"{path} can't be read: {error.strerror}; give the folder that contains the whole export"
            raise PipelineError("MALFORMED_LOG_EXPORT", f"{text}.") from None
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            text = f"{path} is not a list of exported files ({type(error).__name__}: {error})"
            raise PipelineError("MALFORMED_LOG_EXPORT", f"{text}.") from None
        text = (
            f"{path}: expected 'level' {_LEVEL}, got {level!r}; read this export with the tagwire version that wrote it"
        )
        raise PipelineError("MALFORMED_LOG_EXPORT", f"{text}.")


def check_incomplete(path: str, error: OSError | LogReadError) -> None:
    """Raise PipelineError (KAFKA_LOG_UNREADABLE) for a read error such as EIO. Ignore a missing or truncated file.

    An OSError without an error number means a truncated file, because pyarrow raises such an error for it.
    """
    if error.errno not in (None, ENOENT):
        reason = error.strerror if isinstance(error, OSError) else error
        raise unreadable(f"{path} can't be read: {reason}", error.errno)


def _part(facts: dict[str, Any]) -> ExportedFiles:
    files = tuple((below(name), int(size)) for name, size in facts["files"])
    for name, _ in files:
        if "/" in name or not name:
            raise ValueError(f"{name!r} is not a file name")
    if not files:
        raise ValueError("a part of the export lists no files")
    rows = None if facts["rows"] is None else below(facts["rows"])
    return ExportedFiles(int(facts["number"]), below(facts["folder"]), files, rows)


def table_folder(topic: str, partition: int) -> str:
    """Return the folder for a partition's records, such as topic=orders/partition=0."""
    escaped = "".join(quote(char, safe=" ") if char.isascii() else char for char in encodable(topic))
    escaped = escaped.replace("__HIVE_", "%5F_HIVE_")  # Spark reads __HIVE_DEFAULT_PARTITION__ as null
    return f"topic={escaped}/partition={partition}"


def column_names(requested: Iterable[str] | None) -> list[str]:
    """Check the requested column names and return them in the table's order; None requests all columns.

    Raises PipelineError for an unknown column, or for an empty list.
    """
    names = list(ROWS) if requested is None else [name for name in requested if name not in _OF_FOLDERS]
    for name in names:
        if name not in ROWS:
            text = f"An export has no column {name}; it has {', '.join(ROWS)}. Topic and partition are always included."
            raise PipelineError("UNKNOWN_COLUMN_OF_SOURCE", text)
    if not names:
        raise PipelineError("UNKNOWN_COLUMN_OF_SOURCE", "The list of columns is empty; name at least one column.")
    return [name for name in ROWS if name in names]


class Table:
    """A writer for a Parquet file with row groups of limited size."""

    def __init__(self, path: Path, schema: Any) -> None:
        self.path = path
        self.schema = schema
        self.rows = 0
        self._writer: Any = None
        self._waiting: list[Any] = []
        self._bytes = self._count = 0

    def add(self, batch: Any) -> None:
        self._waiting.append(batch)
        self._bytes += batch.nbytes
        self._count += batch.num_rows
        self.rows += batch.num_rows
        if self._bytes >= _GROUP_BYTES or self._count >= _GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        if not self._count:
            return
        if self._writer is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(str(self.path), self.schema, compression="zstd")
        self._writer.write_table(pa.Table.from_batches(self._waiting, self.schema), row_group_size=self._count)
        self._waiting, self._bytes, self._count = [], 0, 0

    def close(self) -> int:
        self._flush()
        if self._writer is None:
            return 0
        self._writer.close()
        on_disk(self.path)
        return self.path.stat().st_size

    def abandon(self) -> None:
        """Close and remove the file. An open writer could later write its footer to a new file of the same name."""
        if self._writer is not None:
            self._writer.close()
            self.path.unlink()
