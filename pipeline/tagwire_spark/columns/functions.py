"""Functions for columns, in the manner of Spark's `from_protobuf`.

    from_message(data, "MetadataRequest", 12)       binary to a struct
    to_message(struct, "MetadataRequest", 12)       and back
    schema_of_message("MetadataRequest", 12)        the struct's type
    from_record(value, "group", key)                records of coordinator and metadata logs

Each is a function of whole Arrow columns. A struct that goes through such a
function costs Spark more than columns that go through `decode_messages`.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.functions import col
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BinaryType, DataType, StructType

from tagwire.message import Message
from tagwire_spark.columns.codec import Decoding, Encoding, decoding, encoding
from tagwire_spark.columns.record_values import RecordReading, record_reading, record_schema
from tagwire_spark.options import invalid
from tagwire_spark.worker import settle_worker

__all__ = [
    "Call",
    "column_function",
    "from_message",
    "from_message_udf",
    "from_record",
    "from_record_udf",
    "schema_of_message",
    "to_message",
    "to_message_udf",
]

ColumnOrName: TypeAlias = "Column | str"
Fields: TypeAlias = "Iterable[str] | None"
Options: TypeAlias = "Mapping[str, str] | None"


def from_message(
    data: ColumnOrName,
    messageName: "str | type[Message]",
    version: "int | ColumnOrName",
    options: Options = None,
    *,
    fields: Fields = None,
) -> Column:
    """Decode a column of encoded messages to a column of structs. Null stays null.

    `messageName` is a name in the package of the option `package` (Kafka's own
    by default), or a message class. `version` is a number, or a column of them;
    then the struct has the fields of all versions, or of those in the option
    `versions` ("3-9"), and what a version lacks has its default. `fields`
    chooses by dotted paths; the others are checked, and not kept.

    Options: `mode` FAILFAST (default) or PERMISSIVE, where a row that can't be
    decoded has null fields and `_error` (path, offset, reason); `strict` true
    (default) or false; `unknown.tagged.fields` drop (default) or binary.

    Raises PipelineError at once for a message, version, field or option that
    there is not; bytes that are wrong fail the query in FAILFAST.
    """
    number, columns = _version(version)
    wanted = decoding(messageName, number, options, fields)
    # The cast changes no bytes: it gives the fields their comments.
    return _decoder(wanted)(_column(data), *columns).cast(wanted.commented)


def to_message(
    data: ColumnOrName,
    messageName: "str | type[Message]",
    version: "int | ColumnOrName",
    options: Options = None,
) -> Column:
    """Encode a column of structs to a column of messages. Null stays null.

    Fields that the structs lack have their defaults. Options: `mode`, where
    PERMISSIVE makes null of what the version can't carry; `package`, `versions`
    as in `from_message`. Raises PipelineError.
    """
    number, columns = _version(version)
    wanted = encoding(messageName, number, options)
    return _encoder(wanted)(_column(data), *columns)


def schema_of_message(
    messageName: "str | type[Message]",
    version: int | None = None,
    options: Options = None,
    *,
    fields: Fields = None,
    nullable: bool = True,
) -> StructType:
    """The type of what `from_message` gives for the same arguments; without a version, that for a column of them.

    With `nullable=False` a field is NOT NULL wherever the spec lets it be null
    in no version: what the schema of a read may ask for, and is faster by.
    """
    found = decoding(messageName, version, options, fields)
    return found.schema if nullable else found.strict_schema


def from_record(data: ColumnOrName, log: str, key: "ColumnOrName | None" = None, options: Options = None) -> Column:
    """Decode a column of log records to a struct of `message` (its name), `version` and `body` (JSON).

    `log` is group, transaction or share (coordinator logs: a column of keys, or
    one of values and `key` with the column of their keys), cluster or
    remote-log. Null, which is a tombstone, stays null. Options: `mode`,
    `package`, `strict`. In PERMISSIVE the struct has `_error` as well.
    """
    wanted = record_reading(log, options)
    columns = [_column(data)] if key is None else [_column(data), _column(key)]
    return _record_reader(wanted)(*columns)


def from_message_udf(
    messageName: "str | type[Message]",
    version: int | None = None,
    options: Options = None,
    *,
    fields: Fields = None,
) -> "Callable[..., Column]":
    """`from_message` of one message as a UDF: to call with a column, or to register by a name for SQL.

    Without a version, it takes a column of versions as well. Raises PipelineError.
    """
    return _decoder(decoding(messageName, version, options, fields))


def to_message_udf(
    messageName: "str | type[Message]", version: int | None = None, options: Options = None
) -> "Callable[..., Column]":
    """`to_message` of one message as a UDF, as `from_message_udf`. Raises PipelineError."""
    return _encoder(encoding(messageName, version, options))


def from_record_udf(log: str, options: Options = None) -> "Callable[..., Column]":
    """`from_record` of one log as a UDF: of a column, or one of values and one of their keys. Raises PipelineError."""
    return _record_reader(record_reading(log, options))


def _column(column: ColumnOrName) -> Column:
    return col(column) if isinstance(column, str) else column


def _version(version: "int | ColumnOrName") -> tuple[int | None, list[Column]]:
    """The number of all rows, or the column of each row's."""
    if isinstance(version, bool) or not isinstance(version, int | str | Column):
        raise invalid(f"version: expected a number, a column or a column's name, got {version!r}.")
    return (version, []) if isinstance(version, int) else (None, [_column(version)])


def _decoder(wanted: Decoding) -> "Callable[..., Column]":
    return column_function(wanted.decode, wanted.schema, _call("from_message", wanted))


def _encoder(wanted: Encoding) -> "Callable[..., Column]":
    return column_function(wanted.encode, BinaryType(), _call("to_message", wanted))


def _call(name: str, wanted: Decoding | Encoding) -> "Call":
    return Call(name, ("data",) if wanted.version is not None else ("data", "version"))


def _record_reader(wanted: RecordReading) -> "Callable[..., Column]":
    return column_function(wanted.read, record_schema(wanted), Call("from_record", ("data",), ("key",)))


class Call(NamedTuple):
    """How a function is called. Spark passes on whatever number of columns it is given."""

    name: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()

    def check(self, count: int) -> None:
        """Raise PipelineError for a number of arguments that the function does not take."""
        if not 0 <= count - len(self.required) <= len(self.optional):
            raise invalid(f"{count} {'argument was' if count == 1 else 'arguments were'} given to {self}.")

    def __str__(self) -> str:
        optional = "".join(f"[, {each}" for each in self.optional) + "]" * len(self.optional)
        return f"{self.name}({', '.join(self.required)}{optional})"


def column_function(run: Callable[..., Any], type: DataType, call: Call) -> "Callable[..., Column]":
    """A UDF of whole Arrow columns. Spark calls a column that it makes by its name and arguments."""

    def settled(*columns: pa.Array) -> pa.Array:  # the hints say to Spark which kind of function this is
        call.check(len(columns))  # SQL calls it by itself
        settle_worker()
        return run(*columns)

    settled.__name__ = call.name
    make: Any = arrow_udf  # its overloads want a number that Spark itself finds out
    made: Callable[..., Column] = make(settled, type)

    @wraps(made)  # with all that Spark asks of a UDF that is registered
    def checked(*columns: ColumnOrName) -> Column:
        call.check(len(columns))
        return made(*columns)

    return checked
