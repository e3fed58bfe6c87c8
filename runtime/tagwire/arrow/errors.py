"""Define `ColumnError`, add row numbers to the errors of Arrow conversion, and create values of the column `error`."""

from typing import Any, TypeVar

from tagwire.errors import DecodeError, EncodeError, TagwireError

E = TypeVar("E", bound=TagwireError)


class ColumnError(TagwireError):
    """Raised for an Arrow array that can't be used, because it has the wrong type, is damaged, or is too long."""


def in_row(error: E, row: int) -> E:
    """Put a row number into the error's message and into its attribute `row`. Return the error."""
    error.args = (f"row {row}: {error}", *error.args[1:])
    error.row = row
    return error


def described(error: TagwireError) -> dict[str, Any]:
    """Return what the column `error` contains for an error: a dict with the path, offset and reason."""
    if isinstance(error, DecodeError):
        return {"path": error.path, "offset": error.offset, "reason": f"found {error.found}, expected {error.expected}"}
    if isinstance(error, EncodeError):
        return {"path": error.path, "offset": None, "reason": error.reason}
    return {"path": "", "offset": None, "reason": str(error)}


def no_bytes(type_name: str) -> ColumnError:
    """Return the ColumnError of `decode_column` for an array whose elements are not bytes."""
    column = "; of a table, give the column that has them" if type_name.startswith("struct") else ""
    return ColumnError(f"data: expected binary, got the Arrow type {type_name!r}{column}")
