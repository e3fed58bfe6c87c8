"""Enums: `Register`, the base class of tables of named numbers, and `EnumType`, the wire type of fields with an enum.

A member of a register is an int. `name` is its Python name, and `text` its display name. If a field has an `enum` in
its spec, the field's values are members of that enum. On the wire they are integers of the enum's base type, such as
int8. In Python, a known number is a member of the enum's class. An unknown number stays a plain int, or is rejected if
the enum is closed.
"""

from __future__ import annotations

from enum import IntEnum
from operator import index

from tagwire.lazy import FrozenData
from tagwire.wire.families import IntegerType
from tagwire.wire.wire_type import Deviation, Unfit

# Type checkers treat this name as true. Importing `typing.TYPE_CHECKING` instead would be slow.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import KW_ONLY
    from typing import Any, Self

    from tagwire.wire.wire_type import WireType

_MOST_SHOWN = 12
"""The maximum number of enum members that an error lists."""


class KeyRange(FrozenData):
    """A range of keys from `first` to `last` (both included), with a note on who may assign them."""

    name: str
    first: int
    last: int
    _: KW_ONLY
    reserved: bool = False
    """Whether the keys must not be used."""

    def __contains__(self, key: int) -> bool:
        return self.first <= key <= self.last

    def __repr__(self) -> str:
        return f"<{self.name}: 0x{self.first:08X} to 0x{self.last:08X}>"


class Register(IntEnum):
    """The base class of tables of named numbers. A member's number is called its key."""

    _value_: int
    _closed: bool
    _names: tuple[str, ...]
    text: str
    """The member's display name; by default, the name of its constant."""
    codec: str
    """The codec for values of record headers with this key, or "" if there is none."""

    def __new__(cls, key: int, text: str = "", codec: str = "") -> Register:
        member = int.__new__(cls, key)
        member._value_ = key
        member.text = text
        member.codec = codec
        return member

    def __init__(self, *_: object) -> None:
        self.text = self.text or self.name

    def __init_subclass__(cls, *, closed: bool = False, names: tuple[str, ...] = ()) -> None:
        super().__init_subclass__()
        cls._closed = closed
        cls._names = names

    def __str__(self) -> str:
        return self.text

    @classmethod
    def of(cls, key: int) -> Self:
        """Return the member with this key. For an unknown key, make a new member that is named after the key.

        Iterating over the class omits such new members. Raises EncodeError if the key is not an int.
        """
        if not isinstance(key, int):
            from tagwire.errors import EncodeError
            from tagwire.text_format import got

            raise EncodeError(f"expected an int, got {got(key)}", message_name=cls.__name__, version=None, path="of()")
        try:
            return cls(key)
        except ValueError:
            pass
        member = int.__new__(cls, key)
        member._value_, member._name_ = int(key), f"UNKNOWN_{int(key)}"
        member.text, member.codec = member._name_, ""
        return member

    def __reduce_ex__(self, proto: object) -> tuple[object, ...]:
        """Pickle only a member's number, which also works for unknown numbers."""
        return type(self).of, (int(self),)

    @classmethod
    def is_closed(cls) -> bool:
        """Whether fields with this enum only accept the numbers of its members."""
        return cls._closed

    @classmethod
    def named_fields(cls) -> tuple[str, ...]:
        """Return the paths of the fields that use this enum: `Message.path.to.field`, or `*.field` for any message."""
        return cls._names

    @classmethod
    def name_of(cls, key: int) -> str | None:
        """Return the display name of the member with this number, or None if there is no such member."""
        return next((member.text for member in cls if member == key), None)

    @classmethod
    def key_of(cls, text: str) -> Register | None:
        """Return the member with this display name, or None if there is none."""
        return next((member for member in cls if member.text == text), None)


class _Members(dict[int, "Register"]):
    """Maps numbers to enum members. Unknown numbers map to themselves, or raise Deviation if the enum is closed."""

    __slots__ = ("type",)
    type: EnumType

    def __missing__(self, number: int) -> int:
        if self.type.is_closed:
            raise Deviation(str(number), self.type.expected, number)
        return number


class EnumType(IntegerType):
    """An integer type whose values are enum members. Types with the same base type and enum are equal."""

    __slots__ = ("base", "enum", "is_closed", "members", "numbers")
    is_raw = False
    is_enum = True

    def __init__(self, base: WireType, enum: type[Register]) -> None:
        super().__init__(base.name, base.code, base.width, base.low, base.high)
        self.base = base
        self.enum = enum
        self.is_closed = enum.is_closed()
        """Whether numbers without a member are rejected."""
        members = _Members({int(member): member for member in enum})
        members.type = self
        self.members: dict[int, Any] = members
        """Members by number; generated code looks up every number that it reads."""
        self.numbers = {member.text: member for member in enum}
        """Members by display name, which JSON and specs use."""

    @property
    def expected(self) -> str:
        if not self.is_closed:
            return super().expected
        names = [f"{member.text} ({int(member)})" for member in self.enum]
        more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
        return f"{self.enum.__name__}: {', '.join(names[:_MOST_SHOWN])}{more}"

    @property
    def label(self) -> str:
        return f"{self.name} {self.enum.__name__}"

    @property
    def samples(self) -> tuple[Any, ...]:  # type: ignore[override]
        members = [member for member in self.enum if member != 0] + [member for member in self.enum if member == 0]
        others = [] if self.is_closed else [self.members[number] for number in (1, self.high, self.low)]
        return (*members, *others)

    def name_of(self, value: Any) -> str:
        member = self.members.get(int(value))
        return "" if member is None else member.text

    def value_of(self, raw: int) -> Any:
        return self.members[raw]

    def raw_of(self, value: Any) -> Any:
        if self.is_closed and index(value) not in self.members:
            raise Unfit(f"expected {self.expected}", value)
        return value

    def to_json(self, value: Any, *, is_lossless: bool = True) -> Any:
        number = int(value)
        member = self.members.get(number)
        return number if member is None else member.text

    def from_json(self, value: Any) -> Any:
        if isinstance(value, str):
            member = self.numbers.get(value)
            if member is None:
                from tagwire.text_format import suggestion

                raise Unfit(f"expected a member of {self.enum.__name__}", value, hint=suggestion(value, self.numbers))
            return member
        try:
            return self.members[super().from_json(value)]
        except Deviation as odd:
            raise Unfit(f"expected {odd.expected}", value) from None

    def from_text(self, text: str) -> Any:
        return self.numbers.get(text) or self.members[super().from_text(text)]

    def to_arrow(self, value: Any) -> int:
        return int(value)

    def from_arrow(self, value: Any) -> Any:
        return self.members.get(value, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EnumType) and (self.base, self.enum) == (other.base, other.enum)

    def __hash__(self) -> int:
        return hash((self.name, self.enum.__name__))
