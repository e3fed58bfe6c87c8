"""Types that only the tagwire dialect has: fixed-size bytes (`bytes[16]`), and types with a key `semantic`.

A semantic states what values mean: an int64 may be a timestamp, and bytes may be a decimal. It affects only Arrow
columns and human-readable output. This module is loaded only for specs that use these types.
"""

from __future__ import annotations

from tagwire.wire.families import BinaryType, IntegerType
from tagwire.wire.wire_type import Unfit, WireType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from decimal import Decimal
    from typing import Any, ClassVar, Final

BLOCK_MAX: Final = 65535
"""The maximum size of a fixed-size bytes type."""
DECIMAL_MAX: Final = 76
"""The maximum number of digits of a decimal, as in Arrow's decimal256."""
_UNITS: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}
TIMES: Final = tuple(f"{kind}_{unit}" for kind in ("timestamp", "duration") for unit in _UNITS)
"""The semantics of an int64, such as `timestamp_ms`."""


class FixedBytesType(BinaryType):
    """Bytes of a fixed size, without a length before them. JSON and defaults are in standard base64."""

    __slots__ = ()
    family = "fixed bytes"
    length = ""
    is_slice = False
    default: ClassVar[Any] = property(lambda self: bytes(self.width))
    text_form: ClassVar[Any] = property(lambda self: f"{self.width} bytes in standard base64")
    arrow_format: ClassVar[Any] = property(lambda self: f"w:{self.width}")
    samples: ClassVar[Any] = property(lambda self: (b"\1" * self.width, b"\xff" * self.width))

    @property
    def expected(self) -> str:
        return f"{self.width} bytes"

    def raw_of(self, value: Any) -> Any:
        data = super().raw_of(value)
        if len(data) != self.width:
            raise Unfit(f"has {len(data)} bytes, but a {self.name} has {self.width}")
        return bytes(data)

    def from_json(self, value: Any) -> bytes:
        data = super().from_json(value)
        if len(data) != self.width:
            raise Unfit(f"expected {self.width} bytes", value)
        return data

    def from_text(self, text: str) -> bytes:
        return self.from_json(text)

    def holds(self, value: object) -> bool:
        return isinstance(value, bytes) and len(value) == self.width


class TimeType(IntegerType):
    """An int64 that is a number of time units: a time since 1970 in UTC, or a duration."""

    __slots__ = ("digits", "semantic")

    def __init__(self, base: WireType, semantic: str) -> None:
        super().__init__(base.name, base.code, base.width, base.low, base.high)
        self.semantic = semantic
        self.digits = _UNITS[semantic.partition("_")[2]]
        """The number of digits of fractional seconds."""

    @property
    def is_timestamp(self) -> bool:
        return self.semantic.startswith("timestamp")

    @property
    def arrow_format(self) -> str:  # type: ignore[override]
        letter = "smun"[self.digits // 3]
        return f"ts{letter}:UTC" if self.is_timestamp else f"tD{letter}"

    def meaning(self, value: Any) -> str:
        seconds, fraction = divmod(value if self.is_timestamp else abs(value), 10**self.digits)
        digits = f".{fraction:0{self.digits}}" if self.digits else ""
        if self.is_timestamp:
            from datetime import UTC, datetime, timedelta

            try:
                moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
            except OverflowError:
                return ""  # Python's `datetime` does not support this year
            return f"{moment:%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + f"{digits}Z"
        days, rest = divmod(seconds, 86400)
        clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}{digits}"
        return f"{'-' if value < 0 else ''}{f'{days} d ' if days else ''}{clock}"


