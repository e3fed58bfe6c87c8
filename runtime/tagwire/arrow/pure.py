"""Decode and encode Arrow columns in pure Python, with pyarrow and message objects.

This module is used if the native engine is missing or does not support a layout. It creates the same columns more
slowly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tagwire.arrow.errors import ColumnError, described, in_row, no_bytes
from tagwire.arrow.shape import UNITS, Column, type_name
from tagwire.errors import DecodeError, EncodeError, TagwireError, UnsupportedVersionError
from tagwire.interpreter.cursor import dotted
from tagwire.layout import fresh
from tagwire.lazy import required
from tagwire.text_format import got, near
from tagwire.wire.wire_type import Unfit

if TYPE_CHECKING:
    from tagwire.layout import Layout
    from tagwire.limits import Limits
    from tagwire.message.base import Message

_ROW_ERRORS = (DecodeError, EncodeError, UnsupportedVersionError)


def _pyarrow() -> Any:
    return required("pyarrow", "arrow")


def export_schema(column: Column) -> Any:
    """Return the type of a column as an "arrow_schema" capsule."""
    return _type(column).__arrow_c_schema__()


def array_of(column: Column, values: list[Any]) -> Any:
    """Build an array of a column's type from Python values. Raises ColumnError if pyarrow is not installed."""
    return _pyarrow().array(values, _type(column))


def struct_of(column: Column, arrays: list[Any]) -> Any:
    """Build a struct array from the arrays of its fields."""
    pa = _pyarrow()
    type = _type(column)
    return pa.StructArray.from_arrays(arrays, fields=[type.field(index) for index in range(type.num_fields)])


def export_stream(root: Column, arrays: Iterable[Any]) -> Any:
    """Return an "arrow_array_stream" capsule. Each read from the stream returns the next struct array in `arrays`."""
    pa = _pyarrow()
    schema = pa.schema(_type(root))
    batches = (pa.RecordBatch.from_struct_array(array) for array in arrays)
    return pa.RecordBatchReader.from_batches(schema, batches).__arrow_c_stream__()


class _Pure:
    """The base class of PureDecoder and PureEncoder.

    `everything` is the column of messages, and `value` the column of converted values; for a decoder, both are the
    same. `root` is the whole result, which can also have errors.
    """

    def __init__(
        self, everything: Column, root: Column, value: Column, layouts: Mapping[int, Layout], message: type[Message]
    ) -> None:
        self.pa = _pyarrow()
        self.everything = everything
        self.root = root
        self.value = value
        self.layouts = layouts
        self.message = message
        self.one_version = next(iter(layouts))

    def columns(self, data: Any, versions: Any, errors: str, row: Callable[[Any, int], Any], rows_of: Any) -> Any:
        """Convert each value of an Arrow array or stream with `row(value, version)`.

        `rows_of` converts an Arrow array to a list of Python values.
        """
        chunks, is_stream = self.taken(data, "data")
        others: list[Any] = [None] * len(chunks) if versions is None else self.taken(versions, "version")[0]
        if versions is not None and list(map(len, chunks)) != list(map(len, others)):
            raise ColumnError(
                f"expected `data` and `version` to have chunks of the same lengths, got lengths "
                f"{list(map(len, chunks))[:5]} and {list(map(len, others))[:5]} (at most 5 are shown); combine "
                "the chunks of both"
            )
        arrays = []
        first = 0
        for chunk, numbers in zip(chunks, others, strict=True):
            values = list(self.rows(rows_of(chunk), self.numbers(numbers, len(chunk)), errors, row, first))
            arrays.append(self.pa.array(values, _type(self.root)))
            first += len(chunk)
        return self.pa.chunked_array(arrays, _type(self.root)) if is_stream else arrays[0]

    def taken(self, value: Any, what: str) -> tuple[list[Any], bool]:
        if hasattr(value, "__arrow_c_array__"):
            return [self.pa.array(value)], False
        if hasattr(value, "__arrow_c_stream__"):
            return list(self.pa.chunked_array(value).chunks), True
        raise ColumnError(
            f"{what} is a {type(value).__name__}, not an Arrow array: "
            "it has neither __arrow_c_array__ nor __arrow_c_stream__"
        )

    def numbers(self, versions: Any, count: int) -> list[int | None]:
        if versions is None:
            return [self.one_version] * count
        if not (self.pa.types.is_integer(versions.type) or self.pa.types.is_null(versions.type)):
            raise ColumnError(f"version: expected an integer, got the Arrow type {str(versions.type)!r}")
        numbers: list[int | None] = versions.to_pylist()
        return numbers

    def rows(
        self, values: list[Any], versions: list[int | None], errors: str, make: Callable[[Any, int], Any], first: int
    ) -> Iterator[Any]:
        for number, (value, version) in enumerate(zip(values, versions, strict=True), first):
            error: TagwireError | None = None
            message = None
            if value is not None and version is not None:
                try:
                    if version not in self.layouts:
                        raise UnsupportedVersionError(self.message.NAME, version, self.message.VERSIONS)
                    message = make(value, version)
                except _ROW_ERRORS as rejection:
                    if errors == "raise":
                        raise in_row(rejection, number) from None
                    error = rejection
            if errors == "column":
                yield {"value": message, "error": None if error is None else described(error)}
            else:
                yield message


