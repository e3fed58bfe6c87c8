"""Arrow columns as Spark wants them.

Spark knows no binary of fixed size and no unsigned numbers, its times count
microseconds, its decimals end at 38 digits, and it takes a column only if its
type is the declared one to the letter. A field that no version of a message lets be null
is NOT NULL for Spark as well, which then makes rows without asking for nulls:
a sixth of what a query over such columns costs. Not so within a struct that
may be null itself: there Spark's `toArrow` would fail.
"""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import DataType, DecimalType, StructType

from tagwire_spark.errors import PipelineError

__all__ = [
    "ERROR_TYPE",
    "arrow_schema",
    "fitted",
    "has_other_bytes",
    "in_type",
    "is_bytes",
    "may_be_null",
    "spark_side",
    "spark_type",
    "with_error",
]

ERROR_TYPE = pa.struct([("path", pa.string()), ("offset", pa.int64()), ("reason", pa.string())])
"""Of `_error`: the field, the byte, and what is wrong."""

_DIGITS: Final = 38
"""The most that a decimal of Spark's has."""


def spark_side(type: Any) -> Any:
    """The Arrow type in which Spark takes a column of this Arrow type."""
    if pa.types.is_struct(type):
        fields = [pa.field(field.name, spark_side(field.type), field.nullable) for field in type]
        return pa.struct([may_be_null(field) if field.nullable else field for field in fields])
    if pa.types.is_map(type):
        return pa.map_(
            spark_side(type.key_type), pa.field("value", spark_side(type.item_type), type.item_field.nullable)
        )
    if pa.types.is_list(type):
        return pa.list_(pa.field("element", spark_side(type.value_type), type.value_field.nullable))
    return _spark_value(type)


def _spark_value(type: Any) -> Any:
    """The Arrow type in which Spark takes values that hold no others."""
    if pa.types.is_fixed_size_binary(type):
        return pa.binary()
    if pa.types.is_uint64(type):
        return pa.decimal128(20, 0)
    if pa.types.is_timestamp(type):
        return pa.timestamp("us", tz=type.tz)
    return pa.duration("us") if pa.types.is_duration(type) else type


def may_be_null(field: Any) -> Any:
    """The field as one that may be null; if it is a struct, all in it as well.

    Arrow casts no struct that is null if something in it is NOT NULL, and so Spark's `toArrow` fails on one.
    """
    type = field.type
    if pa.types.is_struct(type):
        type = pa.struct([may_be_null(each) for each in type])
    return pa.field(field.name, type)


def spark_type(type: Any) -> DataType:
    """The type of Spark's for an Arrow type of `spark_side`. Raises PipelineError where Spark has none."""
    for path, odd in _without_spark_type(type, ""):
        text = f"{path} is of the Arrow type {odd}, for which Spark has no type; choose other fields."
        raise PipelineError("UNSUPPORTED_TYPE_OF_KAFKA_FIELD", text)
    return from_arrow_type(type)


def _without_spark_type(type: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The fields, by path, whose type Spark does not have."""
    if pa.types.is_nested(type):
        for index in range(type.num_fields):
            field = type.field(index)
            inner = f"{path}.{field.name}" if path and pa.types.is_struct(type) else path or field.name
            yield from _without_spark_type(field.type, inner)
        return
    try:
        found = from_arrow_type(type)
    except PySparkTypeError:
        found = None
    if found is None or (isinstance(found, DecimalType) and found.precision > _DIGITS):
        yield path or "the column", type


def arrow_schema(schema: StructType) -> Any:
    """The Arrow schema that Spark expects of a source with this schema."""
    return to_arrow_schema(schema, timezone="UTC")


def fitted(array: Any, type: Any) -> Any:
    """The array in exactly this type; nothing is copied but what must be."""
    return array if array.type.equals(type, check_metadata=True) else array.cast(type)


def has_other_bytes(type: Any) -> bool:
    """Whether a column of this type has other buffers than one of `spark_side` of it; if not, names alone differ."""
    if pa.types.is_map(type):
        return has_other_bytes(type.key_type) or has_other_bytes(type.item_type)
    if pa.types.is_nested(type):
        return any(has_other_bytes(type.field(index).type) for index in range(type.num_fields))
    return bool(_spark_value(type) != type)


class _Renamed:
    """A column under another type, to which its buffers fit as well."""

    def __init__(self, column: Any, type: Any) -> None:
        self.column = column
        self.type = type

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return self.type.__arrow_c_schema__(), self.column.__arrow_c_array__()[1]


def in_type(column: Any, type: Any) -> Any:
    """The column, given as capsules, as an array of this type, whose buffers are the same.

    A cast would do it too, but looks at each list: a tenth of what it takes to decode them.
    """
    return pa.array(_Renamed(column, type))


def with_error(pairs: Any, nulls: Any) -> Any:
    """A struct of `value` and `error` as one struct: the value's fields, null where there is an error, and `_error`.

    `nulls` is the mask of rows that are null themselves.
    """
    value, error = pairs.field("value"), pairs.field("error")
    fields = [pa.field(field.name, field.type) for field in value.type]
    return pa.StructArray.from_arrays(
        [*value.flatten(), error], fields=[*fields, pa.field("_error", error.type)], mask=nulls
    )


def is_bytes(type: Any) -> bool:
    """Whether a column of this Arrow type has bytes, or nulls alone."""
    kinds = pa.types
    return bool(
        kinds.is_binary(type)
        or kinds.is_large_binary(type)
        or kinds.is_binary_view(type)
        or kinds.is_fixed_size_binary(type)
        or kinds.is_null(type)
    )
