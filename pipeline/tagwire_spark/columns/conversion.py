"""Convert columns between the types of message fields and the types that Spark uses for them.

Spark has no unsigned 64-bit integers, so these become decimal(20,0), as in Spark's Protobuf functions. A time that is
converted to a coarser unit, such as from nanoseconds to Spark's microseconds, is rounded down. A value that doesn't fit
the other type is rejected.
"""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute

pc: Final[Any] = pyarrow.compute  # pyarrow creates its compute functions at run time

_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


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
