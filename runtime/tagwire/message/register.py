"""The base class of generated enums, with lookups by number and by name.

A member is an int. `name` is its Python name, and `text` its display name. If a field has an `enum` in its spec, the
field's values are members of that enum (`tagwire.message.enums`).
"""

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self  # importing `typing` at run time is slow


class KeyRange:
    """A range of keys from `first` to `last` (both included), with a note on who may assign them."""

    __slots__ = ("first", "last", "name", "reserved")

    def __init__(self, name: str, first: int, last: int, *, reserved: bool = False) -> None:
        self.name = name
        self.first = first
        self.last = last
        self.reserved = reserved
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
        return self.text

    @classmethod
    def of(cls, key: int) -> "Self":
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
    def key_of(cls, text: str) -> "Register | None":
        """Return the member with this display name, or None if there is none."""
        return next((member for member in cls if member.text == text), None)
