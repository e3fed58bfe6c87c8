"""Registers of keys: the base of generated constants, with names both ways.

A member is the key as an int, so it goes wherever the number goes. Its name is
that of the constant; `text` is what people call it. Fields that have a register
as their `enum` hold its members (`tagwire.message.enums`).
"""

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self  # type checkers know it without the package


class KeyRange:
    """The keys from `first` to `last`, both included, and who assigns them."""

    __slots__ = ("first", "last", "name", "reserved")

    def __init__(self, name: str, first: int, last: int, *, reserved: bool = False) -> None:
        self.name = name
        self.first = first
        self.last = last
        self.reserved = reserved
        """Its keys are not to be used."""

    def __contains__(self, key: int) -> bool:
        return self.first <= key <= self.last

    def __repr__(self) -> str:
        return f"<{self.name}: 0x{self.first:08X} to 0x{self.last:08X}>"


class Register(IntEnum):
    """The keys of one register."""

    _value_: int
    _closed: bool
    _names: tuple[str, ...]
    text: str
    """What people call the key: the name of the constant, where the register says no other."""
    codec: str
    """How a header's value is written, "" where the register does not say: see `tagwire.records`."""

    def __new__(cls, key: int, text: str = "", codec: str = "") -> "Register":
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
        """Return the name of the key, as people call it."""
        return self.text

    @classmethod
    def of(cls, key: int) -> "Self":
        """Return the member with this key, and for an unknown key a member of its own, named after it.

        So a number of a newer peer has all that members have. Such a member isn't among those of the class.
        """
        try:
            return cls(key)
        except ValueError:
            pass
        member = int.__new__(cls, key)
        member._value_, member._name_ = int(key), f"UNKNOWN_{int(key)}"
        member.text, member.codec = member._name_, ""
        return member

    @classmethod
    def is_closed(cls) -> bool:
        """Whether a field of this register refuses other numbers than those of the members."""
        return cls._closed

    @classmethod
    def named_fields(cls) -> tuple[str, ...]:
        """The fields whose numbers it names where they are shown: `Message.path.to.field`, or `*.field` for all."""
        return cls._names

    @classmethod
    def name_of(cls, key: int) -> str | None:
        """What people call a key; None for one that the register does not have."""
        return next((member.text for member in cls if member == key), None)

    @classmethod
    def key_of(cls, text: str) -> "Register | None":
        """The key that people call so; None where there is none."""
        return next((member for member in cls if member.text == text), None)
