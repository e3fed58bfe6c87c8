"""Constructors of data classes. They are made from the field table when the class is first instantiated.

They are compiled from source, because a function with real parameters is twice as fast as one with `**kwargs`.
"""

from __future__ import annotations

from functools import partial

from tagwire.layout.structs import DEFAULT_STRUCT
from tagwire.wire.unknown_tags import NO_TAGS
from tagwire.wire.uuids import DEFAULT_UUID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tagwire.message.field_table import FieldRow
    from tagwire.message.struct_class import Struct


def parameter_default(row: FieldRow) -> Any:
    """Return the default of a constructor parameter. Callers can also pass the placeholders for structs and UUIDs."""
    return DEFAULT_UUID if row.type == "uuid" and not row.required and row.default is not None else row.default


def acceptor(row: FieldRow) -> Callable[[Any], Any] | None:
    """Return a function that converts a constructor argument to a field value, or None if it is stored unchanged."""
    if row.type.startswith("[]"):
        return partial(_elements, row.name, nullable=_may_be_none(row))
    default = parameter_default(row)
    is_placeholder = default is DEFAULT_STRUCT or default is DEFAULT_UUID
    return (lambda value: row.fresh_value() if value is default else value) if is_placeholder else None


def _elements(name: str, value: Any, *, nullable: bool) -> Any:
    try:
        return None if nullable and value is None else tuple(value)
    except TypeError:
        _check_iterable(**{name: value})
        raise


def _check_iterable(**arguments: Any) -> None:
    for name, value in arguments.items():
        if not hasattr(type(value), "__iter__") and not hasattr(type(value), "__getitem__"):
            raise TypeError(f"{name}: expected an iterable, got {value!r:.100}") from None


def _may_be_none(row: FieldRow) -> bool:
    return bool(row.nullable) or row.default is None


def constructor_of(cls: type[Struct]) -> Any:
    """Compile the `__init__` of a class that declares fields."""
    scope: dict[str, Any] = {"_tuple": tuple, "_DEFAULT_STRUCT": DEFAULT_STRUCT, "_DEFAULT_UUID": DEFAULT_UUID}
    scope["_check_iterable"] = _check_iterable
    defaults: dict[str, Any] = {}
    parameters, lines = ["self"], []
    rows = [row for row in cls.FIELDS if not row.is_computed]
    if rows or cls.HAS_TAGS:
        parameters.append("*")
    for row in rows:
        parameters.append(row.name if row.required else f"{row.name}=None")
        lines.append(f"    self.{row.name} = {_stored(row, scope)}\n")
        if not row.required:
            defaults[row.name] = parameter_default(row)
    if cls.HAS_TAGS:
        parameters.append("unknown_tags=None")
        lines.append("    self.unknown_tags = unknown_tags\n")
        defaults["unknown_tags"] = NO_TAGS
    unions = cls._unions.items()  # pyright: ignore[reportPrivateUsage]
    lines += [f"    self._reject_several({union!r}, {names!r})\n" for union, names in unions]
    if arrays := ", ".join(_array_argument(row) for row in rows if row.type.startswith("[]")):
        checked = f"    except TypeError:\n        _check_iterable({arrays})\n        raise"
        lines = ["    try:\n", *(f"    {line}" for line in lines), checked]
    text = f"def __init__({', '.join(parameters)}):\n{''.join(lines) or '    pass'}"
    # To show the source lines in a traceback, Python asks the `__loader__` in the function's global variables.
    scope |= {"__name__": cls.__module__, "__loader__": _Text(text)}
    exec(compile(text, f"constructor of {cls.__module__}.{cls.__qualname__}", "exec"), scope)
    init = scope["__init__"]
    init.__kwdefaults__ = defaults
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {
        row.name: _parameter_type(cls.__annotations__[row.name]) for row in rows if row.name in cls.__annotations__
    }
    init.__annotations__ |= {"unknown_tags": "Mapping[int, bytes]"} if cls.HAS_TAGS else {}
    init.__annotations__["return"] = "None"
    return init


def _parameter_type(annotation: str) -> str:
    """Convert an attribute's annotation to the constructor parameter's annotation: `Array` becomes `Iterable`."""
    is_optional = annotation.startswith("ArrayOrNone[")
    _, bracket, element = annotation.partition("[")
    is_array = is_optional or annotation.startswith("Array[")
    return f"Iterable{bracket}{element}{' | None' * is_optional}" if is_array else annotation


def _stored(row: FieldRow, scope: dict[str, Any]) -> str:
    """Return source code that converts an argument to the value to store. It must do the same as `acceptor`."""
    name = row.name
    if row.type.startswith("[]"):
        return f"None if {name} is None else _tuple({name})" if _may_be_none(row) else f"_tuple({name})"
    if row.default is DEFAULT_STRUCT and not row.required:
        scope[f"_new_{name}"] = row.struct
        return f"_new_{name}() if {name} is _DEFAULT_STRUCT else {name}"
    if parameter_default(row) is DEFAULT_UUID:
        scope[f"_default_{name}"] = row.default
        return f"_default_{name} if {name} is _DEFAULT_UUID else {name}"
    return name


def _array_argument(row: FieldRow) -> str:
    return f"{row.name}=() if {row.name} is None else {row.name}" if _may_be_none(row) else f"{row.name}={row.name}"


class _Text:
    """A module loader that returns a constructor's source code for tracebacks."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def get_source(self, name: str) -> str:
        return self.text
