"""Check rules that involve several values: unions, and arrays whose elements must have unique keys.

The reader and the writer share these checks, but use different error texts.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tagwire.layout import Union


def present_alternatives(union: Union, get: Callable[[str], Any]) -> list[str]:
    """Return the names of a union's alternatives that are not null. `get` returns a field's value by name."""
    return [name for name in union.alternatives if get(name) is not None]


def several_text(union: str, other: str) -> str:
    """Return the error text for a struct in which several alternatives of a union are set."""
    return f"is set, but so is {other}, and the union {union} can have only one alternative; set one of them to None"


class Keys:
    """Finds array elements with the same key. Stores each key and the index of the first element that has it."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.first: dict[tuple[Any, ...], int] = {}

    def twin(self, index: int, element: Any) -> int | None:
        """Return the index of the first element with the same key. If there is none, store this key and return None."""
        key = tuple([_field(element, name) for name in self.names])
        first = self.first.setdefault(key, index)
        return None if first == index else first


def _field(element: Any, name: str) -> Any:
    return element[name] if isinstance(element, Mapping) else getattr(element, name)


def key_text(names: Iterable[str], element: Any, shown: Callable[[str, Any], str]) -> str:
    """Describe a key for an error message. `shown` formats each value."""
    return ", ".join(f"{name} {shown(name, _field(element, name))}" for name in names)
