"""Read and build message sets: messages of magic 0 and 1, single or in a wrapper.

A wrapper is a message whose value is a compressed message set of the same magic. In magic 0, the messages inside have
absolute offsets. In magic 1, their offsets are relative, and the wrapper has the absolute offset of its last message.
Some clients write a wrapper with offset 0 and messages with offsets 0, 1, 2 and so on; as in Kafka, these offsets are
not changed. If a wrapper has an append time, it applies to all its messages. Old converters have written messages
of magic 0 into wrappers of magic 1, and vice versa; only lenient readers accept them. Sources: KIP-31, KIP-32,
KAFKA-5365, and DeepRecordsIterator in Kafka's AbstractLegacyRecordBatch.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from tagwire.errors import DecodeError, LimitError
from tagwire.interpreter.cursor import Good
from tagwire.interpreter.reader import LayoutReader
from tagwire.interpreter.writer import encode
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.records.batch import RecordBatch, own_batch, read_batch
from tagwire.records.building_values import (
    batch_attributes,
    codec_of,
    header_values,
    record_attributes,
    reject,
)
from tagwire.records.format import Format
from tagwire.records.format_set import MAGIC_AT, format_of
from tagwire.records.record import Record
from tagwire.records.walk import decompressed, is_int64, record_from
from tagwire.wire.compression import compress

if TYPE_CHECKING:
    from tagwire.records.building import BatchBuilder


_MIXED = ("v0", "v1")
"""The formats of magic 0 and 1."""
_OF_WRAPPERS = ("compression", "timestamp_type")
"""The attribute bits that may be set in a wrapper."""


def record_of(format: Format, header: dict[str, Any], offset: int, appended: int | None = None) -> Record:
    """Return a message as a `Record`. If `appended` is set, this append time replaces the message's own timestamp."""
    timestamp = format.role(header, "base_timestamp") if appended is None else appended
    return record_from(format, header, header[format.fields["attributes"].name], offset, timestamp)


class Messages:
    """The messages in a wrapper.

    Raises DecodeError or LimitError if the wrapper's value isn't a message set of the same magic.
    """

    def __init__(
        self,
        format: Format,
        header: dict[str, Any],
        codec: str,
        offset: int,
        limits: Limits,
        deviated: Callable[[DecodeError], object] | None = None,
    ) -> None:
        """`deviated` is called with each error that a lenient reader tolerates. For a strict reader, it is None."""
        self.format = format
        self.header = header
        self.offset = offset
        self.limits = limits
        for name, group in format.bits.items():
            if name not in _OF_WRAPPERS and group.of(header[format.fields["attributes"].name]):
                self.reject(
                    "attributes", f"the bit {name!r} in a wrapper", "this bit only in messages inside the wrapper"
                )
        if header["value"] is None:
            self.reject("value", "null in a wrapper", f"a message set, compressed with {codec}")
        self.data = decompressed(format, codec, header["value"], offset, "value", limits)
        self.is_mixed = False
        """Whether some messages have a different magic byte than the wrapper."""
        try:
            self.offsets = self.read_offsets()
        except DecodeError as error:
            if deviated is None or isinstance(error, LimitError) or format.name not in _MIXED:
                raise
            self.is_mixed = True
            self.offsets = self.read_offsets()
            deviated(error)
        if not self.offsets:
            self.reject("value", "an empty message set in a wrapper", "at least one message")
        self.shift = 0
        own, last = header[format.fields["base_offset"].name], self.offsets[-1]
        if format.magic > 0 and own:
            if own < last:
                expected = f"0, or at least {last}, the offset of the last message inside the wrapper"
                self.reject("offset", f"wrapper offset {own}", expected)
            self.shift = own - last
        for offset in (min(self.offsets) + self.shift, max(self.offsets) + self.shift):
            if not is_int64(offset):
                self.reject("offset", f"record offset {offset}", "a 64-bit number")

    @property
    def bounds(self) -> tuple[int, int]:
        """The offsets of the first and last message."""
        return int(self.offsets[0] + self.shift), int(self.offsets[-1] + self.shift)

    def read_offsets(self) -> list[int]:
        """Return the offset of each message. This reads them all, so errors are raised before any record is yielded."""
        reading = self.natively(0, None)
        if reading is not None:
            return [record.offset for record in reading]
        return [format.role(header, "base_offset") for format, header in self.batch_headers()]

    def __iter__(self) -> Iterator[Record]:
        appended = None
        if self.format.flag(self.header, "timestamp_type"):
            appended = self.format.role(self.header, "base_timestamp")
        return self.natively(self.shift, appended) or self.by_layout(appended)

    def stored(self) -> Iterator[Record]:
        """Iterate over the messages as records. Each has its own timestamp, even if the wrapper has an append time."""
        return self.natively(self.shift, None) or self.by_layout(None)

    def natively(self, shift: int, appended: int | None) -> Iterator[Record] | None:
        plans = self.format.plans
        if plans.records is None or self.is_mixed:
            return None
        inputs = plans.inputs({}, shift, appended or 0, int(appended is None))
        return plans.records.read(self.data, 0, len(self.data), None, inputs, self.limits, self.rejected)

    def by_layout(self, appended: int | None) -> Iterator[Record]:
        for (format, header), offset in zip(self.batch_headers(), self.offsets, strict=True):
            has_time = "base_timestamp" in format.fields
            yield record_of(format, header, offset + self.shift, appended if has_time else None)

    def rejected(self, index: int, pos: int, elements: int, good: Good) -> Iterator[Any]:
        """Let the interpreter raise the exact error for the message that the native engine rejected."""
        return self.batch_headers(index, pos, elements, good)

    def batch_headers(
        self, index: int = 0, pos: int = 0, elements: int = 0, good: Good | None = None
    ) -> Iterator[tuple[Format, dict[str, Any]]]:
        """Yield the format and header values of each message, starting at `pos`.

        `elements` is the number of messages before `pos`. The limit on elements includes these messages.
        """
        reader = LayoutReader(self.format.header, bytes(self.data), offset=pos, limits=self.limits)
        reader.compressed_at = self.offset
        reader.elements = elements
        reader.good = good or {}
        while reader.left:
            reader.path = ["value", index]
            reader.elements += 1
            reader.bound("elements", reader.elements)
            format = self.format_at(reader.pos)
            header = reader.struct(format.header.root, ())
            if format.flag(header, "compression"):
                reader.fail("a wrapper inside a wrapper", "messages that are not compressed")
            yield format, header
            index += 1

    def format_at(self, pos: int) -> Format:
        """Return the format of the message at `pos`, which can differ from the wrapper's format."""
        if not self.is_mixed or len(self.data) <= pos + MAGIC_AT or (magic := self.data[pos + MAGIC_AT]) > 1:
            return self.format
        return format_of(_MIXED[magic])

    def reject(self, path: str, found: str, expected: str) -> NoReturn:
        raise DecodeError(
            message_name=self.format.name, version=None, path=path, offset=self.offset, found=found, expected=expected
        )


