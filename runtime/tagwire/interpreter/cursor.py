"""The state of a layout reader: position, path, and end of the readable bytes.

`LayoutCursor` reads bytes, varints and lengths (strictly or leniently), enforces limits, and raises errors with their
positions. Its subclass `LayoutReader` reads the fields of structs.
"""

from struct import unpack_from
from typing import TYPE_CHECKING, Any, NoReturn

from tagwire.errors import DecodeError, LimitError
from tagwire.layout import Layout, LengthCode, Type
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.text_format import byte_count
from tagwire.wire.varint import UVARINT_MAX, from_zigzag

if TYPE_CHECKING:
    from tagwire.interpreter.value_walk import Recorder


class LayoutCursor:
    """Keeps a position in the bytes of one message, and the path of the field that is read there."""

    def __init__(
        self,
        layout: Layout,
        buf: bytes,
        *,
        raw: Any = None,
        offset: int = 0,
        strict: bool = True,
        limits: Limits = DEFAULT_LIMITS,
        recorder: "Recorder | None" = None,
    ) -> None:
        self.layout = layout
        self.buf = buf
        self.raw = buf if raw is None else raw
        """The buffer from which field values are sliced: `buf`, or a view of the same bytes."""
        self.pos = offset
        self.end = len(buf)
        """The end of the readable bytes: of the input, of a tagged field, or of what a length field covers."""
        self.strict = strict
        self.limits = limits
        self.recorder = recorder
        self.canonical = True
        """Whether encoding the value gives the bytes that were read."""
        self.path: list[str | int] = []
        self.elements = 0
        self.unknown_tags = 0
        self.unknown_tag_bytes = 0

    @property
    def left(self) -> int:
        """The number of bytes left before `end`, the end of the readable bytes."""
        return self.end - self.pos

    def fail(
        self, found: str, expected: str, offset: int | None = None, error: type[DecodeError] = DecodeError
    ) -> NoReturn:
        raise error(
            message_name=self.layout.name,
            version=self.layout.version,
            path=dotted(self.path),
            offset=self.pos if offset is None else offset,
            found=found,
            expected=expected,
        )

    def deviate(self, found: str, expected: str, offset: int | None = None) -> None:
        """Raise DecodeError if the reader is strict. Otherwise, accept the input, but set `canonical` to False."""
        if self.strict:
            self.fail(found, expected, offset)
        self.canonical = False

    def bound(self, limit: str, amount: int) -> None:
        most = getattr(self.limits, limit)
        if most is not None and amount > most:
            what = limit.replace("_", " ")
            found = f"a depth of {amount}" if limit == "depth" else f"{amount} {what[:-1] if amount == 1 else what}"
            self.fail(found, f"at most {most} (Limits.{limit})", error=LimitError)

    def open(self, what: "Type | str", offset: int) -> None:
        """Open a span (a range of bytes) if a trace is recorded.

        `what` is the type of the value, or a description such as `tag 3`.
        """
        if self.recorder is not None:
            self.recorder.open(self.path, what, offset)

    def note(self, value: Any) -> None:
        if self.recorder is not None:
            self.recorder.note(value)

    def close(self) -> None:
        if self.recorder is not None:
            self.recorder.close(self.pos)

    def take(self, count: int) -> int:
        """Skip `count` bytes and return the offset of the first of them. Raises DecodeError if fewer bytes are left."""
        start = self.pos
        if count > self.end - start:
            self.fail(f"{byte_count(self.end - start)} left", byte_count(count))
        self.pos = start + count
        return start

    def raw_varint(self, size: int) -> int:
        """Read an unsigned varint of at most `size` bytes. Raises DecodeError if it is longer."""
        start = self.pos
        value = 0
        for shift in range(0, 7 * size, 7):
            byte = self.buf[self.take(1)]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if byte == 0 and shift:
                    self.deviate(f"varint {value} in {byte_count(self.pos - start)}", "its shortest form", start)
                return value
        self.fail(f"a varint of more than {size} bytes", f"at most {size}", start)

    def uvarint(self) -> int:
        """Read a length, count or tag. Lenient readers treat bit 31 as the sign, like an int32 in Java."""
        start = self.pos
        value = self.raw_varint(5)
        if value > UVARINT_MAX:
            self.deviate(f"varint {value}", f"at most {UVARINT_MAX}", start)
            value = _as_int32(value)
        return value

    def signed_length(self, code: LengthCode) -> int:
        """Read a length or count and return it as stored: it may be negative, and -1 usually means null."""
        if code.code:
            return int(unpack_from(">" + code.code, self.buf, self.take(code.width))[0])
        return from_zigzag(self.raw_varint(5)) if code.zigzag else _as_int32(self.uvarint() - code.bias)

    def length(self, code: LengthCode) -> int | None:
        """Read a length or count. Return None for null.

        A strict reader raises DecodeError for other negative values; a lenient reader treats them as null.
        """
        start = self.pos
        value = self.signed_length(code)
        if value >= 0:
            return value
        if code.null is None or value != -1:
            self.deviate(f"length {value}", "0 or more" if code.null is None else "-1 (null) or more", start)
        return None


def dotted(path: list[str | int]) -> str:
    """Format `["topics", 3, "name"]` as `topics[3].name`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _as_int32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - ((value & 0x80000000) << 1)
