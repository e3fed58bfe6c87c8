"""Decode messages to Arrow columns, and encode columns as messages, without creating an object for each message.

    schema(C, 8)                          return the Arrow type of message class C in version 8
    decode_column(data, C, 8)             convert a column of bytes to a column of structs
    encode_column(structs, C, 8)          convert a column of structs to a column of bytes

Columns are exchanged with any library that supports the Arrow PyCapsule interface, such as pyarrow, polars, duckdb or
nanoarrow. Values, defaults and errors are the same as for message objects. The native engine releases the GIL.
Without the native engine, pyarrow is required, and columns are made from message objects. Decoders and encoders are
cached by message and options.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tagwire.arguments import check_type
from tagwire.arrow.errors import ColumnError
from tagwire.arrow.shape import Column, ColumnSelection, field_paths, message_column, with_error
from tagwire.limits import DEFAULT_LIMITS, Limits, check_limits
from tagwire.message.base import check_message_class
from tagwire.message.engines import engine
from tagwire.message.field_table import layout_of

if TYPE_CHECKING:
    from tagwire.layout import Layout
    from tagwire.message.base import Message

__all__ = ["ArrowSchema", "ColumnError", "decode_column", "encode_column", "schema"]

Errors = Literal["raise", "null", "column"]

_KEPT = 64
"""The maximum number of decoders or encoders in each cache."""
_SPARE_BYTES = 1 << 25
"""The maximum size, in bytes, of the free memory that native decoders, encoders and log readers keep for reuse."""
_ERRORS = ("raise", "null", "column")


class ColumnOptions(NamedTuple):
    """The options that determine a decoder or encoder. Instances are used as cache keys."""

    message: type[Message]
    versions: tuple[int, ...]
    errors: str
    paths: tuple[str, ...] | None = None
    unknown_tags: bool = True
    wide_unsigned: bool = False


class ArrowSchema:
    """An Arrow struct type, for libraries that accept `__arrow_c_schema__`. `str()` lists its fields."""

    def __init__(self, column: Column) -> None:
        self.column = column

    def __arrow_c_schema__(self) -> Any:
        if engine() == "native":
            from tagwire._columns import export_schema
        else:
            from tagwire.arrow.pure import export_schema
        return export_schema(self.column)

    def __str__(self) -> str:
        return "\n".join(map(str, self.column.children))

    def __repr__(self) -> str:
        return f"<{self.column.type_text}>"


def schema(
    message: type[Message],
    version: int | Iterable[int],
    *,
    fields: Iterable[str] | None = None,
    errors: Errors = "raise",
    unknown_tags: bool = True,
    wide_unsigned: bool = False,
) -> ArrowSchema:
    """Return the Arrow type of `decode_column`'s result for the same arguments.

    The returned object has `__arrow_c_schema__`. If `version` is a collection of versions (such as `C.VERSIONS`), the
    type has all fields that exist in any of them. Raises UnsupportedVersionError for a version that the message does
    not have, and SchemaError for a path in `fields` that does not exist in the message.
    """
    versions: Any = version if hasattr(version, "__iter__") and not isinstance(version, str) else (version,)
    check_message_class(message)
    return schema_of(ColumnOptions(message, tuple(versions), errors, field_paths(fields), unknown_tags, wide_unsigned))


def decode_column(
    data: Any,
    message: type[Message],
    version: Any,
    *,
    versions: Iterable[int] | None = None,
    fields: Iterable[str] | None = None,
    errors: Errors = "raise",
    strict: bool = True,
    limits: Limits = DEFAULT_LIMITS,
    unknown_tags: bool = True,
    wide_unsigned: bool = False,
) -> Any:
    """Decode a column of encoded messages to a column of structs. Nulls stay null.

    `data` is an Arrow array of binary, large_binary, binary_view or string, with
    `__arrow_c_array__`, or a chunked array with `__arrow_c_stream__`; the result
    has the same interface. `version` is the version of all rows, or an Arrow array
    of integers with each row's version. If it is an array, the result has all fields
    that exist in any of `versions` (by default, in any version of the message).

    `fields` chooses fields by dotted paths (`topics.partitions.leader_id`); the
    other fields are only validated. `unknown_tags=False` drops unknown tagged
    fields. `wide_unsigned` converts uint8 to int16, uint16 to int32 and uint32 to int64.
    `strict` and `limits` (for each row) work as in `Message.decode`.

    `errors` selects what happens if a row can't be decoded. "raise" raises its
    DecodeError, LimitError or UnsupportedVersionError, with the row number as `row`;
    "null" makes the row null; "column" returns structs with two fields, `value` and
    `error`, which has path, offset and reason. Raises ColumnError for an
    array of another type, for a damaged array, and for more than 2^31 - 1 elements
    or bytes in a column.
    """
    check_limits(limits)
    chosen, rows = _version(message, version, versions)
    options = ColumnOptions(message, chosen, errors, field_paths(fields), unknown_tags, wide_unsigned)
    return decoder_of(options).decode(data, rows, errors, bool(strict), limits)


def encode_column(
    data: Any,
    message: type[Message],
    version: Any,
    *,
    versions: Iterable[int] | None = None,
    errors: Errors = "raise",
) -> Any:
    """Encode a column of structs to a column of messages (binary). Nulls stay null.

    `data` is an Arrow array or stream of structs, such as a table; the result has
    the same interface. Fields that are not in the structs get their defaults.
    Integers may have any width, but each value must be in its field's range. Lists may
    be large or of fixed size, strings and bytes may be large or views, and uuids may be
    any 16-byte type. `version` and `versions` work as in `decode_column`.

    Rejects the same values as `Message.encode`. `errors` works as in `decode_column`,
    with EncodeError instead of DecodeError. Raises ColumnError for unknown
    fields, fields of another type, and more than 2^31 - 1 bytes in an array.
    """
    chosen, rows = _version(message, version, versions)
    return _encoder(engine(), ColumnOptions(message, chosen, errors)).encode(data, rows, errors)


def _version(message: type[Message], version: Any, versions: Iterable[int] | None) -> tuple[tuple[int, ...], Any]:
    """Return the possible versions and an Arrow array of each row's version (None if all have the same version)."""
    check_message_class(message)
    if version is None:
        raise ColumnError("version: expected an int, or an Arrow array with the version of each row, got None")
    if isinstance(version, int):
        if versions is not None:
            raise ColumnError(
                f"`versions` can only be given if `version` is an Arrow array, but `version` is {version}; omit "
                "`versions`"
            )
        return (version,), None
    check_type("versions", versions, Iterable | None, "a list of versions")
    return tuple(message.VERSIONS if versions is None else versions), version


