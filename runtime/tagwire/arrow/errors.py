"""The error for unusable columns; add row numbers to errors, or store them in a column."""

from typing import Any, TypeVar

from tagwire.errors import DecodeError, EncodeError, TagwireError

E = TypeVar("E", bound=TagwireError)


class ColumnError(TagwireError):
    """An Arrow array that can't be used: it has the wrong type, is damaged or too long."""


def in_row(error: E, row: int) -> E:
    """Add the row number to an error, in its message and as `row`, and return it."""
    error.args = (f"row {row}: {error}", *error.args[1:])
    error.row = row
    return error


def described(error: TagwireError) -> dict[str, Any]:
    """Return the error as a dict with the fields of the `error` column."""
    if isinstance(error, DecodeError):
        return {"path": error.path, "offset": error.offset, "reason": f"found {error.found}, expected {error.expected}"}
    if isinstance(error, EncodeError):
        return {"path": error.path, "offset": None, "reason": error.reason}
    return {"path": "", "offset": None, "reason": str(error)}


def no_bytes(type_name: str) -> ColumnError:
    """Return the error for an attempt to decode a column that does not contain bytes."""
    column = "; of a table, give the column that has them" if type_name.startswith("struct") else ""
    return ColumnError(f"data: expected binary, got the Arrow type {type_name!r}{column}")
