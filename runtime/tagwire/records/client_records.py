"""Records as producers and consumers see them, with the additions of KIP-82 and KIP-87.

KIP-82 adds `headers`, `set_header` and `get_header`; KIP-87 adds `tombstone` and `is_tombstone`. Header keys are
strings or, in KIP-82's first draft, int32 numbers. A string key can have several headers. Setting an int key replaces
its value. If a key is an enum member with a codec, the codec encodes and decodes the values of that key.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, Self

from tagwire.errors import EncodeError
from tagwire.frames.frame_headers import unreadable
from tagwire.frames.known_packages import reserved_keys
from tagwire.message.register import Register
from tagwire.records.building_values import NULL_WITHOUT_TOMBSTONE
from tagwire.records.format_set import format_of
from tagwire.records.headers import (
    CODECS,
    DECOMPRESSION_ERRORS,
    Headers,
    IntHeaders,
    signed_key,
    unsigned_key,
)
from tagwire.records.record import Header, HeaderKey, HeaderMap, Record, header_pairs
from tagwire.text_format import count, got, shown

if TYPE_CHECKING:
    from tagwire.records.format import Format

Serializer = Callable[[Any], bytes]
Deserializer = Callable[[bytes], Any]


class _ClientRecord:
    """The base class of producer and consumer records. Like `Record`, they are compared by all their values."""

    __slots__ = ("_headers",)

    _headers: Headers | IntHeaders
    _SHOWN: ClassVar[tuple[tuple[str, Any], ...]]
    """The attributes that `repr` shows, in order, as (name, default) pairs. `repr` omits default values."""

    def _values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name, _ in self._SHOWN])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _ClientRecord) or type(self) is not type(other):
            return NotImplemented
        return self._values() == other._values()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        named = zip(self._SHOWN, self._values(), strict=True)
        shown = ", ".join(f"{name}={value!r}" for (name, usual), value in named if value != usual)
        return f"{type(self).__name__}({shown})"

    def __copy__(self) -> Self:
        return deepcopy(self)  # a deep copy, because `set_header` modifies the headers in place

    def __setstate__(self, state: tuple[dict[str, Any] | None, dict[str, Any]]) -> None:
        for part in state:
            for name, value in (part or {}).items():
                object.__setattr__(self, name, value)

    @property
    def headers(self) -> Headers | IntHeaders:
        """The headers: a multimap with string keys, or a map with int keys.

        If the record has no headers, its `format` determines the type. Without a format, the type is the multimap.
        """
        return self._headers

    def get_header(self, key: HeaderKey, deserializer: Deserializer | None = None) -> Any:
        """Return the last value of a key, or None if the key is absent.

        `deserializer` decodes the value. The default is the key's codec; without one, the raw bytes are returned.
        Raises DecodeError for bytes that the codec can't decode.
        """
        if isinstance(self._headers, IntHeaders):
            value = self._headers.get(key) if isinstance(key, int) else None
        else:
            value = next(reversed(self._headers.get(key)), None) if isinstance(key, str) else None
        return None if value is None else _read(key, value) if deserializer is None else deserializer(value)


_ALWAYS: Final = object()
"""Used as the default in `_SHOWN` for attributes that `repr` always shows, because no attribute value equals it."""


class ProducerRecord(_ClientRecord):
    """A record to be sent by a producer."""

    __slots__ = ("_tombstone", "key", "partition", "timestamp", "topic", "value")
    _SHOWN = (
        ("topic", _ALWAYS),
        ("value", _ALWAYS),
        ("key", None),
        ("partition", None),
        ("timestamp", -1),
        ("headers", ()),
        ("tombstone", False),
    )

    def __init__(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        *,
        partition: int | None = None,
        timestamp: int = -1,
        headers: Iterable[Header] | Mapping[int, bytes] = (),
        tombstone: bool | None = None,
        allow_reserved: bool = False,
        format: "str | Format | None" = None,
    ) -> None:
        """By default, the record is a tombstone if its value is null. `tombstone=True` makes any record a tombstone.

        With `allow_reserved`, `headers` may contain int keys that KIP-82 reserves. `format` is the record format to
        send. It determines whether empty `headers` have string or int keys. Raises EncodeError for a null value with
        `tombstone=False`, because old readers would treat the record as a delete.
        """
        self.topic = topic
        self.value = value
        self.key = key
        self.partition = partition
        self.timestamp = timestamp
        self._tombstone = tombstone
        self._check_tombstone()
        self._headers = IntHeaders() if _has_int_keys(format) else Headers.of_record(())
        for name, content in header_pairs(headers.items() if isinstance(headers, Mapping) else headers):
            self.set_header(name, content, allow_reserved=allow_reserved)

    @property
    def tombstone(self) -> bool:
        """Whether the record deletes its key (KIP-87). If its flag is None, a null value means that it does."""
        return self.value is None if self._tombstone is None else self._tombstone

    @tombstone.setter
    def tombstone(self, flag: bool | None) -> None:
        self._tombstone = flag

    @property
    def is_tombstone(self) -> bool:
        """Return `tombstone`. KIP-87 specifies this method."""
        return self.tombstone

    def _check_tombstone(self) -> None:
        if self._tombstone not in (None, False, True):
            reason = f"expected True, False or None, got {shown(self._tombstone)}"
        elif self.value is None and not self.tombstone:
            reason = NULL_WITHOUT_TOMBSTONE
        else:
            return
        raise EncodeError(reason, message_name="ProducerRecord", version=None, path="tombstone")

    def set_header(
        self,
        key: HeaderKey,
        value: Any,
        serializer: Serializer | None = None,
        *,
        allow_reserved: bool = False,
    ) -> None:
        """Set a header. An int key replaces the key's old value; a string key adds one more header.

        `serializer` encodes the value. The default is the key's codec; without one, the value must be bytes. Raises
        EncodeError if the result is not bytes, for an int key outside int32, and for an int key that KIP-82 reserves
        (unless `allow_reserved` is true).
        """
        content = self._bytes_of(key, value) if serializer is None else serializer(value)
        if not isinstance(content, bytes | bytearray | memoryview) and (content is not None or isinstance(key, int)):
            self._reject(key, f"expected bytes, got {got(content)}; pass a serializer")
        owned = None if content is None else bytes(content)
        if isinstance(key, str):
            if isinstance(self._headers, IntHeaders):
                self._reject(key, "expected an int key, like the record's other header keys; no format has both kinds")
            self._headers.add(key, owned)
            return
        if isinstance(key, bool) or not isinstance(key, int) or not -(1 << 31) <= key < 1 << 32:
            self._reject(key, f"expected a string or an int32 as the header key, got {got(key)}")
        if isinstance(self._headers, Headers) and len(self._headers):
            self._reject(key, "expected a string key, like the record's other header keys; no format has both kinds")
        # The table of the keys that KIP-82 reserves is loaded only here. It is empty without the drafts package.
        ranges = () if allow_reserved else reserved_keys()
        found = next((each for each in ranges if unsigned_key(key) in each), None)
        if found is not None and found.reserved:
            keys = f"0x{found.first:08X} to 0x{found.last:08X}"
            self._reject(key, f"the keys {keys} are reserved ({found.name}); pass allow_reserved=True")
        known = self._headers.items() if isinstance(self._headers, IntHeaders) else ()
        self._headers = IntHeaders([*known, (signed_key(key), owned)])

    def _bytes_of(self, key: HeaderKey, value: Any) -> Any:
        """Encode a header value with its key's codec. Return it unchanged if it is bytes or the key has no codec."""
        codec = key.codec if isinstance(key, Register) else ""
        if not codec or isinstance(value, bytes | bytearray | memoryview):
            return value
        with suppress(*DECOMPRESSION_ERRORS):
            return CODECS[codec][0](value)
        self._reject(key, f"the key's codec {codec} can't encode {shown(value)}")

    def _reject(self, key: object, reason: str) -> NoReturn:
        path = f"headers[{shown(key)}]"
        raise EncodeError(reason, message_name="ProducerRecord", version=None, path=path)

    def record(self, offset: int = 0) -> Record:
        """Return this record as a `Record`.

        Raises EncodeError for a null value with `tombstone=False`. Headers with int keys are sorted when the batch is
        built.
        """
        self._check_tombstone()
        headers = HeaderMap(self._headers.items()) if isinstance(self._headers, IntHeaders) else tuple(self._headers)
        return Record(offset, self.timestamp, self.key, self.value, headers, tombstone=self._tombstone)


