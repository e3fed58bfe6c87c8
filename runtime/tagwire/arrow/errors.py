"""The error of columns, the row of everybody else's, and errors as values of a column."""

from typing import Any, TypeVar

from tagwire.errors import DecodeError, EncodeError, TagwireError

E = TypeVar("E", bound=TagwireError)


class ColumnError(TagwireError):
    """An Arrow array that can't be used: of the wrong type, damaged or too long."""


def in_row(error: E, row: int) -> E:
    """The error of a row, which it then names: in its text, and as `row`."""
    error.args = (f"row {row}: {error}", *error.args[1:])
    error.row = row
    return error


def described(error: TagwireError) -> dict[str, Any]:
    """An error as the struct beside its row."""
    if isinstance(error, DecodeError):
        return {"path": error.path, "offset": error.offset, "reason": f"found {error.found}, expected {error.expected}"}
    if isinstance(error, EncodeError):
        return {"path": error.path, "offset": None, "reason": error.reason}
    return {"path": "", "offset": None, "reason": str(error)}


def no_bytes(type_name: str) -> ColumnError:
    """The column to decode has another type."""
    column = "; of a table, give the column that has them" if type_name.startswith("struct") else ""
    return ColumnError(f"data: expected binary, got the Arrow type {type_name!r}{column}")