class PureDecoder(_Pure):
    """Decodes columns in pure Python, like `tagwire._columns.Decoder`."""

    def decode(self, data: Any, versions: Any, errors: str, strict: bool, limits: Limits) -> Any:
        def row(value: bytes, version: int) -> Any:
            message = self.message.decode(value, version, strict=strict, limits=limits)
            return _plain(self.value, message, (), (self.message.NAME, version))

        return self.columns(data, versions, errors, row, self.bytes_of)

    def bytes_of(self, chunk: Any) -> list[Any]:
        if not (_is_bytes(self.pa, chunk.type) or _is_text(self.pa, chunk.type) or self.pa.types.is_null(chunk.type)):
            raise no_bytes(str(chunk.type))
        values: list[Any] = chunk.cast(self.pa.binary()).to_pylist()
        return values


class PureEncoder(_Pure):
    """Encodes columns in pure Python, like `tagwire._columns.Encoder`."""

    def encode(self, data: Any, versions: Any, errors: str) -> Any:
        def row(value: Any, version: int) -> bytes:
            owner = self.message.NAME, version
            encoded: bytes = _object(self.everything, value, (), owner).encode(version)
            return encoded

        return self.columns(data, versions, errors, row, self.structs_of)

    def structs_of(self, chunk: Any) -> list[Any]:
        _check(self.pa, self.everything, chunk.type, "")
        values: list[Any] = chunk.cast(_with_numbers(self.pa, chunk.type)).to_pylist()
        return values


def _with_numbers(pa: Any, type: Any) -> Any:
    """Replace timestamps and durations in a type with int64, so that pyarrow does not convert them to datetimes."""
    if pa.types.is_timestamp(type) or pa.types.is_duration(type):
        return pa.int64()
    if pa.types.is_struct(type):
        return pa.struct([field.with_type(_with_numbers(pa, field.type)) for field in type])
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        make = pa.list_ if pa.types.is_list(type) else pa.large_list
        return make(type.value_field.with_type(_with_numbers(pa, type.value_type)))
    return type


def _type(column: Column) -> Any:
    pa = _pyarrow()
    if column.format == "+s":
        return pa.struct([pa.field(each.name, _type(each), each.nullable) for each in column.children])
    if column.format == "+l":
        (element,) = column.children
        return pa.list_(pa.field(element.name, _type(element), element.nullable))
    if column.format == "+m":
        key, value = column.children[0].children
        return pa.map_(_type(key), pa.field(value.name, _type(value), value.nullable), keys_sorted=True)
    if column.is_dictionary:
        return pa.dictionary(pa.int32(), pa.string())
    if column.format.startswith("ts"):
        return pa.timestamp(_unit(column), tz="UTC")
    if column.format.startswith("d:"):
        precision, scale = map(int, column.format[2:].split(",")[:2])
        return (pa.decimal128 if precision <= 38 else pa.decimal256)(precision, scale)
    width = _width(column)
    if width:
        return pa.binary(width)
    return pa.type_for_alias(type_name(column.format))


def _unit(column: Column) -> str:
    return UNITS[column.format[2]]


def _width(column: Column) -> int:
    """Return the number of bytes in each value of a fixed-size binary column, or 0 for columns of other types."""
    kind, _, width = column.format.partition(":")
    return int(width) if kind == "w" else 0


def _is_bytes(pa: Any, type: Any) -> bool:
    kinds = pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary
    return any(kind(type) for kind in kinds)


