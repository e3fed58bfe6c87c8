"""Decode messages to Arrow columns, and encode columns as messages, without creating an object for each message.

    schema(C, 8)                          return the Arrow type of message class C in version 8
    decode_column(data, C, 8)             convert a column of bytes to a column of structs
    encode_column(structs, C, 8)          convert a column of structs to a column of bytes

Columns are exchanged with any library that supports the Arrow PyCapsule interface, such as pyarrow, polars, duckdb or
nanoarrow. Values, defaults and errors are the same as for message objects. The native engine releases the GIL.
Without the native engine, pyarrow is required, and columns are made from message objects.
"""

from __future__ import annotations

from tagwire.arrow.errors import ColumnError
from tagwire.arrow.plans import ArrowSchema, ColumnOptions, decoder_of, encoder_of, schema_of
from tagwire.limits import DEFAULT_LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal

    from tagwire.limits import Limits
    from tagwire.message.base import Message

    Errors = Literal["raise", "null", "column"]

__all__ = ["ArrowSchema", "ColumnError", "decode_column", "encode_column", "schema"]


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
    versions = (version,) if isinstance(version, int) else tuple(version)
    return schema_of(ColumnOptions(message, versions, errors, _paths(fields), unknown_tags, wide_unsigned))


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
    chosen, rows = _version(message, version, versions)
    options = ColumnOptions(message, chosen, errors, _paths(fields), unknown_tags, wide_unsigned)
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
    return encoder_of(ColumnOptions(message, chosen, errors)).encode(data, rows, errors)


def _version(message: type[Message], version: Any, versions: Iterable[int] | None) -> tuple[tuple[int, ...], Any]:
    """Return the possible versions and an Arrow array of each row's version (None if all have the same version)."""
    if isinstance(version, int):
        if versions is not None:
            raise ColumnError(
                f"`versions` can only be given if `version` is an Arrow array, but `version` is {version}; omit "
                "`versions`"
            )
        return (version,), None
    return tuple(message.VERSIONS if versions is None else versions), version


def _paths(fields: Iterable[str] | None) -> tuple[str, ...] | str | None:
    return fields if fields is None or isinstance(fields, str) else tuple(fields)
