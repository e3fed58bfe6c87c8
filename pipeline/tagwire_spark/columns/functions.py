"""The functions of the Python API, for columns and for whole DataFrames. They work like Spark's `from_protobuf`.

    from_message(data, "MetadataRequest", 12)       decodes binary to a struct
    to_message(struct, "MetadataRequest", 12)       encodes a struct to binary
    schema_of_message("MetadataRequest", 12)        returns the struct's type
    from_record(value, "group", key)                decodes a record of a coordinator or metadata log
    decode_messages(df, "MetadataRequest", 12)      decodes the messages in a whole DataFrame
    in_log_order(df)                                sorts rows for a write

Each function processes whole Arrow columns. `decode_messages` is faster than `from_message`, because Spark sends the
bytes to the worker only once. It sends all columns of its result through a Python worker, so keep only the columns that
you need.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import col
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BinaryType, DataType, StructField, StructType

from tagwire.errors import TagwireError
from tagwire.frames.record_frames import COORDINATOR_LOGS, METADATA_LOGS
from tagwire.message import Message
from tagwire_spark.columns.arrow_types import ERROR_TYPE, is_bytes, spark_struct
from tagwire_spark.columns.codec import Decoding, Encoding, RowName, decoding, encoding
from tagwire_spark.columns.packages import find_registry
from tagwire_spark.errors import PipelineError, described, of_row, rejection
from tagwire_spark.options import MODES, Options, invalid
from tagwire_spark.session import settle_worker

# Decode a column of coordinator or metadata log records to structs with type, version, and fields as JSON.
#
# The fields are JSON, because each record has its own message type and version, so no single struct fits all.

_FIELDS: Final = (("message", pa.string()), ("version", pa.int32()), ("body", pa.string()))


class RecordReading(NamedTuple):
    """The options for decoding log records."""

    log: str
    package: str
    permissive: bool
    strict: bool

    @property
    def type(self) -> Any:
        return pa.struct([*_FIELDS, ("_error", ERROR_TYPE)] if self.permissive else list(_FIELDS))

    def read(self, data: Any, keys: Any = None, *, always_error: bool = False) -> Any:
        """Decode a column of records. Values in a coordinator log can be decoded only with their `keys`.

        If `always_error` is true, the structs have a field `_error` even in FAILFAST mode. Raises PipelineError for a
        column that isn't binary and, in FAILFAST mode, for an invalid record.
        """
        for name, column in (("data", data), ("key", keys)):
            if column is not None and not is_bytes(column.type):
                text = f"{name}: expected binary, got the Arrow type '{column.type}'."
                raise PipelineError("MALFORMED_KAFKA_RECORD", text)
        registry = find_registry(self.package)
        # Pass b"" for a null key: if the key were None, `decode_record` would take the value for a key.
        all_keys = [None] * len(data) if keys is None else [key or b"" for key in keys.to_pylist()]
        return pa.array(
            [
                None if value is None else self._row(registry, row, value, key)
                for row, (value, key) in enumerate(zip(data.to_pylist(), all_keys, strict=True))
            ],
            self._replace(permissive=True).type if always_error else self.type,
        )

    def _row(self, registry: Any, row: int, value: bytes, key: bytes | None) -> dict[str, Any]:
        try:
            frame = registry.decode_record(value, self.log, key, strict=self.strict)
        except TagwireError as error:
            if not self.permissive:
                raise of_row(row, rejection(error, "MALFORMED_KAFKA_RECORD")) from None
            return {"_error": described(error)}
        body = json.dumps(frame.message.to_json(frame.version), separators=(",", ":"), ensure_ascii=False)
        return {"message": frame.message.NAME, "version": frame.version, "body": body}


def record_reading(log: str, options: Any) -> RecordReading:
    """Validate the options and return a RecordReading. Raises PipelineError for an unknown log, package or option."""
    read = Options(options, ("mode", "package", "strict"))
    logs = (*COORDINATOR_LOGS, *METADATA_LOGS)
    if log not in logs:
        raise invalid(f"Unknown log {log!r}; expected {' or '.join(logs)}.")
    find_registry(read.text("package"))
    return RecordReading(
        log, read.text("package"), read.choice("mode", MODES) == "PERMISSIVE", read.flag("strict", True)
    )


_LOCATION: Final = ("file", "topic", "partition", "offset", "position")
"""The columns of `kafka_log` that locate a record."""

ColumnOrName: TypeAlias = "Column | str"
Fields: TypeAlias = "Iterable[str] | None"
OptionValues: TypeAlias = "Mapping[str, str] | None"


def from_message(
    data: ColumnOrName,
    messageName: "str | type[Message]",
    version: "int | ColumnOrName",
    options: OptionValues = None,
    *,
    fields: Fields = None,
) -> Column:
    """Decode a column of encoded messages to a column of structs. Null stays null.

    `messageName` is a message class, or the name of a message in the package that option `package` names (default:
    Kafka's messages). `version` is a number or a column of numbers. For a column, the struct has the fields of all
    versions, or only of the versions in the option `versions`, such as "3-9". If the version of a row lacks a field,
    the field has its default in this row. `fields` selects fields by dotted paths; all other fields are checked, but
    not returned.

    Option `mode` is FAILFAST (default) or PERMISSIVE. In FAILFAST mode, invalid bytes fail the query. In PERMISSIVE
    mode, a row that can't be decoded has null fields and an `_error` (path, offset, reason). The other options are
    `strict`, true (default) or false, and `unknown.tagged.fields`, drop (default) or binary. Raises PipelineError at
    once for an unknown message, version, field or option.
    """
    number, columns = _version(version)
    decoder = decoding(messageName, number, options, fields)
    # The cast adds the documentation of the fields as comments.
    return _decoder(decoder)(data, *columns).cast(decoder.commented())


def to_message(
    data: ColumnOrName,
    messageName: "str | type[Message]",
    version: "int | ColumnOrName",
    options: OptionValues = None,
) -> Column:
    """Encode a column of structs to a column of messages. Null stays null.

    Fields that the structs lack are encoded with their defaults. In `mode` PERMISSIVE, structs that can't be encoded
    become null. `package` and `versions` work as in `from_message`. Raises PipelineError for invalid arguments.
    """
    number, columns = _version(version)
    return to_message_udf(messageName, number, options)(data, *columns)


def schema_of_message(
    messageName: "str | type[Message]",
    version: int | None = None,
    options: OptionValues = None,
    *,
    fields: Fields = None,
    nullable: bool = True,
) -> StructType:
    """Return the type of the structs that `from_message` returns for the same arguments.

    `version` is None if `from_message` gets a column of versions. Each field has its documentation as a comment. If
    `nullable` is false, fields that the spec never allows to be null are NOT NULL, which makes reading faster.
    """
    schema: StructType = decoding(messageName, version, options, fields).commented(nullable=nullable)
    return schema


def from_record(
    data: ColumnOrName, log: str, key: "ColumnOrName | None" = None, options: OptionValues = None
) -> Column:
    """Decode a column of log records to structs with `message` (a message name), `version` and `body` (JSON).

    `log` is group, transaction, share, cluster or remote-log. For the first three (coordinator logs), `data` is a
    column of keys, or a column of values with their keys in `key`. Null, which is a tombstone, stays null. Options:
    `mode`, `package`, `strict`. In PERMISSIVE mode, the struct also has `_error`.
    """
    return from_record_udf(log, options)(*([data] if key is None else [data, key]))


def from_message_udf(
    messageName: "str | type[Message]",
    version: int | None = None,
    options: OptionValues = None,
    *,
    fields: Fields = None,
) -> "Callable[..., Column]":
    """Return `from_message` for one message as a UDF, which can be called on columns or registered for SQL.

    If `version` is None, the UDF's second argument is a column of versions. Raises PipelineError for invalid arguments.
    """
    return _decoder(decoding(messageName, version, options, fields))


def to_message_udf(
    messageName: "str | type[Message]", version: int | None = None, options: OptionValues = None
) -> "Callable[..., Column]":
    """Return `to_message` for one message as a UDF, which can be called on columns or registered for SQL.

    If `version` is None, the UDF's second argument is a column of versions. Raises PipelineError for invalid arguments.
    """
    encoder = encoding(messageName, version, options)
    return column_function(encoder.encode, BinaryType(), _call("to_message", encoder))


def from_record_udf(log: str, options: OptionValues = None) -> "Callable[..., Column]":
    """Return `from_record` for one log as a UDF. It takes a column of records and, optionally, a column of keys.

    Raises PipelineError for an unknown log or invalid options.
    """
    reader = record_reading(log, options)
    return column_function(reader.read, spark_struct(reader.type), Call("from_record", ("data",), ("key",)))


def _version(version: "int | ColumnOrName") -> tuple[int | None, list[ColumnOrName]]:
    """Return (number, []) for a fixed version, or (None, [column]) for a column of versions."""
    if isinstance(version, bool) or not isinstance(version, int | str | Column):
        raise invalid(f"version: expected a number, a column or a column's name, got {version!r}.")
    return (version, []) if isinstance(version, int) else (None, [version])


def _decoder(decoder: Decoding) -> "Callable[..., Column]":
    return column_function(decoder.decode, decoder.schema, _call("from_message", decoder))


def _call(name: str, codec: Decoding | Encoding) -> "Call":
    return Call(name, ("data",) if codec.version is not None else ("data", "version"))


class Call(NamedTuple):
    """The name and parameters of an SQL function. Spark doesn't check the number of arguments."""

    name: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()

    def check(self, count: int) -> None:
        if not 0 <= count - len(self.required) <= len(self.optional):
            raise invalid(f"Expected {self}, got {count} {'argument' if count == 1 else 'arguments'}.")

    def __str__(self) -> str:
        optional = "".join(f"[, {each}" for each in self.optional) + "]" * len(self.optional)
        return f"{self.name}({', '.join(self.required)}{optional})"


def column_function(run: Callable[..., Any], type: DataType, call: Call) -> "Callable[..., Column]":
    """Return a UDF that processes Arrow columns. Spark names the result column after the UDF and its arguments."""

    def settled(*columns: pa.Array) -> pa.Array:  # Spark requires these type hints
        call.check(len(columns))  # Spark accepts any number of arguments
        settle_worker()
        return run(*columns)

    settled.__name__ = call.name
    make: Any = arrow_udf  # the type stubs don't allow `*columns`
    function: Callable[..., Column] = make(settled, type)

    @wraps(function)  # Spark needs these attributes to register a UDF
    def checked(*columns: ColumnOrName) -> Column:
        call.check(len(columns))
        return function(*columns)

    return checked


def decode_messages(
    df: DataFrame,
    messageName: "str | type[Message]",
    version: "int | str",
    options: Mapping[str, str] | None = None,
    *,
    data: str = "value",
    fields: Iterable[str] | None = None,
    into: str | None = "message",
    keep: Iterable[str] | None = None,
) -> DataFrame:
    """Decode the messages in the column `data` of a DataFrame into a struct column `into`.

    If `into` is None, each field of the message becomes a column. `keep` lists the other columns of the result, by
    default all but `data`. `version` is a number or a column name; the other arguments are as in `from_message`. If
    `keep` has location columns of `kafka_log` (file, topic, partition, offset, position), errors name the record's
    location. Raises PipelineError for invalid arguments.
    """
    if isinstance(version, bool) or not isinstance(version, int | str):
        raise invalid(f"version: expected a number, or the name of a column, got {version!r}.")
    number, names = (version, []) if isinstance(version, int) else (None, [version])
    decoder = decoding(messageName, number, options, fields)
    kept = [name for name in df.columns if name != data] if keep is None else list(dict.fromkeys(keep))
    indexes = {name: index for index, name in enumerate(dict.fromkeys((data, *names, *kept)))}
    source = df.select(*_columns(df, indexes))
    inner = decoder.schema
    added = list(inner.fields) if into is None else [StructField(into, inner)]
    twice = set(kept) & {field.name for field in added}
    if twice:
        raise invalid(
            f"These columns would be duplicated: {', '.join(sorted(twice))}; rename them, or leave them out of `keep`."
        )
    there = [source.schema[indexes[name]] for name in kept]
    schema = StructType([*(StructField(n, f.dataType, f.nullable) for n, f in zip(kept, there, strict=True)), *added])
    version_index = indexes[names[0]] if names else None
    return source.mapInArrow(_mapping(decoder, version_index, {name: indexes[name] for name in kept}, into), schema)


def _columns(df: DataFrame, names: Iterable[str]) -> list[Column]:
    """Select columns by name, and rename them to _0, _1, ... Raises PipelineError for missing or duplicate columns.

    The new names have no dots: Spark's `mapInArrow` would interpret a dot as access to a struct field.
    """
    there = df.columns
    for name in names:
        if name not in there:
            raise invalid(f"There is no column {name!r}; the DataFrame has {', '.join(there)}.")
        if there.count(name) > 1:
            raise invalid(f"Column {name!r} exists {there.count(name)} times; drop or rename all but one.")
    return [col("`" + name.replace("`", "``") + "`").alias(f"_{index}") for index, name in enumerate(names)]


def _mapping(decoder: Decoding, version: int | None, kept: Mapping[str, int], into: str | None) -> Any:
    """Return the function that `mapInArrow` runs on workers. It decodes the first column of each Arrow batch."""

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle_worker()
        for batch in batches:
            versions = None if version is None else batch.column(version)
            structs = decoder.decode(batch.column(0), versions, _row_name(batch, kept))
            rows = pa.record_batch([structs], [into]) if into is not None else pa.RecordBatch.from_struct_array(structs)
            for number, (name, index) in enumerate(kept.items()):
                rows = rows.add_column(number, name, batch.column(index))
            yield rows

    return decode


def _row_name(batch: pa.RecordBatch, kept: Mapping[str, int]) -> RowName | None:
    """Return a function that describes a row by its location, such as file and offset, for error messages.

    Returns None if there is neither an offset nor a position column.
    """
    columns = {name: batch.column(kept[name]) for name in _LOCATION if name in kept}
    if "offset" not in columns and "position" not in columns:
        return None
    return lambda row: ", ".join(f"{name} {column[row].as_py()}" for name, column in columns.items())


def in_log_order(df: DataFrame) -> DataFrame:
    """Arrange rows for a write to `kafka_log`, so that each partition is in one task and sorted by offset.

    This causes a shuffle. Rows that were read from a log, or grouped by topic and partition, don't need this call.
    """
    keys = [name for name in ("topic", "partition") if name in df.columns]
    order = [*keys, *(name for name in ("offset",) if name in df.columns)]
    moved = df.repartition(*keys) if keys else df.coalesce(1)
    return moved.sortWithinPartitions(*order) if order else moved