def _is_text(pa: Any, type: Any) -> bool:
    return any(kind(type) for kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _check(pa: Any, column: Column, type: Any, path: str) -> None:
    """Raise ColumnError if an array of this type can't be the input for a column. `path` is the path of the field."""
    types = pa.types
    if types.is_null(type):
        return
    is_list = types.is_list(type) or types.is_large_list(type) or types.is_fixed_size_list(type)
    fitting = {
        "b": types.is_boolean(type),
        "f": types.is_float32(type) or types.is_float64(type),
        "g": types.is_float32(type) or types.is_float64(type),
        "u": _is_text(pa, type),
        "z": _is_bytes(pa, type),
        "w": _is_bytes(pa, type) and (not types.is_fixed_size_binary(type) or type.byte_width == _width(column)),
        "+l": is_list,
        "+m": is_list or types.is_map(type),
        "+s": types.is_struct(type),
    }
    kind = "w" if _width(column) else column.format
    is_time = kind.startswith(("ts", "tD")) and (types.is_timestamp(type) or types.is_duration(type))
    if is_time:
        fits = type == _type(column) or (types.is_timestamp(type) and kind[:2] == "ts" and type.unit == _unit(column))
    else:
        fits = types.is_decimal(type) if kind.startswith("d:") else fitting.get(kind, types.is_integer(type))
    if not fits:
        raise ColumnError(f"{path or 'the array'}: expected {column.type_text}, got the Arrow type {str(type)!r}")
    if column.format == "+l":
        _check(pa, column.children[0], type.value_type, path + "[]")
    if column.format != "+s":
        return
    names = [child.name for child in column.children]
    for index in range(type.num_fields):
        field = type.field(index)
        child = column.child(field.name)
        if child is None:
            raise ColumnError(f"{path or 'the message'} has no field {field.name!r}{near(field.name, names)}")
        if type.get_field_index(field.name) < 0:
            raise ColumnError(f"{path or 'the array'} has two fields {field.name!r}")
        _check(pa, child, field.type, f"{path}.{field.name}" if path else field.name)


def _plain(column: Column, value: Any, path: tuple[str | int, ...], owner: tuple[str, int]) -> Any:
    """Convert a message field's value to a Python object that pyarrow accepts as an element of `column`.

    `owner` is the message name and version, for error messages.
    """
    if value is None:
        return None
    if column.format == "+s":
        return {
            child.name: _plain(child, getattr(value, child.name), (*path, child.name), owner)
            for child in column.children
        }
    if column.format == "+l":
        return [_plain(column.children[0], element, (*path, index), owner) for index, element in enumerate(value)]
    if column.format == "+m":
        return sorted(value.items())
    return value if column.wire is None else _fitting(column.wire.to_arrow, value, path, owner)


def _object(column: Column, value: Any, path: tuple[str | int, ...], owner: tuple[str, int]) -> Any:
    """Convert an element of `column` from pyarrow to a message field's value.

    `owner` is the message name and version, for error messages.
    """
    if value is None:
        return None
    if column.format == "+s":
        result = fresh(column.cls)
        for name, each in value.items():
            child = column.child(name)
            assert child is not None  # `_check` rejects unknown field names
            setattr(result, name, _object(child, each, (*path, name), owner))
        return result
    if column.format == "+l":
        element = column.children[0]
        return tuple(_object(element, each, (*path, index), owner) for index, each in enumerate(value))
    if column.format == "+m":
        return _tags(value, path, owner)
    return value if column.wire is None else _fitting(column.wire.from_arrow, value, path, owner)


def _fitting(convert: Callable[[Any], Any], value: Any, path: tuple[str | int, ...], owner: tuple[str, int]) -> Any:
    """Return `convert(value)`. If the value is Unfit, raise EncodeError with message name, version and path."""
    try:
        return convert(value)
    except Unfit as unfit:
        reason = unfit.message_with(got)
    name, version = owner
    raise EncodeError(reason, message_name=name, version=version, path=dotted(list(path)))


def _tags(entries: list[Any], path: tuple[str | int, ...], owner: tuple[str, int]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for entry in entries:
        tag, data = entry if isinstance(entry, tuple) else entry.values()
        if tag in found:
            name, version = owner
            raise EncodeError(f"tag {tag} appears twice", message_name=name, version=version, path=dotted(list(path)))
        found[tag] = data
    return found