def schema_of(options: ColumnOptions) -> ArrowSchema:
    """Return the Arrow type of the columns that a decoder with these options produces."""
    return ArrowSchema(_result(_message(options), options))


def decoder_of(options: ColumnOptions) -> Any:
    """Return a column decoder. It is in pure Python if the native engine can't handle one of the layouts."""
    return _decoder(engine(), options)


@lru_cache(_KEPT)
def _decoder(engine_name: str, options: ColumnOptions) -> Any:
    value = _message(options)
    return _converter(engine_name, "Decoder", options, value, value)


@lru_cache(_KEPT)
def _encoder(engine_name: str, options: ColumnOptions) -> Any:
    everything = _message(ColumnOptions(options.message, tuple(options.message.VERSIONS), "raise"))
    value = Column(_name(options), "z", nullable=True)
    return _converter(engine_name, "Encoder", options, everything, value)


def _converter(engine_name: str, kind: str, options: ColumnOptions, everything: Column, value: Column) -> Any:
    """Return a `Decoder` or `Encoder` (`kind`), or the pure one if the native engine can't handle a layout."""
    message, layouts = options.message, _layouts(options)
    columns = everything, _result(value, options), value
    if engine_name == "native":
        from tagwire import _columns
        from tagwire._engine import NotNative

        with suppress(NotNative):
            return getattr(_columns, kind)(*columns, layouts, message.NAME, message.VERSIONS, spare_frames())
    from tagwire.arrow import pure

    return getattr(pure, f"Pure{kind}")(*columns, layouts, message)


@lru_cache(1)
def spare_frames() -> Any:
    """Return the pool of memory blocks that all native decoders, encoders and log readers reuse for their columns."""
    from tagwire._columns import Spares

    return Spares(_SPARE_BYTES)


def _name(options: ColumnOptions) -> str:
    return "value" if options.errors == "column" else ""


def _result(value: Column, options: ColumnOptions) -> Column:
    if options.errors not in _ERRORS:
        raise ColumnError(f"errors: expected one of {', '.join(map(repr, _ERRORS))}, got {options.errors!r}")
    return with_error(value) if options.errors == "column" else value


def _message(options: ColumnOptions) -> Column:
    selection = ColumnSelection(options.paths, unknown_tags=options.unknown_tags, wide_unsigned=options.wide_unsigned)
    return message_column(_name(options), [layout.root for layout in _layouts(options).values()], selection)


def _layouts(options: ColumnOptions) -> dict[int, Layout]:
    if not options.versions:
        raise ColumnError(f"{options.message.NAME}: pass a version, because the columns depend on it")
    return {version: layout_of(options.message, version) for version in options.versions}
