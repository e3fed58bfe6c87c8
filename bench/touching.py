"""Read every value of a decoded message, because some libraries decode a field only when it is accessed.

The function `reader` builds a reader from a sample message, in the same way for all libraries. A reader makes one C
call per struct, so most of the measured time is the library's.
"""

from collections import deque
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

__all__ = ["Fields", "attributes", "reader"]

Fields = Callable[[object], Callable[[Any], Sequence[Any]] | None]
"""A function that takes a sample value. For a struct, it returns a function that reads all fields; otherwise None."""


def attributes(names: Sequence[str]) -> Callable[[Any], Sequence[Any]]:
    """Return an attrgetter for two or more names, so that it returns a tuple. Raises SystemExit for fewer names."""
    if len(names) < 2:
        raise SystemExit(f"a struct with the fields {names}: attrgetter returns a tuple only for two or more names")
    return attrgetter(*names)


def reader(sample: Any, fields: Fields) -> Callable[[Any], object] | None:
    """Return a function that reads every value in a message like `sample`; None if `sample` is itself a plain value."""
    struct = fields(sample)
    if struct is not None:
        return _struct_reader(struct, [reader(value, fields) for value in struct(sample)])
    if isinstance(sample, str | bytes) or not isinstance(sample, Sequence):
        return None
    element = reader(sample[0], fields) if len(sample) else None
    if element is None:
        return tuple  # `tuple` reads the elements, which some libraries create only on access
    return lambda array: deque(map(element, array), 0)


def _struct_reader(
    struct: Callable[[Any], Sequence[Any]], found: list[Callable[[Any], object] | None]
) -> Callable[[Any], object]:
    parts = [(index, part) for index, part in enumerate(found) if part is not None]
    if not parts:
        return struct

    def read(value: Any) -> None:
        values = struct(value)
        for index, part in parts:
            part(values[index])

    return read
