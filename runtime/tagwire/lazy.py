"""Lazy imports of packages' names and of optional libraries, and replacements for two modules that import slowly.

`import tagwire` is fast because a package's names are loaded on first use (`lazy_names`). Optional libraries are also
imported on first use (`required`). If one is missing, the error names the extra that installs it. `Generic`,
`ClassVar` and `FrozenData` replace their counterparts in `typing`, and data classes.
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar, Generic, TypeVar, dataclass_transform

    P = TypeVar("P", bound="FrozenData")
else:
    from types import GenericAlias

    class Generic:
        """Replaces `typing.Generic`, which is slow to import, for parameters that matter only to type checkers.

        At run time, a parameter may be anything, such as a class name: generated requests extend
        `Message["RequestHeader"]`.
        """

        __slots__ = ()
        __class_getitem__ = classmethod(GenericAlias)

    class ClassVar:
        """Replaces `typing.ClassVar` in annotations of base classes, so that `typing.get_type_hints` can read them.

        Import it in the `else` branch of `if TYPE_CHECKING`, because pyright recognizes only `typing.ClassVar` itself.
        """

        def __class_getitem__(cls, type):
            from typing import ClassVar

            return ClassVar[type]

    def dataclass_transform():
        return lambda cls: cls


__all__ = ["ClassVar", "FrozenData", "Generic", "lazy_names", "no_attribute", "required"]


@dataclass_transform()
class FrozenData:
    """The base class of immutable objects, which declare their attributes like a data class (module `dataclasses`).

    Attributes after the line `_: KW_ONLY` are passed by keyword. `__post_init__` is called when all attributes are set.
    `==` compares the attributes, and `repr` shows those that differ from their defaults.
    """

    __match_args__: ClassVar[tuple[str, ...]]
    _positional: ClassVar[tuple[str, ...]]
    _names: ClassVar[dict[str, None]]
    """The names of all attributes, as the keys of a dict, because these are ordered."""
    _required: ClassVar[frozenset[str]]

    def __init_subclass__(cls) -> None:
        names = [name for name, type in cls.__annotations__.items() if not type.startswith("ClassVar")]
        first_named = names.index("_") if "_" in names else len(names)
        cls._positional = cls.__match_args__ = tuple(names[:first_named])  # type: ignore[misc]
        cls._names = dict.fromkeys((*cls._positional, *names[first_named + 1 :]))
        cls._required = frozenset(cls._names.keys() - vars(cls).keys())

    def __init__(self, *arguments: Any, **named: Any) -> None:
        values = dict(zip(self._positional, arguments, strict=False), **named) if arguments else named
        if len(arguments) > len(self._positional) or not self._required <= values.keys() <= self._names.keys():
            found = f"{len(arguments)} positional arguments, and {', '.join(named) or 'none'} by keyword"
            raise TypeError(f"{type(self).__name__}({', '.join(self._names)}) got {found}")
        self.__dict__.update(values)  # without defaults, which are attributes of the class
        self.__post_init__()

    def __post_init__(self) -> None:
        """Check the attributes, or complete them."""

    def _values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self._names])

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, FrozenData) and type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *map(repr, self._values())))

    def given(self) -> list[tuple[str, Any]]:
        """Return the names and values of the attributes that differ from their defaults."""
        values = zip(self._names, self._values(), strict=True)
        return [(name, value) for name, value in values if name in self._required or value != getattr(type(self), name)]

    def replace(self: P, **changes: Any) -> P:
        return type(self)(**dict(self.given()) | changes)

    __replace__ = replace

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.given())})"


def no_attribute(package: str, name: str) -> AttributeError:
    """Return the AttributeError for an unknown name in a package. When printed, it suggests a similar name."""
    return AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules.get(package))


def lazy_names(
    package: str, modules: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` functions for a package. `modules` lists the names that each module provides.

    If several modules list a name, it is taken from the first that has it. Type checkers do not see these names, so the
    package also imports them under `TYPE_CHECKING`.
    """
    namespace = vars(sys.modules[package])

    def load(name: str) -> object:
        for module in (module for module, names in modules.items() if name in names):
            found = import_module(module)
            value = found if module == f"{package}.{name}" else getattr(found, name, None)
            if value is not None:
                namespace[name] = value
                return value
        raise no_attribute(package, name)

    def names() -> list[str]:
        return sorted({*namespace, *(name for names in modules.values() for name in names)})

    return load, names


def required(module: str, extra: str) -> Any:
    """Import and return a module. Raises MissingExtraError if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        from tagwire.errors import MissingExtraError

        raise MissingExtraError(module.partition(".")[0], extra) from error
