"""The base class of all wire types, and the errors for invalid values and bytes.

A type defines how its values are written as bytes, in JSON, as defaults in specs and in Arrow columns. `WireType` has
the default implementations.

Importing any message loads this module, so it imports rarely needed modules only in the functions that use them.
"""

from __future__ import annotations

from tagwire.wire.varint import UVARINT_MAX

# False at run time, but type checkers treat this name as true. Importing `typing.TYPE_CHECKING` would be slow.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, ClassVar


class Unfit(ValueError):
    """Raised for a value that the type rejects. `reason` is the error or, if `value` is given, what was expected."""

    def __init__(self, reason: str, *value: object, hint: str = "") -> None:
        super().__init__(reason, *value)
        self.reason = reason
        self.value = value
        self.hint = hint

    def message_with(self, got: Callable[[Any], str]) -> str:
        """Return the error text, such as "expected a string, got 1". The caller puts the field's path before it.

        `got` formats the invalid value, or returns a placeholder if the value may be sensitive.
        """
        return ", got ".join([self.reason, *map(got, self.value)]) + (self.hint and f"; {self.hint}")


class Deviation(ValueError):
    """Raised for noncanonical bytes, which lenient readers accept as `value`.

    `offset` is the position of the deviating byte, counted from the first byte of the value.
    """

    def __init__(self, found: str, expected: str, value: object, offset: int = 0) -> None:
        super().__init__(found, expected)
        self.found = found
        self.expected = expected
        self.value = value
        self.offset = offset


class WireType:
    """A primitive wire type: its name in specs, its bytes and its Python values. Each family is a subclass."""

    __slots__ = ("code", "high", "low", "name", "width")

    family: ClassVar[str]
    """The name of this family of types, such as "binary", in the native engine and in code templates."""
    annotation: ClassVar[str]
    """The Python type, as generated code writes it."""
    annotation_module: ClassVar[str] = ""
    """The module to import the Python type from, or "" for builtins."""
    length: ClassVar[str] = ""
    """The type of a noncompact length before a value: int16 or int32, or "" if there is no length."""
    longest: ClassVar[int] = UVARINT_MAX
    """The maximum length of a value in a message, in bytes."""
    is_raw: ClassVar[bool] = False
    """Whether the module `struct` does all checks and conversions that the values need."""
    is_slice: ClassVar[bool] = False
    """Whether values are slices of the input, which are memoryviews if the caller requests views."""
    is_enum: ClassVar[bool] = False
    """Whether the type is an integer type with an enum: see `tagwire.message.register`."""
    text_form: ClassVar[str] = ""
    """The defaults that specs may give, in words, such as "true or false", or "" if only the type's own is possible."""
    semantic: str = ""
    """The value of the key `semantic` in specs, such as "decimal(9,2)", or "" for most types."""
    default: ClassVar[Any]
    arrow_format: ClassVar[str] = ""
    """The Arrow format string of columns, or "" if there is none."""
    samples: ClassVar[tuple[Any, ...]]
    """A few values for fuzzing and for comparing specs. Their bytes differ, and the first is not the default."""

    def __init__(self, name: str, code: str = "", width: int = 0, low: int = 0, high: int = 0) -> None:
        self.name = name
        self.code = code
        """The format character of the module `struct`, or "" for types with a length."""
        self.width = width
        """The number of bytes on the wire, or 0 for types with a length."""
        self.low = low
        self.high = high

    @property
    def is_fixed(self) -> bool:
        """Whether every value takes `width` bytes."""
        return self.width > 0

    @property
    def label(self) -> str:
        """The type's name as shown in traces and documentation. For an enum type, the enum's name follows."""
        return self.name

    def name_of(self, value: Any) -> str:
        """Return the name of an enum value, or "" if values of this type have no names."""
        return ""

    @property
    def expected(self) -> str:
        """Describe the type and its values, for error messages."""
        return self.name if self.name == self.annotation else f"{self.name} (a {self.annotation})"

    def value_of(self, raw: Any) -> Any:
        """Convert the result of `struct.unpack`, or the bytes after a length, to a value.

        Raises Deviation for noncanonical bytes.
        """
        return raw

    def values_of(self, read: tuple[Sequence[Any], int]) -> tuple[tuple[Any, ...], int]:
        """Convert the raw elements of an array to values. Return (values, position after them).

        `read` is the result of generated code: (raw elements, position after them).
        """
        return tuple(map(self.value_of, read[0])), read[1]

    def raw_of(self, value: Any) -> Any:
        """Convert a value to the argument for `struct.pack`, or to bytes.

        Raises ValueError (often Unfit), TypeError or KeyError. `struct` pads or truncates bytes to a fixed width, so
        families with fixed-width bytes must reject other lengths here.
        """
        return value

    def read_many(self, buf: bytes, pos: int, count: int) -> tuple[tuple[Any, ...], int]:
        """Read `count` fixed-width values at `pos`; return them and the position after them.

        Raises ValueError for invalid values.
        """
        from struct import iter_unpack

        end = pos + self.width * count
        if count < 0 or end > len(buf):
            raise ValueError(f"{count} elements of type {self.name} do not fit into the remaining bytes")
        return tuple([self.value_of(raw) for (raw,) in iter_unpack(f">{self.code}", buf[pos:end])]), end

    def put_many(self, out: bytearray, values: Sequence[Any]) -> None:
        """Append fixed-width values, but not their count. Raises the errors of `raw_of` and of `struct.pack`."""
        from struct import pack

        for value in values:
            out += pack(f">{self.code}", self.raw_of(value))

    def meaning(self, value: Any) -> str:
        """Return a readable form to show next to the value, such as a date, or "" for types without a semantic."""
        return ""

    def to_json(self, value: Any, *, is_lossless: bool = True) -> Any:
        """Return a value in the JSON form of messages: a bool, a number or a string."""
        return value

    def from_json(self, value: Any) -> Any:
        """Parse a value from its JSON form. Raises Unfit if the value is not in that form, or out of range."""
        raise Unfit(f"{self.name} has no JSON form", value)

    def from_text(self, text: str) -> Any:
        """Parse a default as it is written in a spec. Raises ValueError if it does not match `text_form`."""
        raise ValueError(text)

    def canonical_text(self, text: str) -> str:
        """Return the canonical form of `text`, a default in a spec. For integers, this is the decimal form."""
        return text

    def holds(self, value: object) -> bool:
        """Return whether a default value has this type's Python type. Does not check the range."""
        return False

    def to_arrow(self, value: Any) -> Any:
        return value

    def from_arrow(self, value: Any) -> Any:
        return value

    def __repr__(self) -> str:
        return f"<wire type {self.name}>"
