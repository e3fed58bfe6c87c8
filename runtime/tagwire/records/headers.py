"""The headers of a record: a multimap of string keys, or a map of int keys. Source: the two drafts of KIP-82.

`Headers` made from bytes are parsed on first access, and return the same bytes unless a header is added. `IntHeaders`
are the headers of the first draft, with one value for each key.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from tagwire.arguments import check_type
from tagwire.errors import EncodeError
from tagwire.interpreter.reader import decode
from tagwire.interpreter.writer import encode
from tagwire.layout import Item, Layout, StructLayout
from tagwire.limits import DEFAULT_LIMITS
from tagwire.records.format import Format
from tagwire.records.format_set import format_of
from tagwire.records.record import header_pairs
from tagwire.text_format import got

_ITEM = "headers"


class Headers:
    """The headers of a record, in order. A key may occur several times.

    `encoding` names the record format of the bytes. `kip82-str` has neither a count nor null values. `v2` and `v3`
    begin with a count, and allow null values. A `ProducerRecord`'s headers have no format yet, so they accept a null
    value, and `as_bytes` raises EncodeError in a format without nulls. A `ConsumerRecord`'s headers can't be changed.
    """

    __slots__ = ("_data", "_encoding", "_entries", "_is_frozen", "_is_loose")

    def __init__(self, data: bytes = b"", encoding: str = "kip82-str") -> None:
        """Store bytes, which are parsed on first access.

        Raises FormatError unless `encoding` is a format with string keys.
        """
        check_type("data", data, bytes | bytearray | memoryview, "bytes (call Headers.of to pass keys and values)")
        _layout_of(format_of(encoding))
        self._encoding = encoding
        self._data: bytes | None = bytes(data) if data else None
        self._entries: list[tuple[str, bytes | None]] | None = None if data else []
        self._is_loose = False
        self._is_frozen = False

    @classmethod
    def of(cls, headers: Iterable[tuple[str, bytes | None]], encoding: str = "kip82-str") -> "Headers":
        """Return headers with these keys and values. Raises EncodeError if `encoding` can't represent them."""
        result = cls(encoding=encoding)
        for key, value in header_pairs(headers):
            result.add(key, value)  # type: ignore[arg-type]  # `add` rejects keys that are not strings
        return result

    @classmethod
    def of_record(cls, headers: Iterable[tuple[str, bytes | None]], *, frozen: bool = False) -> "Headers":
        """Return headers for a record that isn't in a batch yet. If `frozen`, calling `add` raises AttributeError."""
        result = cls()
        result._is_loose = True
        for key, value in headers:
            result.add(key, value)
        result._is_frozen = frozen
        return result

    @property
    def encoding(self) -> str:
        """The name of the record format in which the bytes are encoded."""
        return self._encoding

    @property
    def _layout(self) -> Layout:
        return _layout_of(format_of(self._encoding))

    def get(self, key: str) -> list[bytes | None]:
        """Return all values of a key, in order. Raises DecodeError for invalid bytes."""
        return [value for name, value in self if name == key]

    get_all = get
    """An alias of `get`."""

    def add(self, key: str, value: bytes | None) -> None:
        """Add a header at the end. Raises EncodeError for a null value if `encoding` has no null values.

        Raises AttributeError for the headers of a ConsumerRecord.
        """
        if self._is_frozen:
            raise AttributeError("the headers of a ConsumerRecord are immutable; nothing can be added")
        entries = self._parsed()
        if not isinstance(key, str) or not isinstance(value, bytes | bytearray | memoryview | None):
            reason = f"expected a header's key and value as str and bytes, got {got(key)} and {got(value)}"
            raise EncodeError(reason, message_name=f"headers of {self.encoding}", version=None, path="")
        owned = None if value is None else bytes(value)
        if not self._is_loose:
            encode(self._layout, _value([(key, owned)]))  # raises EncodeError for an invalid header
        self._entries = [*entries, (key, owned)]
        self._data = None

    def keys(self) -> list[str]:
        """Return the keys without duplicates, in the order in which they first appear."""
        return list(dict.fromkeys(key for key, _ in self))

    def as_bytes(self, encoding: str | None = None) -> bytes:
        """Return the headers as bytes: the original bytes, unless a header was added.

        With `encoding`, the headers are encoded in that format. Raises EncodeError if that format can't represent them.
        """
        if encoding is not None and encoding != self.encoding:
            return encode(_layout_of(format_of(encoding)), _value(self._parsed()))
        if self._data is None:
            self._data = encode(self._layout, _value(self._parsed()))
        return self._data

    def _parsed(self) -> list[tuple[str, bytes | None]]:
        if self._entries is None:
            value, _ = decode(self._layout, self._data or b"", whole=True, strict=True, limits=DEFAULT_LIMITS)
            self._entries = [(entry["key"], entry["value"]) for entry in value[_ITEM]]
        return self._entries

    def __iter__(self) -> Iterator[tuple[str, bytes | None]]:
        return iter(self._parsed())

    def __len__(self) -> int:
        return len(self._parsed())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tuple | list):
            return self._parsed() == list(other)
        return self._parsed() == other._parsed() if isinstance(other, Headers) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Headers.of({self._parsed()!r}, {self.encoding!r})"


