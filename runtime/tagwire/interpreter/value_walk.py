"""Get the fields of a value that is being encoded, and check rules about several fields: unions and unique keys.

A struct is an object of its layout's class or, if there is no class, a mapping from field names to values. The reader
and the JSON parser check the same rules, but use different error texts.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from struct import error as struct_error
from struct import pack
from typing import Any, NoReturn

from tagwire.errors import EncodeError
from tagwire.interpreter.cursor import dotted
from tagwire.layout import Layout, StructLayout, Union
from tagwire.sensitive import HIDDEN, hides
from tagwire.text_format import got, near, shown
from tagwire.wire.unknown_tags import NO_TAGS


class ValueWalk:
    """Keeps track of the current field's path, and of the values in the structs that enclose it."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.path: list[str | int] = []
        self.scopes: tuple[dict[str, Any], ...] = ()

    def fail(self, reason: str) -> NoReturn:
        raise EncodeError(reason, message_name=self.layout.name, version=self.layout.version, path=dotted(self.path))

    def shown(self, value: Any) -> str:
        """Shorten a value for an error message, or return a placeholder for a sensitive value."""
        return HIDDEN if hides() and self.layout.root.is_sensitive(self.path) else shown(value)

    def got(self, value: Any) -> str:
        """Describe a value of the wrong type, or return a placeholder if it may be sensitive."""
        return HIDDEN if hides() and self.layout.root.is_sensitive(self.path, around=True) else got(value)

    @contextmanager
    def at(self, step: str | int) -> Generator[None, None, None]:
        self.path.append(step)
        yield
        self.path.pop()  # not in a `finally` block, because error messages need the path of the field

    def getter(self, struct: StructLayout, value: Any) -> Callable[[str], Any]:
        """Return a function that gets a field of `value` by name."""
        if struct.cls is not None:
            # Reject an object of another class: it may have more fields, and encoding would silently lose their values.
            if struct.cls not in type(value).__mro__:
                self.fail(
                    _unlike(type(value), struct.cls) or f"expected a {struct.cls.__name__}, got {self.got(value)}"
                )
            for name in _needed(struct):
                if not hasattr(value, name):
                    self.fail(f"{self.shown(value)} has no {name}; this field was deleted or never set")
            return lambda name: getattr(value, name, None)
        if not isinstance(value, Mapping):
            self.fail(f"expected a mapping of field names to values, got {self.got(value)}")
        known = {field.name: field for field in struct.values}
        for name in value:
            if name not in known and name != "unknown_tags" and name not in struct.framing:
                self.fail(f"{struct.name} has no field {self.shown(name)}{near(name, list(known))}")
        return lambda name: (
            value[name] if name in value else known[name].default_value() if name in known else NO_TAGS
        )

    def reject_missing(self, struct: StructLayout, get: Callable[[str], Any]) -> None:
        for field in struct.missing:
            if not field.ignorable and differs(get(field.name), field.default_value()):
                with self.at(field.name):
                    self.fail(
                        f"is {self.shown(get(field.name))}, which this version can't represent; "
                        f"only the default, {self.shown(field.default_value())}, is possible here"
                    )
        if struct.section is None and struct.has_tags and differs(get("unknown_tags"), NO_TAGS):
            with self.at("unknown_tags"):
                self.fail("messages of this version have no tagged fields, so unknown tags can't be written")


def differs(value: Any, default: Any) -> bool:
    """Return whether a value differs from its field's default. Floats compare by their bits, as in `Struct.__eq__`."""
    if isinstance(default, tuple) and isinstance(value, tuple | list):
        return len(value) > 0  # an array's default is always empty
    if isinstance(default, dict) and isinstance(value, Mapping):  # structs without a class may omit fields
        defaults = {"unknown_tags": NO_TAGS, **default}
        return any(differs(part, defaults.get(name, ...)) for name, part in value.items())
    try:
        if isinstance(default, float):
            return pack(">d", value) != pack(">d", default)
        return bool(value != default)
    except (struct_error, AttributeError, TypeError, ValueError, OverflowError):
        # The value can't be compared, so treat it as different from the default. Encoding will reject it.
        return True


def _unlike(found: type, expected: type) -> str:
    """Return an error text that distinguishes two classes with the same name, or "" if their names differ."""
    if found.__name__ != expected.__name__:
        return ""
    one, other = (f"{cls.__module__}.{cls.__qualname__}" for cls in (found, expected))
    if one != other:
        return f"expected a {other}, got a {one}"
    return f"expected a {one}, got one of another class of that name; a module that is loaded twice has two"


def _needed(struct: StructLayout) -> Iterator[str]:
    """Yield the names of the attributes that encoding reads."""
    if struct.has_tags:
        yield "unknown_tags"
    yield from (field.name for field in struct.missing if not field.ignorable)
    yield from (field.name for field in struct.values)


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
