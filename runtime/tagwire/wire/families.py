"""The families of wire types, such as integers: how to check and convert the Python values of a type.

A family is a subclass of `WireType`. Each type is an instance of a family, and is listed in the table of
`tagwire.wire.types`.

Importing any message loads this module, so it imports rarely needed modules only in the functions that use them.
"""

from __future__ import annotations

from tagwire.wire.wire_type import Deviation, Unfit, WireType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Final

STRING_MAX: Final = 32767
"""The maximum length of a string in UTF-8 bytes: the highest int16, even for a string with a compact length."""


_FORMATS: Final = {1: "c", 2: "s", 4: "i", 8: "l"}
_INTEGER: Final = "[+-]?(0|[1-9][0-9]{0,39})"  # at most 40 digits, because `int` rejects thousands of digits
_HEXADECIMAL: Final = "0x[0-9A-Fa-f]{1,40}"


def integer_format(width: int, *, is_signed: bool) -> str:
    """Return the Arrow format string for integers of `width` bytes, or "" if there is none."""
    format = _FORMATS.get(width, "")
    return format if is_signed else format.upper()


class IntegerType(WireType):
    """An int. Values outside the type's range are rejected."""

    __slots__ = ()
    family = "integer"
    annotation = "int"
    is_raw = True
    text_form = "a decimal number without leading zeros and blanks, or 0x with hexadecimal digits"
    default = 0
    arrow_format: ClassVar[Any] = property(lambda self: integer_format(self.width, is_signed=self.low < 0))
    samples: ClassVar[Any] = property(lambda self: (1, self.high, self.low))

    @property
    def expected(self) -> str:
        return f"{self.name} ({self.low} to {self.high})"

    def to_json(self, value: Any, *, is_lossless: bool = True) -> int:
        return int(value)  # converts an enum member to a plain int

    def from_json(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not self.low <= value <= self.high:
            raise Unfit(f"expected {self.name} ({self.low} to {self.high})", value)
        return value

    def from_text(self, text: str) -> int:
        from re import fullmatch

        if fullmatch(_HEXADECIMAL, text):
            return int(text, 16)
        if fullmatch(_INTEGER, text):
            return int(text)
        raise ValueError(text)

    def canonical_text(self, text: str) -> str:
        return str(int(text, 16 if text.startswith("0x") else 10))

    def holds(self, value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool)


class BooleanType(WireType):
    """A bool, encoded as a byte of 0 or 1."""

    __slots__ = ()
    family = "boolean"
    annotation = "bool"
    text_form = "true or false"
    default = False
    arrow_format = "b"
    samples = (True, False)

    def value_of(self, raw: int) -> bool:
        if raw > 1:
            raise Deviation(f"byte {raw}", "0 or 1", True)
        return raw == 1

    def raw_of(self, value: Any) -> int:
        return {False: 0, True: 1}[value]

    def to_json(self, value: Any, *, is_lossless: bool = True) -> bool:
        return bool(value)

    def from_json(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise Unfit("expected true or false", value)
        return value

    def from_text(self, text: str) -> bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(text)
        return text.lower() == "true"

    def canonical_text(self, text: str) -> str:
        return text.lower()

    def holds(self, value: object) -> bool:
        return isinstance(value, bool)


_FLOATING: Final = r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|NaN|Infinity)"
_NAMED_FLOATS: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class FloatingType(WireType):
    """An IEEE 754 float of 4 or 8 bytes. For 4 bytes, a value is rounded, or rejected if it is out of range."""

    __slots__ = ()
    family = "floating"
    annotation = "float"
    is_raw = True
    text_form = "a decimal number, NaN, Infinity or -Infinity"
    default = 0.0
    arrow_format: ClassVar[Any] = property(lambda self: {4: "f", 8: "g"}.get(self.width, ""))
    samples = (1.0,)

    def to_json(self, value: Any, *, is_lossless: bool = True) -> float | str:
        number = float(value)
        if number - number == 0:
            return number
        if number == number:
            return "Infinity" if number > 0 else "-Infinity"
        from struct import pack

        bits = pack(">d", number)
        return f"NaN:{bits.hex()}" if is_lossless and bits != pack(">d", _NAMED_FLOATS["NaN"]) else "NaN"

    def from_json(self, value: Any) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                self.rounded(float(value))
                return float(value)
            except OverflowError:
                raise Unfit(f"expected a number in the range of {self.name}", value) from None
        if isinstance(value, str):
            named = _NAMED_FLOATS.get(value)
            if named is None and value.startswith("NaN:") and len(value) == 20:
                named = _nan_of(value[4:])
            if named is not None:
                return named
        raise Unfit(f"expected a number, or one of the strings {', '.join(_NAMED_FLOATS)}", value)

    def from_text(self, text: str) -> float:
        from re import fullmatch

        if not fullmatch(_FLOATING, text):
            raise ValueError(text)
        try:
            return self.rounded(float(text))
        except OverflowError:
            raise ValueError(text) from None

    def rounded(self, number: float) -> float:
        """Return the nearest number that this type can represent. Raises OverflowError if it is out of range."""
        if self.width == 8:
            return number
        from struct import pack, unpack

        nearest: float = unpack(">f", pack(">f", number))[0]
        return nearest

    def holds(self, value: object) -> bool:
        return isinstance(value, float) and (value != value or self.rounded(value) == value)


def _nan_of(text: str) -> float | None:
    from struct import unpack

    try:
        (value,) = unpack(">d", bytes.fromhex(text))
    except ValueError:
        return None
    return float(value) if value != value else None


class UuidType(WireType):
    """A uuid.UUID, encoded as 16 bytes, most significant byte first. In JSON: 22 characters of URL-safe base64."""

    __slots__ = ()
    family = "uuid"
    annotation = "UUID"
    annotation_module = "uuid"
    text_form = "22 characters of URL-safe base64"
    # The default and the samples are computed when needed, because the module `uuid` loads slowly.
    default: ClassVar[Any] = property(lambda self: self.value_of(bytes(16)))
    arrow_format = "w:16"
    samples: ClassVar[Any] = property(lambda self: (self.value_of(b"\1".rjust(16, b"\0")),))

    def value_of(self, raw: bytes) -> Any:
        from tagwire.wire.scalars import uuid_of

        return uuid_of(raw)

    def raw_of(self, value: Any) -> bytes:
        from tagwire.wire.scalars import uuid_bytes

        return uuid_bytes(value)

    def to_json(self, value: Any, *, is_lossless: bool = True) -> str:
        return _base64(value.bytes).rstrip("=").replace("+", "-").replace("/", "_")

    def from_json(self, value: Any) -> Any:
        is_text = isinstance(value, str) and len(value.rstrip("=")) == 22 and len(value) in (22, 24)
        if is_text and "+" not in value and "/" not in value:
            try:
                return self.value_of(_from_base64(value[:22].replace("-", "+").replace("_", "/") + "=="))
            except ValueError:
                pass
        raise Unfit(f"expected a UUID as {self.text_form}", value)

    def from_text(self, text: str) -> Any:
        return self.from_json(text)

    def holds(self, value: object) -> bool:
        from uuid import UUID

        return isinstance(value, UUID)

    def to_arrow(self, value: Any) -> Any:
        return value.bytes

    def from_arrow(self, value: Any) -> Any:
        return self.value_of(value) if len(value) == 16 else value


class TextType(WireType):
    """A str, encoded as a length and UTF-8."""

    __slots__ = ()
    family = "text"
    annotation = "str"
    length = "int16"
    longest = STRING_MAX
    text_form = "a string"
    default = ""
    arrow_format = "u"
    samples = ("a", "")

    def value_of(self, raw: Any) -> str:
        data = bytes(raw)
        try:
            return data.decode()
        except UnicodeDecodeError as cause:
            found = f"bytes {data[cause.start : cause.end].hex(' ')}"
            raise Deviation(found, "UTF-8", decode_as_java(data), cause.start) from None

    def raw_of(self, value: Any) -> bytes:
        if not isinstance(value, str):
            raise Unfit("expected a string", value)
        try:
            return value.encode()
        except UnicodeEncodeError as cause:
            lone = f"the lone surrogate {value[cause.start]!r}, which UTF-8 has no bytes for"
            raise Unfit(f"character {cause.start} is {lone}") from None

    def from_json(self, value: Any) -> str:
        if not isinstance(value, str):
            raise Unfit("expected a string", value)
        size = len(self.raw_of(value))
        if size > self.longest:
            raise Unfit(f"takes {size} bytes; a {self.name} can have at most {self.longest}")
        return value

    def from_text(self, text: str) -> str:
        return text

    def holds(self, value: object) -> bool:
        return isinstance(value, str)


class BinaryType(WireType):
    """Bytes, encoded as a length and the bytes themselves. In JSON: standard base64."""

    __slots__ = ()
    family = "binary"
    annotation = "bytes"
    length = "int32"
    is_slice = True
    default = b""
    arrow_format = "z"
    samples = (b"\x01", b"\xff", b"")

    def raw_of(self, value: Any) -> Any:
        from tagwire.wire.scalars import binary

        try:
            return binary(value)
        except (TypeError, ValueError, BufferError):
            hint = "call its method encode()" if hasattr(value, "encode") else ""  # such as a RecordBatch or a str
            raise Unfit("expected bytes", value, hint=hint) from None

    def to_json(self, value: Any, *, is_lossless: bool = True) -> str:
        return _base64(value)

    def from_json(self, value: Any) -> bytes:
        if not isinstance(value, str) or not value.isascii():
            raise Unfit("expected a string of base64", value)
        try:
            return _from_base64(value)
        except ValueError as cause:
            raise Unfit(f"expected base64 in the standard alphabet with padding ({cause})", value) from None


def _base64(data: Any) -> str:
    from binascii import b2a_base64

    return b2a_base64(data, newline=False).decode()


def _from_base64(text: str) -> bytes:
    from binascii import a2b_base64

    return a2b_base64(text, strict_mode=True)


def decode_as_java(data: bytes) -> str:
    """Decode `data` like Java's `new String(data, UTF_8)`: each malformed sequence becomes one U+FFFD.

    Python's `errors="replace"` replaces the same sequences, with one exception: for a UTF-16 surrogate in three bytes
    (ED A0..BF ..), Java writes one U+FFFD, Python up to three.
    """
    import re

    one_byte_each = re.sub(rb"\xed[\xa0-\xbf][\x80-\xbf]?", b"\xff", data)
    return one_byte_each.decode(errors="replace")
