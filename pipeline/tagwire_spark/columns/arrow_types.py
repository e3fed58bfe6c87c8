"""Convert Arrow types and columns to the forms that Spark accepts.

Spark has no fixed-size binary type and no unsigned integers. Its timestamps have microsecond precision, its decimals
have at most 38 digits, and a column must have exactly the declared type.

A field that can't be null in any version of the message is declared NOT NULL. Spark then builds rows without null
checks, which saves a sixth of a query's cost. But the fields of a nullable struct stay nullable, because Spark's
`toArrow` would fail if they were NOT NULL.
"""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import DataType, DecimalType, StructType

from tagwire_spark.errors import PipelineError

ERROR_TYPE = pa.struct([("path", pa.string()), ("offset", pa.int64()), ("reason", pa.string())])
"""The type of `_error`, which describes an invalid row: the field path, the byte offset, and the reason."""

_DIGITS: Final = 38
"""Maximum number of digits of a Spark decimal."""


def spark_side(type: Any) -> Any:
    """Return the Arrow type to which a decoded column of type `type` is converted before Spark receives it."""
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
    if pa.types.is_fixed_size_binary(type):
        return pa.binary()
    if pa.types.is_uint64(type):
        return pa.decimal128(20, 0)
    if pa.types.is_timestamp(type):
        return pa.timestamp("us", tz=type.tz)
    return pa.duration("us") if pa.types.is_duration(type) else type


def may_be_null(field: Any) -> Any:
    """Return a nullable copy of the field. If the field is a struct, its inner fields also become nullable.

    Otherwise, Spark's `toArrow` would fail, because Arrow can't cast a null struct that has a NOT NULL field.
    """
    type = field.type
    if pa.types.is_struct(type):
        type = pa.struct([may_be_null(each) for each in type])
    return pa.field(field.name, type)


def spark_type(type: Any) -> DataType:
    """Return the Spark type for an Arrow type that `spark_side` returned. Raises PipelineError if Spark has none."""
    for path, odd in _without_spark_type(type, ""):
        text = f"{path} has the Arrow type {odd}, which Spark does not have; choose other fields."
        raise PipelineError("UNSUPPORTED_TYPE_OF_KAFKA_FIELD", text)
    return from_arrow_type(type)


def _without_spark_type(type: Any, path: str) -> Iterator[tuple[str, Any]]:
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
    """Convert a Spark schema to the Arrow schema that a data source's batches must have. Timestamps are in UTC."""
    return to_arrow_schema(schema, timezone="UTC")


def fitted(array: Any, type: Any) -> Any:
    """Cast the array to exactly this type, copying only if needed."""
    return array if array.type.equals(type, check_metadata=True) else array.cast(type)


def has_other_bytes(type: Any) -> bool:
    """Return whether a column must be cast for Spark, because Spark stores its values as different bytes."""
    if pa.types.is_map(type):
        return has_other_bytes(type.key_type) or has_other_bytes(type.item_type)
    if pa.types.is_nested(type):
        return any(has_other_bytes(type.field(index).type) for index in range(type.num_fields))
    return bool(_spark_value(type) != type)


class _Renamed:
    """A column exported with another Arrow type, which must have the same memory layout."""

    def __init__(self, column: Any, type: Any) -> None:
        self.column = column
        self.type = type

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return self.type.__arrow_c_schema__(), self.column.__arrow_c_array__()[1]


def in_type(column: Any, type: Any) -> Any:
    """Import a column from Arrow capsules as an array of this type, without copying its buffers.

    The column isn't cast, because a cast checks every list value, which makes decoding a tenth slower.
    """
    return pa.array(_Renamed(column, type))


def with_error(pairs: Any, nulls: Any) -> Any:
    """Convert structs of `value` and `error` to structs that contain the fields of `value` and a last field `_error`.

    In rows with an error, the fields of `value` are null. Rows in the mask `nulls` become null structs.
    """
    value, error = pairs.field("value"), pairs.field("error")
    fields = [pa.field(field.name, field.type) for field in value.type]
    return pa.StructArray.from_arrays(
        [*value.flatten(), error], fields=[*fields, pa.field("_error", error.type)], mask=nulls
    )


def is_bytes(type: Any) -> bool:
    """Return whether an Arrow type is binary, or the null type (a column that contains only nulls)."""
    kinds = pa.types
    return bool(
        kinds.is_binary(type)
        or kinds.is_large_binary(type)
        or kinds.is_binary_view(type)
        or kinds.is_fixed_size_binary(type)
        or kinds.is_null(type)
    )