class IntHeaders(Mapping[int, bytes | None]):
    """Headers with one value for each int32 key.

    The headers are ordered by unsigned key. Lookups accept a key as a signed or an unsigned number.

    The object is immutable. To change the headers of a record, use `ProducerRecord.set_header`.
    """

    __slots__ = ("_values",)

    def __init__(self, headers: Iterable[tuple[int, bytes | None]] = ()) -> None:
        self._values = dict(sorted(dict(headers).items(), key=lambda header: unsigned_key(header[0])))

    def __getitem__(self, key: int) -> bytes | None:
        return self._values[signed_key(key) if isinstance(key, int) else key]

    def __iter__(self) -> Iterator[int]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"IntHeaders({list(self._values.items())!r})"


def signed_key(key: int) -> int:
    """Return an int key as the int32 that batches store. The key may be given as an unsigned number."""
    return int(key) - (1 << 32) if key >= 1 << 31 else int(key)


def unsigned_key(key: int) -> int:
    """Return an int header key as an unsigned 32-bit number, as in KIP-82's table of reserved keys."""
    return key & 0xFFFFFFFF


def _value(entries: Iterable[tuple[str, bytes | None]]) -> dict[str, object]:
    return {_ITEM: tuple({"key": key, "value": value} for key, value in entries)}


def _layout_of(format: Format) -> Layout:
    if format.headers is None:
        raise EncodeError("records in this format have no headers", message_name=format.name, version=None, path="")
    alone = Item(_ITEM, format.headers, default=())
    return Layout(f"headers of {format.name}", None, StructLayout("Headers", (alone,)))


# Int header keys, from KIP-82's first draft. An enum of keys can name a codec for the values of each key.


def _fixed(code: str) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    form = struct.Struct(code)
    return form.pack, lambda data: form.unpack(data)[0]


CODECS: Final[dict[str, tuple[Callable[[Any], bytes], Callable[[bytes], Any]]]] = {
    "utf-8": (lambda value: value.encode(), lambda data: data.decode()),
    "int16": _fixed(">h"),
    "int32": _fixed(">i"),
    "int64": _fixed(">q"),
    "float64": _fixed(">d"),
    "uuid": (lambda value: value.bytes, lambda data: UUID(bytes=data)),
}
"""Functions that encode and decode a header value, by codec name."""

DECOMPRESSION_ERRORS: Final = (AttributeError, TypeError, ValueError, OverflowError, struct.error)
"""The exceptions that a codec raises for values that it can't encode, or bytes that it can't decode."""