class MessageSet(RecordBatch):
    """Several uncompressed messages as one batch object. Its bytes are the messages, one after another."""

    __slots__ = ("_count",)

    def __init__(self, data: bytes, count: int, format: Format) -> None:
        header = (
            read_batch(data, 0, format, DEFAULT_LIMITS)._header
            if count
            else format.header.root.default_value() | {"crc": 0}
        )
        super().__init__(format, header, data, 0, len(data), DEFAULT_LIMITS)
        self._count = count

    @cached_property
    def _parts(self) -> list[RecordBatch]:
        parts: list[RecordBatch] = []
        while len(parts) < self._count:
            parts.append(read_batch(self._buf, parts[-1]._end if parts else 0, self._format, DEFAULT_LIMITS))
        return parts

    @property
    def last_offset(self) -> int:
        return self._parts[-1].last_offset if self._parts else -1

    @property
    def max_timestamp(self) -> int:
        return max((part.max_timestamp for part in self._parts), default=-1)

    def __iter__(self) -> Iterator[Record]:
        return (record for part in self._parts for record in part)

    def __len__(self) -> int:
        return self._count

    def __reduce__(self) -> tuple[object, ...]:
        return MessageSet, (self._buf, self._count, self._format)


def build_messages(builder: "BatchBuilder", more: Iterator[Record]) -> RecordBatch:
    """Build messages from the builder's records, followed by the records in `more`.

    If the messages are compressed, put them into a wrapper. Raises EncodeError for invalid values.
    """
    format, codec = builder.format, codec_of(builder)
    is_relative = format.magic > 0 and codec != "none"
    base = builder.bases(builder.first())[0] if is_relative else 0

    def in_python() -> bytes:
        return b"".join(
            builder.of_each(lambda record: encode(format.header, _message(builder, record, base)), builder.records)
        )

    found, count = builder.in_parts(more, lambda: builder.encoded({}, base, 0, in_python))
    if codec == "none":
        return MessageSet(found.data, count, format)
    if not builder.records:
        builder.fail("records", "expected at least one: a compressed message set can't be empty")
    header = builder.values(
        base_offset=builder.records[-1].offset if builder.last_offset is None else builder.last_offset,
        attributes=batch_attributes(builder),
        base_timestamp=builder.top(found.max_timestamp),
    )
    return own_batch(
        format, format.encode_header({**header, "key": builder.wrapper_key, "value": compress(codec, found.data)})
    )


def _message(builder: "BatchBuilder", record: Record, base: int) -> dict[str, Any]:
    format = builder.format
    is_appended = builder.timestamp_type == "append"
    if "base_timestamp" not in format.fields and record.timestamp != -1:
        reject(format, "timestamp", f"expected -1, got {record.timestamp}: the format has no timestamps")
    number = record_attributes(format, record, as_read=builder.as_read)
    if is_appended:
        number = format.bits["timestamp_type"].put(number, 1)
    header = builder.values(
        base_offset=record.offset - base,
        attributes=number,
        base_timestamp=builder.append_time if is_appended and builder.compression == "none" else record.timestamp,
    )
    found = {**header, "key": record.key, "value": record.value}
    headers = header_values(format, record)
    return {**found, "headers": headers} if headers else found
