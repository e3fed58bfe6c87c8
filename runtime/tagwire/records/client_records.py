"""What producers and consumers hold, with the members that the proposals add.

KIP-82: `headers`, `set_header`, `get_header`; KIP-87: `tombstone`,
`is_tombstone`. Header keys are text, or the int32 of KIP-82's first draft; of
an int key there is one value, and setting it again replaces it. A key that is
a member of a register is written and read by its codec, if it has one.
"""

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from tagwire.errors import DecodeError, EncodeError
from tagwire.message.register import Register
from tagwire.records.header_keys import CODEC_FAULTS, CODECS, range_of
from tagwire.records.record import Header, HeaderKey, Headerset, Record
from tagwire.text_format import shown

__all__ = ["ConsumerRecord", "ProducerRecord"]

Serializer = Callable[[Any], bytes]
Deserializer = Callable[[bytes], Any]


class _WithHeaders:
    __slots__ = ("_headers",)

    _headers: list[Header]

    @property
    def headers(self) -> Headerset:
        """Keys and values in their order; int keys ascend as unsigned numbers."""
        return tuple(self._headers)

    def get_header(self, key: HeaderKey, deserializer: Deserializer | None = None) -> Any:
        """The last value of a key; None where there is none.

        `deserializer` makes it of the bytes, else the codec of a key of a register.
        Raises DecodeError for bytes that the codec did not write.
        """
        wanted = _signed(key) if isinstance(key, int) else key
        for name, value in reversed(self._headers):
            if name == wanted:
                return None if value is None else _read(key, value) if deserializer is None else deserializer(value)
        return None


class ProducerRecord(_WithHeaders):
    """A record to be sent."""

    __slots__ = ("key", "partition", "timestamp", "tombstone", "topic", "value")

    def __init__(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        *,
        partition: int | None = None,
        timestamp: int = -1,
        headers: Iterable[Header] = (),
        tombstone: bool | None = None,
        allow_reserved: bool = False,
    ) -> None:
        """A null value is a tombstone, as it always was; `tombstone=True` makes any value one.

        `allow_reserved` lets `headers` have keys that the proposal reserves.
        Raises EncodeError for a null value with `tombstone=False`: an old reader
        would take it for a delete.
        """
        if value is None and tombstone is False:
            raise EncodeError(
                "is False, but the value is null: an old reader would take it for a delete",
                message_name="ProducerRecord",
                version=None,
                path="tombstone",
            )
        self.topic = topic
        self.value = value
        self.key = key
        self.partition = partition
        self.timestamp = timestamp
        self.tombstone = tombstone
        self._headers = []
        for name, content in headers:
            self.set_header(name, content, allow_reserved=allow_reserved)

    @property
    def is_tombstone(self) -> bool:
        """Whether it deletes its key in a compacted topic."""
        return self.value is None or bool(self.tombstone)

    def set_header(
        self,
        key: HeaderKey,
        value: Any,
        serializer: Serializer | None = None,
        *,
        allow_reserved: bool = False,
    ) -> None:
        """Set a header; an int key replaces what it had, a text is added.

        `serializer` makes the bytes of the value, else the codec of a key of a
        register. Raises EncodeError for a value that is no bytes then, an int key
        that is no int32, or one that the proposal reserves (unless that is asked for).
        """
        content = self._bytes_of(key, value) if serializer is None else serializer(value)
        if not isinstance(content, bytes | bytearray | memoryview) and (content is not None or isinstance(key, int)):
            self._refuse(key, f"{shown(content)} is no bytes-like object; give a serializer")
        owned = None if content is None else bytes(content)
        if isinstance(key, str):
            self._headers.append((key, owned))
            return
        if isinstance(key, bool) or not isinstance(key, int) or not -(1 << 31) <= key < 1 << 32:
            self._refuse(key, "a header key is a text or an int32")
        found = None if allow_reserved else range_of(key & 0xFFFFFFFF)
        if found is not None and found.reserved:
            self._refuse(key, f"the key is reserved: {found.name}, 0x{found.first:08X} to 0x{found.last:08X}")
        number = _signed(key)
        others = [header for header in self._headers if header[0] != number]
        self._headers = sorted([*others, (number, owned)], key=_unsigned)

    def _bytes_of(self, key: HeaderKey, value: Any) -> Any:
        """The value through the codec of its key; as it is where there is none, or it is bytes already."""
        codec = key.codec if isinstance(key, Register) else ""
        if not codec or isinstance(value, bytes | bytearray | memoryview):
            return value
        try:
            return CODECS[codec][0](value)
        except CODEC_FAULTS:
            self._refuse(key, f"{shown(value)} is nothing that the codec {codec} of its key writes")

    def _refuse(self, key: object, reason: str) -> NoReturn:
        path = f"headers[{shown(key)}]"
        raise EncodeError(reason, message_name="ProducerRecord", version=None, path=path)

    def record(self, offset: int = 0) -> Record:
        """The record that a batch takes."""
        flag = True if self.tombstone else None
        return Record(offset, self.timestamp, self.key, self.value, self.headers, tombstone=flag)


class ConsumerRecord(_WithHeaders):
    """A record that was received: it can be looked at, not changed."""

    __slots__ = ("key", "offset", "partition", "timestamp", "timestamp_type", "tombstone", "topic", "value")

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: str
    key: bytes | None
    value: bytes | None
    tombstone: bool | None

    def __init__(self, topic: str, partition: int, record: Record, timestamp_type: str = "create") -> None:
        values = {
            "topic": topic,
            "partition": partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestamp_type": timestamp_type,
            "key": record.key,
            "value": record.value,
            "tombstone": record.tombstone,
            "_headers": list(record.headers),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a ConsumerRecord does not change; {name} can't be set")

    @property
    def is_tombstone(self) -> bool:
        """Whether it deletes its key in a compacted topic."""
        return self.value is None if self.tombstone is None else self.tombstone


def _signed(key: int) -> int:
    """An int key as it stands in a batch: an int32, also where it was said as an unsigned number."""
    return int(key) - (1 << 32) if key >= 1 << 31 else int(key)


def _read(key: HeaderKey, value: bytes) -> Any:
    """The value by the codec of its key, as bytes where there is none."""
    codec = key.codec if isinstance(key, Register) else ""
    if not codec:
        return value
    try:
        return CODECS[codec][1](value)
    except CODEC_FAULTS:
        raise DecodeError(
            message_name="headers",
            version=None,
            path=f"headers[{shown(key)}]",
            offset=0,
            found=f"{len(value)} bytes that are no {codec}",
            expected=f"what the codec {codec} of the key writes",
        ) from None


def _unsigned(header: Header) -> tuple[int, int]:
    """Int keys ascend, behind the texts."""
    key = header[0]
    return (1, key & 0xFFFFFFFF) if isinstance(key, int) else (0, 0)
