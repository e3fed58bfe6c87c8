"""The rules over several values: unions, and arrays whose elements have different keys.

Reader and writer ask here what a struct or an array breaks; each says it in its own words.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tagwire.layout import Union


def present_alternatives(union: Union, get: Callable[[str], Any]) -> list[str]:
    """The names of a union's alternatives that are not null; `get` takes a field of the struct."""
    return [name for name in union.alternatives if get(name) is not None]


def several_text(union: str, other: str) -> str:
    """What is wrong with an alternative beside another one."""
    return f"is set beside {other}, but only one alternative of the union {union} can be set; set one of them to None"


class Keys:
    """The keys of an array's elements so far."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.first: dict[tuple[Any, ...], int] = {}

    def twin(self, index: int, element: Any) -> int | None:
        """The index of the first element with the key of this one; None where there is none before it."""
        key = tuple([_field(element, name) for name in self.names])
        first = self.first.setdefault(key, index)
        return None if first == index else first


def _field(element: Any, name: str) -> Any:
    return element[name] if isinstance(element, Mapping) else getattr(element, name)


def key_text(names: Iterable[str], element: Any, shown: Callable[[str, Any], str]) -> str:
    """A key in words: each field with its value, as `shown` has it."""
    return ", ".join(f"{name} {shown(name, _field(element, name))}" for name in names)
