"""The headers of a record as an ordered multimap. Source: the string-key draft of KIP-82.

Bytes in, bytes out: what was given as bytes is parsed when somebody looks, and
comes out again as it went in, as long as nothing was added.
"""

from collections.abc import Iterable, Iterator

from tagwire.errors import EncodeError
from tagwire.interpreter.reader import decode
from tagwire.interpreter.writer import encode
from tagwire.layout import Array, Item, Layout, StructLayout
from tagwire.limits import DEFAULT_LIMITS
from tagwire.records.format import Format
from tagwire.records.formats import format_of
from tagwire.text_format import shown

__all__ = ["Headers"]

_ITEM = "headers"


class Headers:
    """Headers in their order; a key may occur several times.

    `encoding` names the record format in which the bytes are: `kip82-str`
    (headers to the end, no null values), or `v2` and `v3` (a count before them).
    """

    __slots__ = ("_data", "_entries", "_layout", "encoding")

    def __init__(self, data: bytes = b"", encoding: str = "kip82-str") -> None:
        """Raises FormatError for an encoding that is no format with text keys. The bytes are not parsed yet."""
        self.encoding = encoding
        self._layout = _layout_of(format_of(encoding))
        self._data: bytes | None = bytes(data) if data else None
        self._entries: list[tuple[str, bytes | None]] | None = None if data else []

    @classmethod
    def of(cls, headers: Iterable[tuple[str, bytes | None]], encoding: str = "kip82-str") -> "Headers":
        """Headers of these pairs."""
        made = cls(encoding=encoding)
        for key, value in headers:
            made.add(key, value)
        return made

    def get(self, key: str) -> list[bytes | None]:
        """The values of a key, in their order. Raises DecodeError for bytes that are at fault."""
        return [value for name, value in self if name == key]

    def add(self, key: str, value: bytes | None) -> None:
        """Add a header behind the others. Raises EncodeError for a null value where the encoding has none."""
        entries = self._parsed()
        if not isinstance(key, str) or not isinstance(value, bytes | bytearray | memoryview | None):
            raise self._refused(f"({shown(key)}, {shown(value)}) is no header: a text and bytes were expected")
        owned = None if value is None else bytes(value)
        encode(self._layout, _value([(key, owned)]))  # what can't be written is refused now
        self._entries = [*entries, (key, owned)]
        self._data = None

    def keys(self) -> list[str]:
        """The distinct keys, in the order of their first appearance."""
        return list(dict.fromkeys(key for key, _ in self))

    def as_bytes(self) -> bytes:
        """The bytes: those that were given, if nothing was added."""
        if self._data is None:
            entries = self._entries or []
            self._data = encode(self._layout, _value(entries)) if entries or self.encoding != "kip82-str" else b""
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
        return self._parsed() == other._parsed() if isinstance(other, Headers) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Headers.of({self._parsed()!r}, {self.encoding!r})"

    def _refused(self, reason: str) -> EncodeError:
        return EncodeError(reason, message_name=f"headers of {self.encoding}", version=None, path="")


def _value(entries: Iterable[tuple[str, bytes | None]]) -> dict[str, object]:
    return {_ITEM: tuple({"key": key, "value": value} for key, value in entries)}


def _layout_of(format: Format) -> Layout:
    """The headers of a record alone."""
    for item in format.record.items:
        if item.name == _ITEM and isinstance(item.type, Array):
            alone = Item(_ITEM, item.type, default=())
            return Layout(f"headers of {format.name}", None, StructLayout("Headers", (alone,)))
    raise EncodeError("its records have no headers", message_name=format.name, version=None, path="")
