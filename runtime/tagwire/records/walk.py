"""Records out of the bytes of a batch, one after the other, by the layout.

One at a time, so that a batch of a million tiny records costs the memory of
one. Where a record has the shape of magic 2's, straight-line code reads it;
it knows no places, and where it refuses, the layout's walk reads the same
bytes from that record on and says what is wrong.
"""

from collections.abc import Iterator
from typing import Any

from tagwire.compression import PackingFault, unpack
from tagwire.errors import DecodeError, LimitError
from tagwire.layout import Array
from tagwire.layout_reader import LayoutReader
from tagwire.limits import Limits
from tagwire.records import plain_records
from tagwire.records.format import Format
from tagwire.records.record import Record

__all__ = ["Walk", "unpacked"]


def unpacked(format: Format, codec: str, data: Any, offset: int, path: str, limits: Limits) -> bytes:
    """What packed bytes hold; they stand at `offset` of the input. Raises DecodeError, LimitError."""
    try:
        return unpack(codec, data, limits)
    except PackingFault as fault:
        error = LimitError if fault.is_limit else DecodeError
        raise error(
            message_name=format.name,
            version=None,
            path=path,
            offset=offset,
            found=fault.found,
            expected=fault.expected,
        ) from None


class Walk:
    """The records of one batch.

    `data` from `pos` to `end` are the records, unpacked; `packed_at` is where
    they stand packed in the input, or None.
    """

    def __init__(
        self,
        format: Format,
        head: dict[str, Any],
        data: bytes,
        pos: int,
        end: int,
        *,
        packed_at: int | None,
        limits: Limits,
    ) -> None:
        assert format.records is not None and isinstance(format.records.type, Array)
        self.format = format
        self.head = head
        self.array = format.records.type
        self.name = format.records.name
        self.pos = pos
        self.limits = limits
        self.reader = LayoutReader(format.layout, data, offset=pos, limits=limits)
        self.reader.end = end
        self.reader.packed_at = packed_at
        self.reader.path = [self.name]
        self.base_offset = format.role(head, "base_offset")
        self.base_timestamp = format.role(head, "base_timestamp")
        self.appended: int | None = max_timestamp(format, head) if format.flag(head, "timestamp_type") else None

    def count(self) -> int | None:
        """How many records the batch says that it has, if they fit into its bytes; None where it does not say."""
        count = self.head[self.array.counted_by] if self.array.counted_by else None
        if count is None:
            return None
        least = self.array.element.minimum
        if not 0 <= count * least <= self.reader.left:
            most = f"0 to {self.reader.left // least} in the {self.reader.left} bytes left"
            self.reader.fail(f"a count of {count}", most, self.pos)
        return int(count)

    def __iter__(self) -> Iterator[Record]:
        count = self.count()
        self.reader.elements = count or 0
        self.reader.bound("elements", self.reader.elements)
        index = 0
        if count is not None and plain_records.fits(self.format) and self.limits.elements is None:
            for record in plain_records.read(self, count):
                yield record
                index += 1
            if index == count and self.reader.pos == self.reader.end:
                return
        yield from self.by_layout(index, count)

    def by_layout(self, index: int, count: int | None) -> Iterator[Record]:
        """The records from this one on, from the reader's position, by the layout."""
        reader = self.reader
        while index < count if count is not None else reader.left > 0:
            reader.path = [self.name, index]
            if count is None:
                reader.elements += 1
                reader.bound("elements", reader.elements)
            yield self.record(reader.read(self.array.element, (self.head,)))
            index += 1
        reader.path = [self.name]
        reader.exhausted("the batch" if reader.packed_at is None else "the packed bytes")

    def record(self, value: dict[str, Any]) -> Record:
        """A record of the values of its fields."""
        timestamp = self.appended
        if timestamp is None:
            timestamp = self.base_timestamp + value["timestamp_delta"]
        return Record(
            self.base_offset + value["offset_delta"],
            timestamp,
            value["key"],
            value["value"],
            tuple((header["key"], header["value"]) for header in value["headers"]),
            attributes=plain_attributes(self.format, value["attributes"]),
        )


def plain_attributes(format: Format, attributes: int) -> int:
    """A record's attributes without the bits that its format has names for: those are other members."""
    for group in format.record_bits.values():
        attributes &= ~group.mask
    return attributes


def max_timestamp(format: Format, head: dict[str, Any]) -> int:
    """A batch's highest timestamp, also where it is written as a difference; that of a message is its own."""
    item = format.fields.get("max_timestamp")
    if item is None:
        return format.role(head, "base_timestamp")
    base = head[item.relative_to] if item.relative_to else 0
    return int(base + head[item.name])
