"""The SQL functions `from_message`, `to_message` and `from_record`, which `register` adds to a session.

In SQL, `from_message` returns JSON in the form that Kafka's own tools print. It can't return a struct, because Spark
determines the result type before it sees the message name. A function that returns one message's struct is registered
separately:

    spark.udf.register("from_heartbeat", from_message_udf("HeartbeatRequest", 4))
"""

import json
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, StringType

from tagwire.errors import TagwireError
from tagwire.message import Message
from tagwire_spark.columns.arrow_types import is_bytes, spark_struct
from tagwire_spark.columns.codec import NO_VERSION, encoding, message_class, unversioned
from tagwire_spark.columns.functions import Call, column_function, record_reading
from tagwire_spark.errors import PipelineError, described, of_row, rejection
from tagwire_spark.options import MODES, Options, invalid

Pairs = tuple[tuple[str, str], ...]
Row = tuple[str, int | None, Pairs]
"""The message name, version and options that an SQL function received in one row."""

_FROM_MESSAGE: Final = Call("from_message", ("data", "messageName", "version"), ("options",))
_TO_MESSAGE: Final = Call("to_message", ("value", "messageName", "version"), ("options",))
_FROM_RECORD: Final = Call("from_record", ("data", "log"), ("key", "options"))


def register(spark: SparkSession) -> None:
    """Register `from_message`, `to_message` and `from_record` as SQL functions in a session.

        from_message(data, messageName, version[, options])   JSON, null for null
        to_message(value, messageName, version[, options])    binary; value is a struct, or JSON
        from_record(data, log[, key[, options]])              a struct of message, version, body (JSON) and _error

    `options` is a map with the same options as in the Python functions. docs/spark-messages.md has examples.
    """
    of_record = spark_struct(record_reading("group", {"mode": "PERMISSIVE"}).type)
    functions = (
        (_from_message, StringType(), _FROM_MESSAGE),
        (_to_message, BinaryType(), _TO_MESSAGE),
        (_from_record, of_record, _FROM_RECORD),
    )
    for run, type, call in functions:
        register_one: Any = spark.udf.register
        register_one(call.name, column_function(run, type, call))


# All arguments of the functions below are Arrow arrays of equal length.


def _from_message(data: pa.Array, names: pa.Array, versions: pa.Array, options: pa.Array | None = None) -> pa.Array:
    if not is_bytes(data.type):
        raise _of_type("MALFORMED_KAFKA_MESSAGE", "data", data, "binary")
    rows = _rows(_FROM_MESSAGE, names, versions, options)
    found = [
        None if value is None else _json(number, value, *rows[number]) for number, value in enumerate(data.to_pylist())
    ]
    return pa.array(found, pa.string())


def _json(row: int, data: bytes, name: str, version: int | None, options: Pairs) -> str:
    _check_name(row, name)
    cls, permissive, strict = _known_message(name, options)
    if version is None and permissive:
        return _error_text({"path": "", "offset": None, "reason": NO_VERSION})
    if version is None:
        raise unversioned(name, row)
    try:
        return cls.decode(data, version, strict=strict).to_json_text(version)
    except TagwireError as error:
        if permissive:
            return _error_text(described(error))
        raise of_row(row, rejection(error)) from None


def _error_text(error: Any) -> str:
    return json.dumps({"_error": error}, separators=(",", ":"), ensure_ascii=False)


def _to_message(values: pa.Array, names: pa.Array, versions: pa.Array, options: pa.Array | None = None) -> pa.Array:
    rows = _rows(_TO_MESSAGE, names, versions, options)
    is_there = values.is_valid().to_pylist()
    groups: dict[Row, list[int]] = {}
    for number, row in enumerate(rows):
        if is_there[number]:
            groups.setdefault(row, []).append(number)
    found: list[bytes | None] = [None] * len(rows)
    for row, numbers in groups.items():
        part = values if len(numbers) == len(rows) else values.take(pa.array(numbers))
        for number, encoded in zip(numbers, _encoded(part, numbers, *row), strict=True):
            found[number] = encoded
    return pa.array(found, pa.binary())


def _encoded(
    values: pa.Array, numbers: list[int], name: str, version: int | None, options: Pairs
) -> list[bytes | None]:
    """Encode values of one message type and version. `numbers` contains their row numbers, for error messages."""
    _check_name(numbers[0], name)
    encoder = encoding(name, version, dict(options))
    if version is None:
        if not encoder.permissive:
            raise unversioned(name, numbers[0])
        return [None] * len(values)
    if pa.types.is_struct(values.type):
        encoded: list[bytes | None] = encoder.encode(values, None, lambda row: f"row {numbers[row]}").to_pylist()
        return encoded
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        raise _of_type("UNENCODABLE_KAFKA_MESSAGE", "value", values, "a struct or a JSON string")
    cls = message_class(name, encoder.package)
    result: list[bytes | None] = []
    for number, text in zip(numbers, values.to_pylist(), strict=True):
        try:
            result.append(cls.from_json_text(text, version).encode(version))
        except TagwireError as error:
            if not encoder.permissive:
                raise of_row(number, rejection(error, "UNENCODABLE_KAFKA_MESSAGE")) from None
            result.append(None)
    return result


def _from_record(
    data: pa.Array, logs: pa.Array, keys: pa.Array | None = None, options: pa.Array | None = None
) -> pa.Array:
    if keys is not None and pa.types.is_null(keys.type):
        keys = None
    names, settings = set(logs.to_pylist()), set(_options(options, len(data)))
    if len(names) > 1 or len(settings) > 1:
        raise invalid(f"{_FROM_RECORD}: expected the same log and options in all rows, got different ones.")
    if not len(data):
        names, settings = {"group"}, {()}
    reader = record_reading(names.pop(), dict(settings.pop()))
    return reader.read(data, keys, always_error=True)


def _rows(call: Call, names: pa.Array, versions: pa.Array, options: pa.Array | None) -> list[Row]:
    types = pa.types
    if not (types.is_string(names.type) or types.is_large_string(names.type) or types.is_null(names.type)):
        raise _of_type("INVALID_TAGWIRE_OPTION", "messageName", names, "a string", call)
    if not (types.is_integer(versions.type) or types.is_null(versions.type)):
        raise _of_type("INVALID_TAGWIRE_OPTION", "version", versions, "an integer", call)
    return list(zip(names.to_pylist(), versions.to_pylist(), _options(options, len(names)), strict=True))


def _options(column: pa.Array | None, rows: int) -> list[Pairs]:
    if column is None or pa.types.is_null(column.type):
        return [()] * rows
    if not pa.types.is_map(column.type):
        raise invalid("The options must be a map, such as map('mode', 'PERMISSIVE').")
    return [tuple(each or ()) for each in column.to_pylist()]


@lru_cache(64)
def _known_message(name: str, options: Pairs) -> tuple[type[Message], bool, bool]:
    """Return (message class, is_permissive, is_strict) for a SQL call. Raises PipelineError for invalid arguments."""
    read = Options(dict(options), ("mode", "package", "strict"))
    cls = message_class(name, read.text("package"))
    return cls, read.choice("mode", MODES) == "PERMISSIVE", read.flag("strict", True)


def _check_name(row: int, name: str | None) -> None:
    if name is None:
        raise invalid(f"row {row}: messageName: expected the name of a message, got null.")


def _of_type(condition: str, name: str, column: pa.Array, expected: str, call: Call | None = None) -> PipelineError:
    where = name if call is None else f"{name} of {call}"
    return PipelineError(condition, f"{where}: expected {expected}, got the Arrow type '{column.type}'.")
