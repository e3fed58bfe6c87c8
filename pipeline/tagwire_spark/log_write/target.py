"""Parse the options of a write to `kafka_log`, and check its columns.

Columns have the same names as in a read, so rows that were read can be written again. Only `value` is required. An
option sets a value for all records; a column sets it for each record. If there is neither, records get the default
of a Kafka producer.
"""

from typing import Any, Final, NamedTuple

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from tagwire.errors import TagwireError
from tagwire.log.convert import Conversion
from tagwire_spark.columns.schema_check import columns_of
from tagwire_spark.errors import PipelineError, rejections
from tagwire_spark.files.local_files import local_path
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions, output_url
from tagwire_spark.log_read.query import OF_BROKERS, paths_of, storage_options
from tagwire_spark.options import Options, invalid

WRITE_OPTIONS: Final = (
    *("path", "recordFormat", "compression", "batchBytes", "batchRecords", "segmentBytes"),
    *("topic", "ifExists", "partitionOverwriteMode", "batchId", "queryId", "storageOptions"),
    "leftoverHours",
)
_OF_BATCHES: Final = ("ifExists", "batchId", "queryId")
"""Options that a stream writer rejects."""
_OF_STREAMS: Final = ("checkpointLocation", "queryName")
"""Spark's own options for streams, which are ignored here."""
_BATCH_BYTES: Final = 16384
_SEGMENT_BYTES: Final = 1 << 30
_LEFTOVER_HOURS: Final = 168
_MOST: Final = 0x7FFFFFFF
"""The largest position that an index can contain."""

_INTEGERS: Final = (ByteType, ShortType, IntegerType, LongType)
_BYTES: Final = (BinaryType, StringType)
COLUMNS: Final[dict[str, tuple[type[DataType], ...]]] = {
    "key": _BYTES,
    "value": _BYTES,
    "topic": (StringType,),
    "partition": _INTEGERS,
    "offset": _INTEGERS,
    "timestamp": (TimestampType,),
    "timestampType": _INTEGERS,
    "headers": (ArrayType,),
    "tombstone": (BooleanType,),
    "format": (StringType,),
    "compression": (StringType,),
    "baseOffset": _INTEGERS,
    "partitionLeaderEpoch": _INTEGERS,
    "producerId": _INTEGERS,
    "producerEpoch": _INTEGERS,
    "isTransactional": (BooleanType,),
    "isControl": (BooleanType,),
    "sequence": _INTEGERS,
    "magic": _INTEGERS,
    "file": (StringType,),
    "position": _INTEGERS,
    "headerNames": (ArrayType,),
}
"""The allowed columns, with their types. The last four are ignored."""
SPELLED: Final = {name.lower(): name for name in COLUMNS}
"""Maps lower-case column names to names in `COLUMNS`, because Spark ignores the case of names."""

_HEADERS: Final = "includeHeaders"
"""This option has no effect, because headers are written whenever there is a headers column."""


class LogTarget(NamedTuple):
    """The log folder or URL to write to, and the options of the write.

    If an option is None, a column or a default applies.
    """

    root: str
    format: str | None = None
    compression: str | None = None
    batch_bytes: int | None = None
    batch_records: int | None = None
    segment_bytes: int = _SEGMENT_BYTES
    topic: str | None = None
    must_be_new: bool = False
    """Whether a write to an existing partition is an error."""
    replaces_others: bool = True
    """Whether overwriting also removes partitions that are not written."""
    leftover_hours: int = _LEFTOVER_HOURS
    """Age in hours at which hidden folders of killed writes are removed."""
    batch_id: int | None = None
    """The number of the micro-batch, or None if the write is not a micro-batch."""
    query_id: str = ""
    """The ID of the micro-batch's query. If it is empty, Spark's ID is used."""
    storage: StorageOptions = NO_OPTIONS

    @property
    def keeps_batches(self) -> bool:
        """Whether columns such as baseOffset, not options, determine where a batch ends."""
        return self.batch_bytes is None and self.batch_records is None

    @property
    def most_bytes(self) -> int:
        """The maximum size of a batch with several records, in bytes before compression."""
        return self.batch_bytes or (_MOST if self.batch_records else _BATCH_BYTES)


def log_target(options: Any, *, is_stream: bool = False) -> LogTarget:
    """Parse the options of a write. Raises PipelineError for unknown, invalid or contradictory options."""
    names: tuple[str, ...] = WRITE_OPTIONS
    if is_stream:
        names = (*(name for name in WRITE_OPTIONS if name not in _OF_BATCHES), *_OF_STREAMS)
    read = Options(options, (*names, _HEADERS), OF_BROKERS)
    read.flag(_HEADERS)
    [path] = paths_of(read)
    with rejections():
        root = output_url(path) or str(local_path(path))
    batch_id = read.number("batchId", 0)
    if batch_id is None and read.has("queryId"):
        raise invalid("Option queryId is given without batchId, the number of the query's micro-batch; set both.")
    to, codec = (read.text(name) or None for name in ("recordFormat", "compression"))
    try:
        Conversion(to, codec)
    except TagwireError as error:
        raise invalid(f"Option recordFormat or compression: {error}.") from None
    return LogTarget(
        root=root,
        format=to,
        compression=codec,
        batch_bytes=read.size("batchBytes", 1, _MOST),
        batch_records=read.size("batchRecords", 1, _MOST),
        segment_bytes=read.size("segmentBytes", 1, _MOST) or _SEGMENT_BYTES,
        topic=read.text("topic") or None,
        must_be_new=read.choice("ifExists", ("append", "error")) == "error",
        replaces_others=read.choice("partitionOverwriteMode", ("static", "dynamic")) == "static",
        leftover_hours=read.number("leftoverHours", 1) or _LEFTOVER_HOURS,
        batch_id=batch_id,
        query_id=read.text("queryId"),
        storage=storage_options(read),
    )


def check_columns(schema: StructType, target: LogTarget) -> None:
    """Raise PipelineError if a DataFrame lacks required columns, or has columns that the write would ignore."""
    found = columns_of("kafka_log", schema, COLUMNS)
    for name, field in found.items():
        types = COLUMNS[name]
        if not isinstance(field.dataType, (*types, NullType)) or not _is_headers(name, field.dataType):
            expected = "array<struct<key:string,value:binary>>"
            if name != "headers":
                expected = " or ".join(each().simpleString() for each in types)
            text = f"Column {field.name}: expected {expected}, got {field.dataType.simpleString()}."
            raise PipelineError("UNKNOWN_COLUMN_OF_SOURCE", text)
    if "value" not in found:
        text = f"Column 'value' is missing; got columns {', '.join(schema.names)}."
        raise PipelineError("UNKNOWN_COLUMN_OF_SOURCE", text)
    if "topic" not in found and target.topic is None:
        raise invalid("The topic is missing; add column 'topic', or set option 'topic'.")


def _is_headers(name: str, type: DataType) -> bool:
    if name != "headers" or isinstance(type, NullType):
        return True
    return isinstance(type, ArrayType) and type.elementType.simpleString() == "struct<key:string,value:binary>"
