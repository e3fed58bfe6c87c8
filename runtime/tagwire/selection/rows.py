"""Rows of values, taken from a decoded message: what a selection reads, said by attributes.

The native engine reads the same rows without the message. This is what they
must be, and how the pure engine reads them.
"""

from __future__ import annotations

from tagwire.errors import EncodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Final

    from tagwire.selection.paths import Paths, Step

__all__ = ["DROP", "Changes", "Row", "rows_of"]

Row = tuple["Any", ...]


class _Drop:
    """The type of `DROP`."""

    def __repr__(self) -> str:
        return "tagwire.DROP"

    def __reduce__(self) -> str:
        return "DROP"  # one object, also where it comes out of a pickle


DROP: Final = _Drop()
"""What the function of a rewrite returns for a row whose element is to be left out."""


def rows_of(message: Any, paths: Paths) -> list[Row]:
    """The rows of a message: one for each element that the paths share, with a value for each path."""
    owners: list[Any] = [message]
    for step in paths.way:
        owners = [getattr(owner, step.name) for owner in owners if owner is not None]
        if step.each:
            owners = [element for array in owners if array is not None for element in array]
    return [tuple([_value(owner, line) for line in paths.behind]) for owner in owners]


def _value(owner: Any, line: list[Step]) -> Any:
    """What the steps lead to: None behind a null, and a list for each array that they go into."""
    for index, step in enumerate(line):
        if owner is None:
            return None
        owner = getattr(owner, step.name)
        if step.each:
            behind = line[index + 1 :]
            return None if owner is None else [_value(element, behind) for element in owner]
    return owner


class Changes:
    """What is to become of the rows of one message: for each its new values or DROP, and what is appended."""

    def __init__(self, paths: Paths, version: int, rows: list[Row]) -> None:
        self.paths = paths
        self.version = version
        self.rows = rows
        self.new: list[Any] = []
        self.appended: list[Any] = []

    def change(self, function: Callable[..., Any]) -> None:
        """Ask `function` for the new values of each row."""
        single = len(self.paths.texts) == 1
        for row in self.rows:
            result = function(*row)
            if result is DROP:
                if not self.paths.way:
                    self.refuse("there is no row to drop: the paths share no array")
            elif single:
                result = (result,)
            elif not isinstance(result, tuple | list) or len(result) != len(row):
                found = f"{len(result)} values" if isinstance(result, tuple | list) else f"a {type(result).__name__}"
                self.refuse(f"the function returned {found}; a tuple of {len(row)} values or tagwire.DROP was expected")
            self.new.append(result)

    def append(self, rows: Iterable[Any]) -> None:
        """Add elements to the end of the array that the rows are of."""
        rows = list(rows)
        if rows and [step for step in self.paths.way if step.each][1:] or (rows and not self.paths.way):
            self.refuse(
                "rows can be appended to one array, but there is none or one for each element of another; select the "
                "array itself and return it with more elements"
            )
        self.appended = [self._element(row) for row in rows]

    def _element(self, row: Any) -> Any:
        """The element that an appended row stands for: itself, or a fresh one with these values."""
        element = self.paths.element
        if element is None or isinstance(row, element):
            return row
        values = (row,) if len(self.paths.texts) == 1 else row
        if not isinstance(values, tuple | list) or len(values) != len(self.paths.texts):
            self.refuse(f"an appended row is a {element.__name__} or has a value for each of {len(self.paths.texts)} paths")
        made = element()
        for line, value in zip(self.paths.behind, values, strict=True):
            if not line or any(step.each for step in line):
                self.refuse(f"an appended row with such paths is a {element.__name__}")
            owner = made
            for step in line[:-1]:
                owner = getattr(owner, step.name)
            setattr(owner, line[-1].name, value)
        return made

    @property
    def is_nothing(self) -> bool:
        """Whether all rows keep the very values that were read."""
        if self.appended:
            return False
        for old, new in zip(self.rows, self.new, strict=True):
            if new is DROP or any(one is not other for one, other in zip(old, new, strict=True)):
                return False
        return True

    def refuse(self, reason: str) -> None:
        """Raise the EncodeError for what can't be done with the rows."""
        path = "".join(f".{step}" for step in self.paths.way).removeprefix(".")
        raise EncodeError(reason, message_name=self.paths.message.NAME, version=self.version, path=path)
