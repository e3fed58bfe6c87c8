"""Get and change the selected values of a decoded message, as rows (tuples).

The engine in pure Python uses this module. The native engine reads the same rows without decoding the message.
"""

from __future__ import annotations

from tagwire.errors import EncodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Final, NoReturn

    from tagwire.selection.paths import Paths, Step

Row = tuple["Any", ...]


class _Drop:
    """A value that a rewrite function returns instead of a new row, to remove the row's array element."""

    def __repr__(self) -> str:
        return "tagwire.DROP"

    def __reduce__(self) -> str:
        return "DROP"  # DROP is compared with `is`, so unpickling must return this module's object


DROP: Final = _Drop()
"""A rewrite function returns this value to remove an array element from the message."""


def rows_of(message: Any, paths: Paths) -> list[Row]:
    """Return a message's rows, one per element of the array at `paths.row_path`. A row has the value at each path."""
    owners: list[Any] = [message]
    for step in paths.row_path:
        owners = [getattr(owner, step.name) for owner in owners if owner is not None]
        if step.each:
            owners = [element for array in owners if array is not None for element in array]
    return [tuple([_value(owner, line) for line in paths.rest]) for owner in owners]


def _value(owner: Any, line: list[Step]) -> Any:
    """Return the value at a path. This is a list if the path enters an array, or None inside a null struct or array."""
    for index, step in enumerate(line):
        if owner is None:
            return None
        owner = getattr(owner, step.name)
        if step.each:
            rest = line[index + 1 :]
            return None if owner is None else [_value(element, rest) for element in owner]
    return owner


class Changes:
    """The changes to the rows of one message.

    `rows` has the values that were read. For each row, `new` has the new values, or DROP. `appended` has the elements
    to append. `function` gets copies of lists, so that a list modified in place counts as changed.
    """

    def __init__(self, paths: Paths, version: int, function: Callable[..., Any], append: Iterable[Any]) -> None:
        self.paths = paths
        self.version = version
        self.function = function
        self.append = append
        self.rows: list[Row] | None = None
        self.new: list[Any] = []
        self.appended: tuple[Any, ...] = ()

    def make(self, rows: list[Row]) -> tuple[list[Any], tuple[Any, ...]]:
        """Call `function` for each row. Return the list of its results, and the elements to append to the array."""
        self.rows = rows
        has_lists = any(step.each for line in self.paths.rest for step in line)
        self.new = [self._changed(row, has_lists=has_lists) for row in rows]
        self.appended = tuple([self._element(row) for row in self._appended()])
        return self.new, self.appended

    def _changed(self, row: Row, *, has_lists: bool) -> Any:
        result = self.function(*map(_thawed, row) if has_lists else row)
        if result is DROP:
            if not self.paths.row_path:
                self._reject(
                    "rows can't be dropped, because no array contains all selected fields, so the only row is the "
                    "whole message"
                )
            return DROP
        values = row_of(result, len(row))
        if values is None:
            self._reject(misfit(result, len(row)))
        return tuple(map(_frozen, row, values)) if has_lists else values

    def _appended(self) -> list[Any]:
        rows = list(self.append)
        if rows and sum(step.each for step in self.paths.row_path) != 1:
            self._reject(
                "rows can be appended only if they are the elements of a single array; instead, select the array "
                "itself, and return it with more elements"
            )
        return rows

    def _element(self, row: Any) -> Any:
        element = self.paths.element
        if element is None or isinstance(row, element):
            return row
        values = (row,) if len(self.paths.strings) == 1 else row
        if not isinstance(values, tuple | list) or len(values) != len(self.paths.strings):
            self._reject(
                f"an appended row must be a {element.__name__} or have a value for each of the "
                f"{len(self.paths.strings)} paths"
            )
        given = {line[0].name for line in self.paths.rest if line}
        missing = [field.name for field in element.FIELDS if field.required and field.name not in given]
        if missing:
            self._reject(
                f"an appended row has no value for {missing[0]}, which is required; select it too, or append a "
                f"{element.__name__}"
            )
        from tagwire.layout import fresh

        result = fresh(element)
        for line, value in zip(self.paths.rest, values, strict=True):
            if not line or any(step.each for step in line):
                self._reject(
                    f"an appended row must be a {element.__name__}, because one of the paths selects the whole "
                    "element, or leads into an array inside it"
                )
            owner = result
            for step in line[:-1]:
                owner = None if owner is None else getattr(owner, step.name)
            if owner is not None:
                setattr(owner, line[-1].name, value)
            elif value is not None:  # None is allowed: fields inside a null struct are read as None
                path = ".".join(step.name for step in line)
                self._reject(
                    f"an appended row can't set {path}, because it is in a struct that is null in a new "
                    f"{element.__name__}; append a {element.__name__}"
                )
        return result

    def _reject(self, reason: str) -> NoReturn:
        path = "".join(f".{step}" for step in self.paths.row_path).removeprefix(".")
        raise EncodeError(reason, message_name=self.paths.message.NAME, version=self.version, path=path)


def row_of(result: Any, width: int) -> Row | None:
    """Convert the result of a rewrite function to a tuple of `width` values, or return None if that isn't possible."""
    if width == 1:
        return (result,)
    return tuple(result) if isinstance(result, tuple | list) and len(result) == width else None


def misfit(result: Any, width: int) -> str:
    """Return an error message for a value that `row_of` rejected."""
    found = f"{len(result)} values" if isinstance(result, tuple | list) else f"a {type(result).__name__}"
    return f"expected a tuple of {width} values or tagwire.DROP from the function, got {found}"


def _thawed(value: Any) -> Any:
    return list(map(_thawed, value)) if type(value) is list else value


def _frozen(old: Any, new: Any) -> Any:
    """Convert `new` to tuples wherever `old` has lists, because native code accepts only tuples."""
    if type(old) is not list or not isinstance(new, tuple | list):
        return new
    return tuple(map(_frozen, old, new)) if len(old) == len(new) else tuple(new)
