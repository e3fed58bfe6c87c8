"""Wire types: the class that every family of types extends, and the errors for invalid values and bytes.

A type answers everything that differs between families: bytes, JSON, defaults in specs, Arrow columns, samples,
Hypothesis strategies. `WireType` has the answers for what a family leaves out.

Importing a message loads this module, so rarely needed modules are imported where they are used.
"""

from __future__ import annotations

from tagwire.wire.varint import UVARINT_MAX

# Known to type checkers by its name. `typing` takes longer to import than all of this package's core.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, ClassVar


class Unfit(ValueError):
    """A value that a type can't have: the reason, or with the value what was expected instead of it."""

    def __init__(self, reason: str, *value: object, hint: str = "") -> None:
        super().__init__(reason, *value)
        self.reason = reason
        self.value = value
        self.hint = hint

    def said(self, got: Callable[[Any], str]) -> str:
        """The text of an error, to follow the path of the field; `got` describes the value or hides it."""
        return ", got ".join([self.reason, *map(got, self.value)]) + (self.hint and f"; {self.hint}")


class Deviation(ValueError):
    """Bytes that should be others but have a meaning, `value`, which lenient readers take.

    `offset` is that of the odd byte, counted from the first byte of the value.
    """

    def __init__(self, found: str, expected: str, value: object, offset: int = 0) -> None:
        super().__init__(found, expected)
        self.found = found
        self.expected = expected
        self.value = value
        self.offset = offset


class WireType:
    """A primitive: its name in specs, its bytes, its values. Each family is a subclass."""

    __slots__ = ("code", "high", "low", "name", "width")

    family: ClassVar[str]
    """What the native engine and templates call the family."""
    annotation: ClassVar[str]
    """The Python type, as generated code writes it."""
    annotation_module: ClassVar[str] = ""
    """Where that is imported from; "" for what is built in."""
    length: ClassVar[str] = ""
    """The length before a value where it is not compact: int16 or int32; "" for types without one."""
    longest: ClassVar[int] = UVARINT_MAX
    """The most bytes that a value with a length may have in a message."""
    is_raw: ClassVar[bool] = False
    """Whether `struct` reads and packs the values unchanged, and rejects all others."""
    is_slice: ClassVar[bool] = False
    """Whether a value is made of a slice of the input, which is a view where a caller wants views."""
    is_enum: ClassVar[bool] = False
    """Whether numbers have members of a register: `tagwire.message.enums`."""
    text_form: ClassVar[str] = ""
    """How a spec writes a default; "" where it can't have one but the type's own."""
    semantic: str = ""
    """What the values mean, as FieldRow writes it; "" for most."""
    default: ClassVar[Any]
    """The value of a field without a default of its own."""
    arrow_format: ClassVar[str] = ""
    """The type of an Arrow column, as the C data interface writes it; "" where there is none."""
    samples: ClassVar[tuple[Any, ...]]
    """A few values that differ on the wire; the first is not the default."""

    def __init__(self, name: str, code: str = "", width: int = 0, low: int = 0, high: int = 0) -> None:
        self.name = name
        self.code = code
        """The `struct` code, big-endian; "" for types with a length."""
        self.width = width
        """Bytes on the wire; 0 for types with a length."""
        self.low = low
        self.high = high

    @property
    def is_fixed(self) -> bool:
        """Whether every value takes `width` bytes."""
        return self.width > 0

    @property
    def label(self) -> str:
        """The type as traces, docs and findings call it: its name, and what more is to know of its values."""
        return self.name

    def name_of(self, value: Any) -> str:
        """What people call a value, where they have a name for it; "" else."""
        return ""

    @property
    def expected(self) -> str:
        """The type and its values, as an error names them."""
        return self.name if self.name == self.annotation else f"{self.name} (a {self.annotation})"

    # ------------------------------------------------------------ bytes

    def value_of(self, raw: Any) -> Any:
        """The value of what `struct` reads, or of the bytes after a length. Raises Deviation."""
        return raw

    def values_of(self, read: tuple[Sequence[Any], int]) -> tuple[tuple[Any, ...], int]:
        """Return the values of an array's bytes, and the offset after the array. Generated code calls it."""
        return tuple(map(self.value_of, read[0])), read[1]

    def raw_of(self, value: Any) -> Any:
        """What `struct` packs for a value, or its bytes. Raises Unfit, or another ValueError, TypeError or KeyError.

        `struct` pads and cuts bytes of a fixed width: a family of those has to refuse other widths here.
        """
        return value

    def read_many(self, buf: bytes, pos: int, count: int) -> tuple[tuple[Any, ...], int]:
        """`count` values of a fixed width at `pos`, and where they end. Raises ValueError."""
        from struct import iter_unpack

        end = pos + self.width * count
        if count < 0 or end > len(buf):
            raise ValueError(f"{count} elements of {self.name} do not fit")
        return tuple([self.value_of(raw) for (raw,) in iter_unpack(f">{self.code}", buf[pos:end])]), end

    def put_many(self, out: bytearray, values: Sequence[Any]) -> None:
        """Append values of a fixed width without a count. Raises what `raw_of` and `struct` do."""
        from struct import pack

        for value in values:
            out += pack(f">{self.code}", self.raw_of(value))

    def meaning(self, value: Any) -> str:
        """What people are shown beside a value; "" for nothing."""
        return ""

    # ------------------------------------------------------------ JSON

    def to_json(self, value: Any, *, is_lossless: bool = True) -> Any:
        """A value in the JSON form of messages: a bool, a number or a text."""
        return value

    def from_json(self, value: Any) -> Any:
        """The value that JSON says. Raises Unfit."""
        raise Unfit(f"{self.name} has no JSON form", value)

    # ------------------------------------------------------------ defaults in specs

    def from_text(self, text: str) -> Any:
        """The default that a spec's text means. Raises ValueError for a text that is not of `text_form`."""
        raise ValueError(text)

    def canonical_text(self, text: str) -> str:
        """The one text of those that mean the same default."""
        return text

    def holds(self, value: object) -> bool:
        """Whether a default is a Python value of the type, its range apart."""
        return False

    # ------------------------------------------------------------ Arrow, Hypothesis

    def to_arrow(self, value: Any) -> Any:
        """A value as pyarrow takes it."""
        return value

    def from_arrow(self, value: Any) -> Any:
        """A value as pyarrow gives it, as an object has it."""
        return value

    def strategy(self) -> Any:
        """A Hypothesis strategy for all values."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<wire type {self.name}>"