class DecimalType(BinaryType):
    """A decimal number in bytes: an integer in big-endian two's complement, multiplied by 10 ** -scale.

    Avro and Kafka Connect use the same encoding. `carrier` is the type of the bytes, which may have a fixed size.
    """

    __slots__ = ("carrier", "precision", "scale", "semantic")

    def __init__(self, carrier: WireType, precision: int, scale: int) -> None:
        super().__init__(carrier.name, carrier.code, carrier.width)
        self.carrier = carrier
        self.precision = precision
        self.scale = scale
        self.semantic = f"decimal({precision},{scale})"

    family: ClassVar[Any] = property(lambda self: self.carrier.family)
    length: ClassVar[Any] = property(lambda self: self.carrier.length)
    is_slice: ClassVar[Any] = property(lambda self: self.carrier.is_slice)
    default: ClassVar[Any] = property(lambda self: self.bytes_of(0))
    text_form: ClassVar[Any] = property(
        lambda self: f"a number of at most {self.precision} digits, {self.scale} of them after the decimal point"
    )
    samples: ClassVar[Any] = property(lambda self: tuple(map(self.bytes_of, (1, -1, 0))))
    arrow_format: ClassVar[Any] = property(
        lambda self: f"d:{self.precision},{self.scale}" + (",256" if self.precision > 38 else "")
    )

    @property
    def expected(self) -> str:
        return self.carrier.expected

    def bytes_of(self, number: int) -> bytes:
        """Encode the decimal `number` * 10 ** -scale. Unless the size is fixed, use as few bytes as possible.

        Raises OverflowError if the number does not fit.
        """
        size = self.width or (number if number >= 0 else ~number).bit_length() // 8 + 1
        return number.to_bytes(size, "big", signed=True)

    def number_of(self, data: Any) -> Decimal:
        """Decode a decimal number. Raises Unfit for empty bytes, and for more digits than the type allows."""
        from decimal import Decimal

        units = int.from_bytes(data, "big", signed=True)
        if not len(data) or abs(units) >= 10**self.precision:
            raise Unfit(f"expected {self.semantic}", bytes(data))
        sign, digits, _ = Decimal(units).as_tuple()
        return Decimal((sign, digits, -self.scale))

    def meaning(self, value: Any) -> str:
        try:
            return f"{self.number_of(value):f}"
        except Unfit:
            return f"no {self.semantic}"

    def raw_of(self, value: Any) -> Any:
        return self.carrier.raw_of(value)

    def from_json(self, value: Any) -> bytes:
        data: bytes = self.carrier.from_json(value)
        return data

    def from_text(self, text: str) -> bytes:
        from decimal import Decimal
        from re import fullmatch

        if not fullmatch(r"[+-]?[0-9]{1,80}(\.[0-9]{1,80})?", text):
            raise ValueError(text)
        return self.from_arrow(Decimal(text))

    def holds(self, value: object) -> bool:
        if not isinstance(value, bytes) or (self.width and len(value) != self.width):
            return False
        return bool(abs(int.from_bytes(value, "big", signed=True)) < 10**self.precision)

    def to_arrow(self, value: Any) -> Decimal:
        return self.number_of(value)

    def from_arrow(self, value: Any) -> bytes:
        units = (
            int(value.scaleb(self.scale, _wide())) if value == value.quantize(self._unit(), context=_wide()) else None
        )
        if units is None or abs(units) >= 10**self.precision:
            raise Unfit(f"expected {self.semantic}", value)
        try:
            return self.bytes_of(units)
        except OverflowError:
            raise Unfit(f"expected {self.semantic} in {self.name}", value) from None

    def _unit(self) -> Decimal:
        from decimal import Decimal

        return Decimal((0, (1,), -self.scale))


def _wide() -> Any:
    from decimal import Context

    return Context(prec=200)


def with_arguments(name: str, base: WireType | None, semantic: str) -> WireType | None:
    """Return the type for a name such as `bytes[16]`, or for `base` with a `semantic` such as `decimal(9,2)`.

    Returns None if there is no such type.
    """
    from re import fullmatch

    if base is None:
        found = fullmatch(r"bytes\[([1-9][0-9]{0,4})\]", name)
        if found is None or int(found[1]) > BLOCK_MAX:
            return None
        base = FixedBytesType(name, f"{found[1]}s", int(found[1]))
    if not semantic:
        return base
    if semantic in TIMES and base.name == "int64":
        return TimeType(base, semantic)
    found = fullmatch(r"decimal\(([0-9]{1,2}),([0-9]{1,2})\)", semantic)
    if found is None or base.family not in ("binary", "fixed bytes") or base.name == "records":
        return None
    precision, scale = int(found[1]), int(found[2])
    return DecimalType(base, precision, scale) if 1 <= precision <= DECIMAL_MAX and scale <= precision else None
