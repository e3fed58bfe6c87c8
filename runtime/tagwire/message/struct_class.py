"""The base class of generated data classes: messages and their structs.

A data class consists of its declared fields and `unknown_tags`. The methods in this module ignore slots and
constructors that a subclass adds. The native engine replaces some of the methods (`tagwire.message.binding`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tagwire.errors import EncodeError
from tagwire.message.binding import FirstUse, constructor, engine_methods, field_table, first_use, from_fields
from tagwire.message.declarations import attributes_of, field
from tagwire.wire.unknown_tags import NO_TAGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, dataclass_transform

    from typing_extensions import TypeVar  # type checkers include `typing_extensions`

    from tagwire.message.field_table import FieldRow

    R = TypeVar("R")
    S = TypeVar("S", bound="Struct")

    @dataclass_transform(kw_only_default=True, field_specifiers=(field,))
    class Declarations:
        """Makes type checkers derive the constructor of each subclass from its declared fields."""

else:
    from tagwire.lazy import ClassVar

    Declarations = object


def _without_fields(self: Struct, **fields: Any) -> None:
    raise TypeError(f"{type(self).__name__} has no fields; declare fields with `field` and `data_class`")


def _default_values(cls: type[Struct]) -> tuple[dict[str, Any], tuple[FieldRow, ...]]:
    from tagwire.layout.structs import DEFAULT_STRUCT

    rows = cls._rows  # pyright: ignore[reportPrivateUsage]
    values = {name: row.default for name, row in rows.items()} | ({"unknown_tags": NO_TAGS} if cls.HAS_TAGS else {})
    return values, tuple(row for row in rows.values() if row.default is DEFAULT_STRUCT)


def _arguments_accepted(cls: type[Struct]) -> dict[str, Callable[[Any], Any] | None]:
    from tagwire.message.constructors import acceptor

    rows = cls._rows  # pyright: ignore[reportPrivateUsage]
    return {name: acceptor(rows[name]) if name in rows else None for name in attributes_of(cls)}


def _alternatives(cls: type[Struct]) -> dict[str, tuple[str, ...]]:
    unions: dict[str, tuple[str, ...]] = {}
    for row in cls.FIELDS:
        if row.union:
            unions[row.union] = (*unions.get(row.union, ()), row.name)
    return unions


class Struct(Declarations):
    """A struct of a message. It is mutable, compared by its fields, and not hashable.

    Arrays compare by their elements, whether tuple or list, and floats by their bits, so that a NaN equals itself.
    Copies contain the declared fields and are made without calling `__init__`.
    """

    __slots__: tuple[str, ...] = ()

    HAS_TAGS: ClassVar[bool] = True
    """Whether objects keep unknown tags; structs of record formats do not."""

    if TYPE_CHECKING:
        FIELDS: ClassVar[tuple[FieldRow, ...]]
        """The versioned field table: a row for each field, in spec order."""
        _attributes: ClassVar[tuple[str, ...]]
        """The attribute names of objects: the fields, and `unknown_tags`."""
        _rows: ClassVar[dict[str, FieldRow]]
        """The rows of the fields, by name."""
        _defaults: ClassVar[tuple[dict[str, Any], tuple[FieldRow, ...]]]
        """The defaults by attribute, and the fields that need a new struct for each object."""
        _acceptors: ClassVar[dict[str, Callable[[Any], Any] | None]]
        """For each attribute, the function that converts a constructor argument to the stored value, or None."""
        _unions: ClassVar[dict[str, tuple[str, ...]]]
        """The alternatives of each union."""

        unknown_tags: Mapping[int, bytes] = field("", "", "", default=NO_TAGS)
        """Tagged fields that are not in the spec, by tag."""

        def __init__(self, **fields: Any) -> None: ...

    else:
        FIELDS = FirstUse((), field_table)
        _attributes = FirstUse((), from_fields(lambda cls: tuple(cls.__slots__)))
        _rows = FirstUse((), from_fields(lambda cls: {row.name: row for row in cls.FIELDS if not row.is_computed}))
        _defaults = FirstUse((), from_fields(_default_values))
        _acceptors = FirstUse((), from_fields(_arguments_accepted))
        _unions = FirstUse((), from_fields(_alternatives))
        __init__ = FirstUse(_without_fields, constructor)

    @classmethod
    def _fresh(cls: type[S]) -> S:
        """Make an object with all fields at their defaults, even required fields.

        Private, because a public name might clash with a field. Call `tagwire.layout.fresh` instead.
        """
        return made_of(cls, {})

    @first_use(engine_methods)
    def replace(self: S, **changes: Any) -> S:
        """Return a copy with some fields changed. The copy shares nested structs with the original.

        Raises TypeError for unknown fields.
        """
        copy = self.__new__(type(self))
        acceptors = self._acceptors
        for name in changes:
            if name not in acceptors:
                raise TypeError(f"{type(self).__name__}.replace() got an unexpected keyword argument {name!r}")
        for name, accept in acceptors.items():
            value = changes[name] if name in changes else getattr(self, name)
            setattr(copy, name, value if accept is None or name not in changes else accept(value))
        if changes:
            for union, names in self._unions.items():
                copy._reject_several(union, names)
        return copy

    @first_use(engine_methods)
    def __replace__(self: S, **changes: Any) -> S:
        """Support `copy.replace` (Python 3.13)."""
        return self.replace(**changes)

    @first_use(engine_methods)
    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        for name in self._attributes:
            one, another = getattr(self, name), getattr(other, name)
            if one is not another and not same(one, another):
                return False
        return True

    __hash__ = None  # type: ignore[assignment]

    def _changed(self) -> dict[str, Any]:
        """Return the values of all required fields, and of all other fields that differ from their default."""
        found = {}
        for name, row in self._rows.items():
            value = getattr(self, name)
            if row.required or not same(value, row.fresh_value()):
                found[name] = value
        if self.HAS_TAGS and self.unknown_tags != NO_TAGS:
            found["unknown_tags"] = self.unknown_tags
        return found

    def _displayed(self) -> dict[str, Any]:
        from tagwire.sensitive import Hidden, hides

        changed = self._changed()
        if hides():
            changed.update({row.name: Hidden() for row in self.FIELDS if row.sensitive and row.name in changed})
        return changed

    @first_use(engine_methods)
    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._displayed().items())})"

    def __rich_repr__(self) -> Iterable[tuple[str, Any]]:
        """Return the fields that the library rich shows."""
        return self._displayed().items()

    def _repr_html_(self) -> str:
        from tagwire.message.html import html_table

        return html_table(self)

    def __copy__(self: S) -> S:
        return self.replace()

    @first_use(engine_methods)
    def __deepcopy__(self: S, memo: dict[int, Any]) -> S:
        from copy import deepcopy

        memo.setdefault(id(NO_TAGS), NO_TAGS)  # deepcopy can't copy NO_TAGS, which is immutable anyway
        copy = memo[id(self)] = self.__new__(type(self))  # stored first: a field may contain the object itself
        for name in self._attributes:
            setattr(copy, name, deepcopy(owned(getattr(self, name)), memo))
        return copy

    def __reduce__(self) -> tuple[object, ...]:
        # Memoryviews and NO_TAGS can't be pickled. So convert memoryviews to bytes, and omit NO_TAGS. Pickle the fields
        # as state, because an object may contain itself.
        changed = {name: owned(value) for name, value in self._changed().items()}
        return _empty, (type(self),), changed, None, None, _fill

    # Generated code calls the following methods. Type checkers infer `R` from the generated annotations.

    def _reject_several(self, union: str, names: tuple[str, ...]) -> None:
        chosen: Any = self._alternative(union, names)
        del chosen

    def _alternative(self, union: str, names: tuple[str, ...]) -> R:  # type: ignore[type-var]
        found = [(name, value) for name in names if (value := getattr(self, name)) is not None]
        if len(found) > 1:
            from tagwire.interpreter.value_walk import several_text

            reason = several_text(union, found[0][0])
            raise EncodeError(reason, message_name=type(self).__name__, version=None, path=found[1][0])
        chosen: Any = found[0] if found else None
        return chosen  # type: ignore[no-any-return]

    def _which(self, union: str) -> R:  # type: ignore[type-var]
        chosen: Any = getattr(self, union)
        return chosen and chosen[0]  # type: ignore[no-any-return]

    def _choose(self, union: str, names: tuple[str, ...], chosen: Any) -> None:
        name, value = (None, None) if chosen is None else chosen
        if chosen is not None and name not in names:
            reason = f"expected one of {', '.join(names)}, got {name!r}"
            raise EncodeError(reason, message_name=type(self).__name__, version=None, path=union)
        for other in names:
            setattr(self, other, value if other == name else None)

    def _by_key(self, array: str, keys: tuple[str, ...]) -> R:  # type: ignore[type-var]
        elements: dict[Any, Any] = {}
        for index, element in enumerate(getattr(self, array) or ()):
            values = tuple([owned(getattr(element, name)) for name in keys])
            key = values if len(keys) > 1 else values[0]
            if key in elements:
                reason = f"has the key of an element before it, {', '.join(keys)}; {array}_by_key needs unique keys"
                path = f"{array}[{index}]"
                raise EncodeError(reason, message_name=type(self).__name__, version=None, path=path)
            elements[key] = element
        by_key: Any = elements
        return by_key  # type: ignore[no-any-return]


def made_of(cls: type[S], fields: Mapping[str, Any]) -> S:
    """Make an object with these field values, and defaults for all other fields, without calling `__init__`."""
    result = cls.__new__(cls)
    _fill(result, fields)
    return result


def _fill(struct: Struct, fields: Mapping[str, Any]) -> None:
    defaults, with_structs = struct._defaults  # pyright: ignore[reportPrivateUsage]
    for name, value in {**defaults, **fields}.items():
        setattr(struct, name, value)
    for row in with_structs:
        if row.name not in fields:
            setattr(struct, row.name, row.fresh_value())


def _empty(cls: type[S]) -> S:
    return cls.__new__(cls)


def owned(value: Any) -> Any:
    """Return `value` with its memoryviews converted to bytes, because memoryviews can't be copied or pickled."""
    if isinstance(value, memoryview):
        return value.tobytes()
    if isinstance(value, tuple | list) and any(isinstance(element, memoryview) for element in value):
        return tuple(map(owned, value))
    return value


def _bits(value: float) -> bytes:
    from struct import pack

    return pack(">d", value)


def same(one: Any, other: Any) -> bool:
    """Return whether two field values are equal. Floats compare by their bits, arrays by their elements."""
    if isinstance(one, float) and isinstance(other, float):
        return one.hex() == other.hex() and (one == one or _bits(one) == _bits(other))
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
