"""How a data class declares its fields: one line for each, followed by its docstring.

    class MemberIdentity(Struct, metaclass=data_class):
        member_id: str = field("MemberId", "string", "3+", default="")
        \"\"\"The ID that the coordinator gave the member.\"\"\"

`data_class` makes a plain class with slots. It removes the declarations from the class body, because a slot can't have
the same name as a class attribute. The field table and the constructor are made from the declarations on first use
(`tagwire.message.binding`).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar, overload

    from tagwire.message.struct_class import Struct

    T = TypeVar("T")


class DeclaredField(tuple["Any", ...]):
    """The positional and keyword arguments of a `field` call."""

    __slots__ = ()


class ComputedField(DeclaredField):
    """A length, count or checksum in a record format. It is computed from other fields, so objects don't store it."""

    __slots__ = ()


class ClassDoc:
    """The docstring of a data class. On access, the documentation of the fields is added to it."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __get__(self, struct: Struct | None, cls: type[Struct]) -> str:
        from tagwire.message.field_docs import with_fields

        return with_fields(cls, self.text)


def attributes_of(cls: type[Struct]) -> tuple[str, ...]:
    """Return the names of a data class's attributes: its fields, and `unknown_tags` if it can have tagged fields."""
    return cls._attributes  # pyright: ignore[reportPrivateUsage]


def computed_field(*wire: str, **more: Any) -> object:
    """Declare a field of a record format that is computed from other fields: a length, count or checksum."""
    return ComputedField((wire, more))


if TYPE_CHECKING:
    # Type checkers treat a constructor parameter as optional if its field has the keyword `default` or `factory`.

    @overload
    def field(name: str, type: str, versions: str, /, *, factory: Callable[[], T], **more: Any) -> T: ...
    @overload
    def field(name: str, type: str, versions: str, /, *, default: tuple[()] | None = ..., **more: Any) -> Any: ...
    @overload
    def field(name: str, type: str, versions: str, /, *, default: T, **more: Any) -> T: ...
    def field(*wire: str, **more: Any) -> Any:
        """Declare a field: its name in the spec, its type, its versions, and keywords of `FieldRow`.

        In a new object, the field has the value `default` or, for a struct, a new object of the class `factory`. A
        field with neither is required. In versions without the field, decoding sets it to `absent`.
        """

    data_class = type
else:

    def field(*wire, **more):
        """Declare a field."""
        return DeclaredField((wire, more))

    def data_class(name, bases, body):
        """Make a data class from a class body. Used as `metaclass`, but the result is an ordinary class."""
        declared = {key: value for key, value in body.items() if isinstance(value, DeclaredField)}
        for key in declared:
            del body[key]
        slots = [key for key, value in declared.items() if type(value) is DeclaredField]
        if bases[0].HAS_TAGS:
            slots.append("unknown_tags")
        body["_declared"] = declared
        body["__doc__"] = ClassDoc(body.get("__doc__") or "")
        body["__slots__"] = tuple(slots)
        return type(name, bases, body)
