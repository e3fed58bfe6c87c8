"""Read every value of a decoded message, because some libraries decode a field only when it is accessed.

The function `reader` builds a reader from a sample message. A reader makes one C call per struct, so it adds little to
the time that the library takes.
"""

from collections import deque
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

__all__ = ["Fields", "attributes", "reader"]

Fields = Callable[[object], Callable[[Any], Sequence[Any]] | None]
"""The type of the method `Library.fields`."""


def attributes(names: Sequence[str]) -> Callable[[Any], Sequence[Any]]:
    """Return an attrgetter for two or more names. Raises SystemExit for fewer names."""
    if len(names) < 2:
        raise SystemExit(f"a struct with the fields {names}: attrgetter returns a tuple only for two or more names")
    return attrgetter(*names)


def reader(sample: Any, fields: Fields) -> Callable[[Any], object] | None:
    """Return a function that reads all values in structs or arrays like `sample`, or None if it is a single value."""
    struct = fields(sample)
    if struct is not None:
        return _struct_reader(struct, [reader(value, fields) for value in struct(sample)])
    if isinstance(sample, str | bytes) or not isinstance(sample, Sequence):
        return None
    element = reader(sample[0], fields) if len(sample) else None
    if element is None:
        return tuple  # reads every element, because some libraries create elements only when they are read
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