class ConsumerRecord(_ClientRecord):
    """A record that a consumer received. It is immutable."""

    __slots__ = ("key", "offset", "partition", "timestamp", "timestamp_type", "tombstone", "topic", "value")
    _SHOWN = (
        ("topic", _ALWAYS),
        ("partition", _ALWAYS),
        ("offset", _ALWAYS),
        ("timestamp", -1),
        ("timestamp_type", "create"),
        ("key", None),
        ("value", _ALWAYS),
        ("headers", ()),
        ("tombstone", None),
    )

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: str
    key: bytes | None
    value: bytes | None
    tombstone: bool | None

    def __init__(
        self,
        topic: str,
        partition: int,
        record: Record,
        timestamp_type: str = "create",
        *,
        format: "str | Format | None" = None,
    ) -> None:
        """`format` is the record's original format, which determines the type of empty `headers`."""
        values = {
            "topic": topic,
            "partition": partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestamp_type": timestamp_type,
            "key": record.key,
            "value": record.value,
            "tombstone": record.tombstone,
            "_headers": _received(record, format),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a ConsumerRecord is immutable; {name} can't be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a ConsumerRecord is immutable; {name} can't be deleted")

    @property
    def is_tombstone(self) -> bool:
        """Whether the record deletes its key in a compacted topic."""
        return self.value is None if self.tombstone is None else self.tombstone


def _has_int_keys(format: "str | Format | None") -> bool:
    return format is not None and format_of(format).header_key is int


def _received(record: Record, format: "str | Format | None") -> Headers | IntHeaders:
    """Return `IntHeaders` for int keys, or `Headers` for string keys. If there are no headers, `format` decides."""
    if isinstance(record.headers[0][0], int) if record.headers else _has_int_keys(format):
        return IntHeaders([(key, value) for key, value in record.headers if isinstance(key, int)])
    return Headers.of_record([(key, value) for key, value in record.headers if isinstance(key, str)], frozen=True)


def _read(key: HeaderKey, value: bytes) -> Any:
    """Decode a header value with the codec of its key. Return the raw bytes if the key has no codec."""
    codec = key.codec if isinstance(key, Register) else ""
    if not codec:
        return value
    with suppress(*DECOMPRESSION_ERRORS):
        return CODECS[codec][1](value)
    expected = f"a value encoded by {codec}, the codec of this key"
    raise unreadable("headers", None, f"headers[{shown(key)}]", 0, count(len(value), "byte"), expected)
