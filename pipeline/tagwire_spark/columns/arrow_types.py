"""Convert Arrow types and columns between the forms that messages have and the forms that Spark accepts.

Spark has no fixed-size binary type and no unsigned integers. Its timestamps have microsecond precision, its decimals
have at most 38 digits, and a column must have exactly the declared type. Unsigned 64-bit integers become decimal(20,0),
as in Spark's Protobuf functions. A time that is converted to a coarser unit, such as from nanoseconds to Spark's
microseconds, is rounded down. A value that doesn't fit the other type is rejected.

A field that can't be null in any version of the message is declared NOT NULL. Spark then builds rows without null
checks, which saves a sixth of a query's cost. But the fields of a nullable struct stay nullable, because Spark's
`toArrow` would fail if they were NOT NULL.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute
from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import DataType, DecimalType, StructType

from tagwire_spark.errors import PipelineError

pc: Final[Any] = pyarrow.compute  # typed as Any, because pyarrow creates its compute functions at run time

ERROR_TYPE = pa.struct([("path", pa.string()), ("offset", pa.int64()), ("reason", pa.string())])
"""The type of `_error`, which describes an invalid row: the field path, the byte offset, and the reason."""

_DIGITS: Final = 38
"""Maximum number of digits of a Spark decimal."""
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


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
    for path, leaf in _leaves(type, ""):
        try:
            found = from_arrow_type(leaf)
        except PySparkTypeError:
            found = None
        if found is None or (isinstance(found, DecimalType) and found.precision > _DIGITS):
            text = f"{path or 'the column'} has the Arrow type {leaf}, which Spark does not have; choose other fields."
            raise PipelineError("UNSUPPORTED_TYPE_OF_KAFKA_FIELD", text)
    return from_arrow_type(type)


def spark_struct(type: Any) -> StructType:
    """Return the Spark type for an Arrow struct, as `spark_type` does."""
    found = spark_type(type)
    assert isinstance(found, StructType)
    return found


def _leaves(type: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the path and type of each value in an Arrow type that may be nested."""
    if not pa.types.is_nested(type):
        yield path, type
        return
    for index in range(type.num_fields):
        field = type.field(index)
        inner = f"{path}.{field.name}" if path and pa.types.is_struct(type) else path or field.name
        yield from _leaves(field.type, inner)


def arrow_schema(schema: StructType) -> Any:
    """Convert a Spark schema to the Arrow schema that a data source's batches must have. Timestamps are in UTC."""
    return to_arrow_schema(schema, timezone="UTC")


def fitted(array: Any, type: Any) -> Any:
    """Cast the array to exactly this type, copying only if needed."""
    return array if array.type.equals(type, check_metadata=True) else array.cast(type)


def has_other_bytes(type: Any) -> bool:
    """Return whether a column must be cast for Spark, because Spark stores its values as different bytes."""
    return any(_spark_value(leaf) != leaf for _, leaf in _leaves(type, ""))


class _Renamed(NamedTuple):
    """A column exported with another Arrow type, which must have the same memory layout."""

    column: Any
    type: Any

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
    checks = kinds.is_binary, kinds.is_large_binary, kinds.is_binary_view, kinds.is_fixed_size_binary, kinds.is_null
    return any(check(type) for check in checks)


class Misfit(Exception):
    """Raised if a value doesn't fit the type to which it is converted."""

    def __init__(self, path: str, type: Any) -> None:
        super().__init__(path, type)
        self.path = path
        self.reason = f"has a value that does not fit the Arrow type {type}"

    def __str__(self) -> str:
        return f"{self.path} {self.reason}"


def message_side(given: Any, expected: Any) -> Any:
    """Return the type to which a Spark column of type `given` must be cast, so that it can be encoded as `expected`.

    Most types are returned unchanged, because the encoder converts them itself. Exceptions are decimals for uint64
    fields, timestamps and durations.
    """
    types = pa.types
    if types.is_struct(given) and types.is_struct(expected):
        inner = {field.name: field.type for field in expected}
        fields = [(field, message_side(field.type, inner.get(field.name, field.type))) for field in given]
        return pa.struct([field.with_type(type) for field, type in fields])
    if types.is_list(given) and types.is_list(expected):
        return pa.list_(given.value_field.with_type(message_side(given.value_type, expected.value_type)))
    is_number = types.is_decimal(given) and types.is_uint64(expected)
    is_timestamp = types.is_timestamp(given) and types.is_timestamp(expected) and given.tz is not None
    is_duration = types.is_duration(given) and types.is_duration(expected)
    return expected if is_number or is_timestamp or is_duration else given


def converted(array: Any, type: Any, path: str = "") -> Any:
    """Cast an array to a type of the same nesting (structs, lists, maps). Raises Misfit if a value doesn't fit."""
    types = pa.types
    if array.type.equals(type, check_metadata=True):
        return array
    if types.is_struct(type) and type.num_fields:
        dotted = f"{path}." if path else ""
        columns = [
            converted(column, field.type, dotted + field.name)
            # Unlike `array.field`, `flatten` returns null for each field of a null struct.
            for column, field in zip(array.flatten(), type, strict=True)
        ]
        return pa.StructArray.from_arrays(columns, fields=list(type), mask=array.is_null())
    if types.is_list(type):
        first, last = (array.offsets[0].as_py(), array.offsets[-1].as_py())
        elements = converted(array.values.slice(first, last - first), type.value_type, f"{path}[]")
        offsets = pc.subtract(array.offsets, first)
        return pa.ListArray.from_arrays(offsets, elements, type, mask=array.is_null() if array.null_count else None)
    if _is_time(type) and _is_time(array.type) and _PER_SECOND[array.type.unit] > _PER_SECOND[type.unit]:
        return _rounded_down(array, type)
    try:
        return array.cast(type)
    except pa.ArrowInvalid:
        raise Misfit(path, type) from None


def converted_rows(array: Any, type: Any) -> tuple[Any, dict[int, Misfit]]:
    """Cast an array as `converted` does, but set rows to null if their values don't fit.

    Also returns a dict that maps the number of each such row to its Misfit.
    """
    try:
        return converted(array, type), {}
    except Misfit as misfit:
        misfits = dict(_misfit_rows(array, type, 0, misfit))
    kept = pa.array([None if row in misfits else row for row in range(len(array))], pa.int64())
    return converted(array.take(kept), type), misfits


def _misfit_rows(array: Any, type: Any, first: int, misfit: Misfit) -> Iterator[tuple[int, Misfit]]:
    """Find, by bisection, the rows that can't be converted. Yield each row's number and its Misfit.

    The first row of `array` has the number `first`.
    """
    if len(array) == 1:
        yield first, misfit
        return
    half = len(array) // 2
    for part, row in ((array.slice(0, half), first), (array.slice(half), first + half)):
        try:
            converted(part, type)
        except Misfit as found:
            yield from _misfit_rows(part, type, row, found)


def _is_time(type: Any) -> bool:
    return bool(pa.types.is_timestamp(type) or pa.types.is_duration(type))


def _rounded_down(array: Any, type: Any) -> Any:
    factor = _PER_SECOND[array.type.unit] // _PER_SECOND[type.unit]
    numbers = array.cast(pa.int64())
    towards_zero = pc.divide(numbers, factor)
    is_above = pc.less(numbers, pc.multiply(towards_zero, factor))
    return pc.subtract(towards_zero, is_above.cast(pa.int64())).cast(type)
