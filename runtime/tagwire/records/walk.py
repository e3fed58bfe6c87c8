"""Read the records of a batch one at a time, so that even a batch of a million tiny records needs little memory.

The native engine reads the formats that it supports. Without the native engine, a fast path in Python reads records
that have the same fields as in magic 2. If a record is invalid, the layout interpreter reads it again to find the
position of the error.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from tagwire.errors import DecodeError, LimitError
from tagwire.layout import Array
from tagwire.limits import Limits
from tagwire.records import record_items
from tagwire.records.format import Format, without_named
from tagwire.records.record import Record
from tagwire.text_format import byte_count
from tagwire.wire.compression import DecompressionError, decompress_in_place

if TYPE_CHECKING:
    from tagwire.interpreter.cursor import Good
    from tagwire.interpreter.reader import LayoutReader


def decompressed(format: Format, codec: str, data: Any, offset: int, path: str, limits: Limits) -> bytes | bytearray:
    """Decompress `data`, which begins at `offset` of the input. Callers must not change the result.

    Raises DecodeError for invalid data, and LimitError if the result exceeds a limit.
    """
    try:
        return decompress_in_place(codec, data, limits)
    except DecompressionError as cause:
        error = LimitError if cause.is_limit else DecodeError
        raise error(
            message_name=format.name,
            version=None,
            path=path,
            offset=offset,
            found=cause.found,
            expected=cause.expected,
        ) from None


class Walk:
    """Iterates over the records of one batch.

    The decompressed records are in `data` from `pos` to `end`. `compressed_at` is the position of the compressed
    records in the input, or None if they are not compressed.
    """

    def __init__(
        self,
        format: Format,
        header: dict[str, Any],
        data: bytes | bytearray,
        pos: int,
        end: int,
        *,
        compressed_at: int | None,
        limits: Limits,
    ) -> None:
        assert format.records is not None and isinstance(format.records.type, Array)
        self.format = format
        self.header = header
        self.array = format.records.type
        self.name = format.records.name
        self.data = data
        self.pos = pos
        self.end = end
        self.compressed_at = compressed_at
        self.limits = limits
        self.base_offset = format.role(header, "base_offset")
        self.base_timestamp = format.role(header, "base_timestamp")
        self.appended: int | None = max_timestamp(format, header) if format.flag(header, "timestamp_type") else None

    @cached_property
    def reader(self) -> "LayoutReader":
        """The layout interpreter, initially positioned at the first record."""
        from tagwire.interpreter.reader import LayoutReader

        reader = LayoutReader(self.format.layout, bytes(self.data), offset=self.pos, limits=self.limits)
        reader.end = self.end
        reader.compressed_at = self.compressed_at
        reader.path = [self.name]
        return reader

    def count(self) -> int | None:
        """Return the record count in the header, or None if the header has no count.

        Raises DecodeError if the batch is too small for that count.
        """
        count = self.header[self.array.counted_by] if self.array.counted_by else None
        if count is None:
            return None
        least, left = self.format.least, self.end - self.pos
        if not 0 <= count * least <= left:
            expected = f"0 to {left // least}, because the batch has only {byte_count(left)} left"
            self.reader.fail(f"a count of {count}", expected, self.pos)
        return int(count)

    def __iter__(self) -> Iterator[Record]:
        plans = self.format.plans
        reading = None
        if plans.records is not None:
            offset, timestamp, is_appended = self.bases
            inputs = plans.inputs(self.header, offset, timestamp, int(not is_appended))
            reading = plans.records.read(
                self.data, self.pos, self.end, self.count(), inputs, self.limits, self.by_layout
            )
        return self.in_python() if reading is None else reading

    def leniently(self, deviated: Callable[[DecodeError], object]) -> Iterator[Record]:
        """Yield the records as Kafka's reader would.

        `deviated` is called with the first error that a strict reader would raise. Raises DecodeError for records that
        Kafka rejects, and LimitError for records that exceed a limit.
        """
        index = 0
        try:
            for record in self:
                yield record
                index += 1
            return
        except LimitError:
            raise
        except DecodeError as error:
            found: DecodeError | None = error
        vars(self).pop("reader", None)  # continue with a new reader, because the old one stopped inside a record
        self.reader.strict = False
        for record in islice(self.by_layout(0, self.pos, self.count() or 0), index, None):
            if found is not None:
                deviated(found)
                found = None
            yield record

    @property
    def bases(self) -> tuple[int, int, bool]:
        """The values to which the records' deltas are added: a tuple (base offset, timestamp, is_append_time).

        If the batch has an append time, the timestamp is the append time, and timestamp deltas are ignored.
        """
        appended = self.appended
        return self.base_offset, self.base_timestamp if appended is None else appended, appended is not None

    def in_python(self) -> Iterator[Record]:
        """Yield the records without the native engine. If the fast path can't continue, the interpreter takes over."""
        count = self.count()
        self.reader.bound("elements", count or 0)
        index = 0
        if count is not None and self.format.has_magic2_records and not self.bounds_records():
            for record in record_items.read(self, count):
                yield record
                index += 1
            if index == count and self.reader.pos == self.end:
                return
        yield from self.by_layout(index, self.reader.pos, count or 0)

    def bounds_records(self) -> bool:
        """Return whether there are limits on elements or depth, which the fast path does not check."""
        deepest = self.limits.depth
        return self.limits.elements is not None or (deepest is not None and deepest < self.format.root.depth)

    def by_layout(self, index: int, pos: int, elements: int, good: "Good | None" = None) -> Iterator[Record]:
        """Yield the records from number `index` on, which begins at `pos`. The layout interpreter reads them.

        `elements` is the number of array elements that already count towards the limit. If native code has rejected
        record `index`, `good` describes the array elements that are known to be valid.
        """
        reader, count = self.reader, self.count()
        reader.good = good or {}
        reader.pos, reader.elements = pos, elements
        reader.bound("elements", elements)
        while index < count if count is not None else reader.left > 0:
            reader.path = [self.name, index]
            if count is None:
                reader.elements += 1
                reader.bound("elements", reader.elements)
            yield self.record(reader.read(self.array.element, (self.header,)))
            index += 1
        reader.path = [self.name]
        reader.exhausted("the batch" if reader.compressed_at is None else "the compressed bytes")

    def record(self, value: dict[str, Any]) -> Record:
        timestamp = self.appended
        if timestamp is None:
            timestamp = self.base_timestamp + value["timestamp_delta"]
        offset = self.base_offset + value["offset_delta"]
        for name, number in (("offset", offset), ("timestamp", timestamp)):
            if not is_int64(number):
                self.reader.fail(f"{name} {number}", "a 64-bit number")
        return record_from(self.format, value, value["attributes"], offset, timestamp)


def is_int64(number: int) -> bool:
    """Return whether a number, such as the sum of a base and a delta, fits into 64 bits."""
    return -(1 << 63) <= number < 1 << 63


def record_from(format: Format, values: dict[str, Any], attributes: int, offset: int, timestamp: int) -> Record:
    """Return a `Record` for the decoded values of a record or, in message set formats, of a message."""
    tombstone = format.record_bits.get("is_tombstone")
    return Record(
        offset,
        timestamp,
        values["key"],
        values["value"],
        tuple((each["key"], each["value"]) for each in values.get("headers", ())),
        attributes=without_named(attributes, format.record_bits),
        tombstone=None if tombstone is None else bool(tombstone.of(attributes)),
    )


def max_timestamp(format: Format, header: dict[str, Any]) -> int:
    """Return the highest timestamp according to a batch header.

    For a message (v0 or v1), return the message's own timestamp.
    """
    item = format.fields.get("max_timestamp")
    if item is None:
        return format.role(header, "base_timestamp")
    base = header[item.relative_to] if item.relative_to else 0
    return int(base + header[item.name])
