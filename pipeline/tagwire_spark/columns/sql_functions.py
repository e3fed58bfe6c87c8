"""The functions for SQL: `from_message`, `to_message` and `from_record`, once `register` has been called.

Spark asks for the type of a Python function before it sees an argument. So in SQL, `from_message`
can't return the struct of the message that its second argument names: it returns JSON, as Kafka's
own tools print it, for Spark's functions of JSON. A function with the struct of one message is
registered by itself:

    spark.udf.register("from_heartbeat", from_message_udf("HeartbeatRequest", 4))
"""

import json
from functools import lru_cache
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, StringType

from tagwire.errors import TagwireError
from tagwire.message import Message
from tagwire_spark.columns.codec import encoding, message_class
from tagwire_spark.columns.functions import column_function
from tagwire_spark.columns.record_values import in_permissive_mode, record_reading, record_schema
from tagwire_spark.errors import PipelineError, described, refusal
from tagwire_spark.options import MODES, Options, invalid

__all__ = ["register"]

Pairs = tuple[tuple[str, str], ...]


def register(spark: SparkSession) -> None:
    """Make `from_message`, `to_message` and `from_record` functions of SQL in a session.

    from_message(data, messageName, version[, options])   JSON, null for null
    to_message(value, messageName, version[, options])    binary; value is a struct, or JSON
    from_record(data, log[, key[, options]])              a struct of message, version, body (JSON) and _error

    `options` is a map of those of the functions of Python. docs/spark.md has examples.
    """
    made = {
        "from_message": column_function(_from_message, StringType(), "from_message"),
        "to_message": column_function(_to_message, BinaryType(), "to_message"),
        "from_record": column_function(
            _from_record, record_schema(in_permissive_mode(record_reading("group", None))), "from_record"
        ),
    }
    for name, function in made.items():
        register_one: Any = spark.udf.register
        register_one(name, function)


# Spark passes each argument as an Arrow array; the same functions take any number of them.


def _from_message(*arguments: pa.Array) -> pa.Array:
    data, rows = _arguments("from_message(data, messageName, version[, options])", arguments)
    found = []
    for row, (value, (name, version, options)) in enumerate(zip(data.to_pylist(), rows, strict=True)):
        found.append(None if value is None else _json(row, value, name, version, options))
    return pa.array(found, pa.string())


def _json(row: int, data: bytes, name: str, version: int, options: Pairs) -> str:
    cls, permissive, strict = _message(name, options)
    try:
        return cls.decode(data, version, strict=strict).to_json_text(version)
    except TagwireError as error:
        if permissive:
            return _error_text(error)
        raise _of_row(row, name, version, refusal(error)) from None


def _error_text(error: TagwireError) -> str:
    return json.dumps({"_error": described(error)}, separators=(",", ":"), ensure_ascii=False)


def _to_message(*arguments: pa.Array) -> pa.Array:
    values, rows = _arguments("to_message(value, messageName, version[, options])", arguments)
    groups: dict[Any, list[int]] = {}
    for row, key in enumerate(rows):
        groups.setdefault(key, []).append(row)
    found: list[bytes | None] = [None] * len(rows)
    for (name, version, options), places in groups.items():
        part = values if len(groups) == 1 else values.take(pa.array(places))
        for place, encoded in zip(places, _encoded(part, name, version, options), strict=True):
            found[place] = encoded
    return pa.array(found, pa.binary())


def _encoded(values: pa.Array, name: str, version: int, options: Pairs) -> list[bytes | None]:
    wanted = encoding(name, version, dict(options))
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        encoded: list[bytes | None] = wanted.encode(values).to_pylist()
        return encoded
    cls, made = message_class(name, wanted.package), []
    for row, text in enumerate(values.to_pylist()):
        try:
            made.append(None if text is None else cls.from_json_text(text, version).encode(version))
        except TagwireError as error:
            if not wanted.permissive:
                raise _of_row(row, name, version, refusal(error, "UNENCODABLE_KAFKA_MESSAGE")) from None
            made.append(None)
    return made


def _from_record(*arguments: pa.Array) -> pa.Array:
    call = "from_record(data, log[, key[, options]])"
    if not 2 <= len(arguments) <= 4:
        raise invalid(f"{len(arguments)} arguments were given to {call}.")
    data, logs = arguments[:2]
    keys, options = [*arguments[2:], None, None][:2]
    if keys is not None and pa.types.is_null(keys.type):
        keys = None
    names, settings = set(logs.to_pylist()), set(_options(options, len(data)))
    if len(names) > 1 or len(settings) > 1:
        raise invalid(f"The log and the options of {call} are the same for all rows; here the rows differ.")
    if not len(data):
        names, settings = {"group"}, {()}
    wanted = record_reading(names.pop(), dict(settings.pop()))
    return wanted.read(data, keys, always_error=True)


def _arguments(call: str, arguments: tuple[pa.Array, ...]) -> tuple[pa.Array, list[tuple[str, int, Pairs]]]:
    """The first argument of a function, and what the others are for each row. Raises PipelineError."""
    if not 3 <= len(arguments) <= 4:
        raise invalid(f"{len(arguments)} arguments were given to {call}.")
    data, names, versions, *options = arguments
    if names.null_count or versions.null_count or not pa.types.is_integer(versions.type):
        raise invalid(f"messageName or version is null, or no integer; expected {call}.")
    settings = _options(options[0] if options else None, len(data))
    return data, list(zip(names.to_pylist(), versions.to_pylist(), settings, strict=True))


def _options(column: pa.Array | None, rows: int) -> list[Pairs]:
    """The options of each row, as pairs."""
    if column is None or pa.types.is_null(column.type):
        return [()] * rows
    if not pa.types.is_map(column.type):
        raise invalid("The options are no map; expected map('mode', 'PERMISSIVE'), for example.")
    return [tuple(each or ()) for each in column.to_pylist()]


@lru_cache(64)
def _message(name: str, options: Pairs) -> tuple[type[Message], bool, bool]:
    """The class, whether errors are rows, and whether reading is strict. Raises PipelineError."""
    read = Options(dict(options), ("mode", "package", "strict"))
    cls = message_class(name, read.text("package"))
    return cls, read.choice("mode", MODES) == "PERMISSIVE", read.flag("strict", True)


def _of_row(row: int, name: str, version: int, error: PipelineError) -> PipelineError:
    return PipelineError(error.condition, f"row {row}: {name} v{version}: {error.text}")
