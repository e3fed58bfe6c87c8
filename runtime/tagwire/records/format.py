"""Record formats, which determine how batches are read and built. A format is made from the layout of a spec.

The name of a field determines its role. Any format that uses the names in `VOCABULARY` can be read, built and
converted.

There are two kinds of format. In most formats, a batch is a header, followed by an array of records. In message set
formats, a batch is a message: either a single record, or a wrapper whose value contains other messages.

A search for batches tests many positions. To avoid decoding whole headers, `HeaderPositions` has the positions of the
tested fields, which are computed once for each format.
"""

from functools import cached_property
from struct import Struct
from typing import Any, Final, NamedTuple

from tagwire.errors import DecodeError, SchemaError
from tagwire.layout import (
    Array,
    Bits,
    Checksum,
    Count,
    Extent,
    Fixed,
    Item,
    Layout,
    Nested,
    Order,
    Sized,
    StructLayout,
    Varint,
)
from tagwire.message.record_format import RecordFormat
from tagwire.records import record_items
from tagwire.records.native import Plans
from tagwire.wire.checksums import POLYNOMIALS
from tagwire.wire.types import WIRE_TYPES
from tagwire.wire.varint import from_zigzag, read_uvarint

VOCABULARY: Final = {
    "base_offset": ("base_offset", "first_offset", "offset"),
    "base_timestamp": ("base_timestamp", "first_timestamp", "timestamp"),
    "max_timestamp": ("max_timestamp", "max_timestamp_delta"),
    "producer_id": ("producer_id", "pid"),
    "producer_epoch": ("producer_epoch", "epoch"),
    "base_sequence": ("base_sequence", "first_sequence"),
    "partition_leader_epoch": ("partition_leader_epoch",),
    "last_offset_delta": ("last_offset_delta",),
    "attributes": ("attributes",),
    "magic": ("magic",),
    "records": ("records", "messages"),
    "count": ("count",),
}
"""Maps each role to the names that fields with this role have in Kafka and in proposals."""

_PACKED: Final = "payload"


class Format:
    """A record format, such as v2. Raises SchemaError if the layout is neither a batch nor a message."""

    def __init__(self, source: type[RecordFormat] | Layout) -> None:
        layout = source if isinstance(source, Layout) else source.layout()
        self.layout = layout
        self.name = layout.name
        self.source: str | type[RecordFormat] | Layout = source
        """The layout or class that the format was made from; worker processes use it to rebuild the format."""
        self.root = _bare(layout.root)
        """The layout without classes, so that decoded structs are dicts."""
        items = {item.name: item for item in self.root.items}
        self.fields = {role: items[name] for role, names in VOCABULARY.items() for name in names if name in items}
        """The layout item of each role that the format has."""
        self.records = self.fields.get("records")
        """The array of records, or None in message set formats."""
        for role in ("base_offset", "attributes"):
            if role not in self.fields:
                raise SchemaError(
                    f"the record format {self.name} needs a field for {role}; its fields are {', '.join(items)}"
                )
        if self.records is None and not {"key", "value"} <= items.keys():
            raise SchemaError(f"the record format {self.name} needs an array of records, or the fields key and value")
        self.bits = {group.name: group for group in self.fields["attributes"].bits}
        """The named attribute bits of a batch or message."""
        self._names = {role: item.name for role, item in self.fields.items()}
        attributes = self._names["attributes"]
        self._groups = {name: (attributes, group.mask, group.shift) for name, group in self.bits.items()}
        """`fields` and `bits` in a fast form for `role` and `flag`, which are called many times per batch."""

    @cached_property
    def record_bits(self) -> dict[str, Bits]:
        """The named attribute bits of a record."""
        if self.records is None:
            return self.bits
        own = next((item for item in self.record.items if item.name == "attributes"), None)
        return {group.name: group for group in own.bits} if own else {}

    @property
    def magic(self) -> int:
        """The value of the magic byte, or -1 if there is none."""
        magic = self.fields.get("magic")
        return -1 if magic is None or magic.equals is None else magic.equals

    @cached_property
    def header_positions(self) -> "HeaderPositions":
        """The positions of header fields that help to recognize the start of a batch, such as length and magic byte."""
        return HeaderPositions(self)

    @cached_property
    def record(self) -> StructLayout:
        if self.records is None:
            return self.root
        assert isinstance(self.records.type, Array) and isinstance(self.records.type.element, Nested)
        return self.records.type.element.struct

    @cached_property
    def has(self) -> frozenset[str]:
        """The names of a record's fields and named attribute bits."""
        return frozenset((*(item.name for item in self.record.items), *self.record_bits))

    @cached_property
    def headers(self) -> Array | None:
        """The array of a record's headers, or None if records have none."""
        arrays = (item.type for item in self.record.items if item.name == "headers" and isinstance(item.type, Array))
        return next(arrays, None)

    @property
    def header_order(self) -> Order | None:
        """The order in which the format sorts a record's headers, or None if it keeps their original order."""
        return None if self.headers is None else self.headers.order

    @cached_property
    def header_types(self) -> dict[str, Any]:
        """The types of a header's fields, `key` and `value`, or {} if records have no headers."""
        element = None if self.headers is None else self.headers.element
        return {item.name: item.type for item in element.struct.items} if isinstance(element, Nested) else {}

    @property
    def header_key(self) -> type:
        """The Python type of header keys, which is str if records have no headers."""
        return int if self.header_types and not isinstance(self.header_types.get("key"), Sized) else str

    @cached_property
    def least(self) -> int:
        """The minimum size of a record in bytes."""
        return self.record.minimum

    @cached_property
    def header(self) -> Layout:
        """The layout of a batch, in which a single bytes field contains all records, whether compressed or not."""
        items = tuple(
            (
                Item(_PACKED, Sized(WIRE_TYPES["bytes"], None, nullable=False), default=b"")
                if item is self.records
                else Item(item.name, item.type.code, default=0) if isinstance(item.type, Count) else item
            )
            for item in self.root.items
        )
        return Layout(self.name, None, StructLayout(self.root.name, items))

    @cached_property
    def outline(self) -> Layout:
        """The `header` layout, but with the checksum as a plain number that is not verified."""
        number = Fixed(WIRE_TYPES["uint32"])
        items = (
            item.replace(type=number) if isinstance(item.type, Checksum) else item for item in self.header.root.items
        )
        return Layout(self.name, None, StructLayout(self.root.name, tuple(items)))

    @cached_property
    def has_magic2_records(self) -> bool:
        """Whether records have the fields of magic 2."""
        return self.records is not None and record_items.fits(self)

    @cached_property
    def plans(self) -> Plans:
        """The native engine's plans (encoders and decoders) for this format."""
        return Plans(self)

    @cached_property
    def codecs(self) -> tuple[str, ...]:
        """The names of the codecs in the spec, indexed by number."""
        group = self.bits.get("compression")
        return group.values if group else ("none",)

    def encode_header(self, header: dict[str, Any]) -> bytes:
        """Encode a batch or message from its header values. Raises EncodeError for an invalid value."""
        plan = self.plans.header
        if plan is not None:
            return plan.encode(header)
        from tagwire.interpreter.writer import encode

        return encode(self.header, header)

    def role(self, header: dict[str, Any], role: str, none: int = -1) -> int:
        """Return the value of the header field with this role (see `VOCABULARY`), or `none` if there is none."""
        name = self._names.get(role)
        return none if name is None else int(header[name])

    def flag(self, header: dict[str, Any], name: str) -> int:
        """Return the value of the bit group `name`, or 0 if the format has no such group."""
        group = self._groups.get(name)
        return 0 if group is None else (header[group[0]] & group[1]) >> group[2]

    def __reduce__(self) -> tuple[object, ...]:
        from tagwire.records.format_set import format_of

        return format_of, (self.source,)

    def __repr__(self) -> str:
        return f"<record format {self.name}>"


def without_named(attributes: int, bits: dict[str, Bits]) -> int:
    """Return those attribute bits of a batch or record that have no name in `bits`."""
    for group in bits.values():
        attributes &= ~group.mask
    return attributes


def _bare(struct: StructLayout) -> StructLayout:
    """Return a copy of the struct layout that refers to no classes, so that structs are decoded to dicts."""
    return StructLayout(struct.name, tuple(_bare_item(item) for item in struct.items))


def _bare_item(item: Item) -> Item:
    kind = item.type
    if isinstance(kind, Nested):
        return item.replace(type=kind.replace(struct=_bare(kind.struct)))
    if isinstance(kind, Array) and isinstance(kind.element, Nested):
        element = kind.element.replace(struct=_bare(kind.element.struct))
        return item.replace(type=kind.replace(element=element))
    return item


LONGEST: Final = 64
"""The number of bytes needed to read a batch's magic byte and last offset in any format."""


class ChecksumPosition(NamedTuple):
    """The positions of a format's checksum and of the first byte it covers, relative to the end of the length field."""

    algorithm: str
    at: int
    begin: int
    first: str


class HeaderPositions:
    """The positions of one format's header fields, in bytes from the beginning of a batch."""

    def __init__(self, format: Format) -> None:
        self._header = format.header
        items = format.header.root.items
        self._extent = next(
            (at for at, item in enumerate(items) if isinstance(item.type, Extent) and not item.type.of), -1
        )
        before = _width(items[: self._extent]) if self._extent >= 0 else None
        kind = items[self._extent].type if self._extent >= 0 else None
        self.length_at = before
        """The position of the length, or None if it varies, or there is no length."""
        self.length_code = kind.code if isinstance(kind, Extent) else None
        """The encoding of the batch length, or None if the format has no batch length."""
        self._number = Struct(f">{self.length_code.wire.code}") if isinstance(self.length_code, Fixed) else None
        self._counts_itself = isinstance(kind, Extent) and kind.counts_itself
        self.least = sum(item.type.minimum for item in items[self._extent + 1 :] if item.condition is None)
        """The minimum number of bytes after the length."""
        self.magic = format.magic
        self.magic_at = self._fixed(format, "magic")
        """The position of the magic byte; None after a length of varying size, or if there is none."""
        self.magic_after_length = None if self._extent < 0 else self._fixed(format, "magic", begin=self._extent + 1)
        """The distance of the magic byte from the end of the length, or None if this varies as well."""
        self.sum = self._sum()
        """The position of the checksum, or None if it varies, or there is none."""
        self.offset_at = self._fixed(format, "base_offset", 8)
        self.last_delta_at = self._fixed(format, "last_offset_delta", 4)
        self.gives_last_offset = self.offset_at is not None and (
            self.last_delta_at is not None or "last_offset_delta" not in format.fields
        )
        """Whether the last offset can be read from fixed positions."""

    @property
    def search_form(self) -> tuple[int, bool, bool, bool, int, int, int, int, int, int] | None:
        """The arguments for the native search for batch headers, or None if native code doesn't support the format."""
        code, checksum = self.length_code, self.sum
        is_int32 = self._number is not None and self._number.format == ">i"
        if self.length_at is None or self.magic_after_length is None or not (is_int32 or isinstance(code, Varint)):
            return None
        return (
            *(self.length_at, not is_int32, isinstance(code, Varint) and code.zigzag, self._counts_itself),
            *(self.least, self.magic_after_length, self.magic & 0xFF),
            *((POLYNOMIALS[checksum.algorithm], checksum.at, checksum.begin) if checksum else (0, 0, 0)),
        )

    @property
    def length_is_varint(self) -> Varint | None:
        """The varint type of the length field. None if the field has a fixed width, or if there is no such field."""
        return self.length_code if isinstance(self.length_code, Varint) else None

    def _fixed(self, format: Format, role: str, width: int = 1, *, begin: int = 0) -> int | None:
        """Return the distance of a field from item number `begin`, or None if it varies, or there is no such field."""
        item = format.fields.get(role)
        if item is None or not isinstance(item.type, Fixed) or item.type.wire.width != width:
            return None
        return _width(self._items_before(item.name)[begin:])

    def _sum(self) -> ChecksumPosition | None:
        item = next((each for each in self._header.root.items if isinstance(each.type, Checksum)), None)
        if item is None or not isinstance(item.type, Checksum) or self._extent < 0 or item.condition is not None:
            return None
        at = _width(self._items_before(item.name)[self._extent + 1 :])
        begin = _width(self._items_before(item.type.first)[self._extent + 1 :])
        return (
            None if at is None or begin is None else ChecksumPosition(item.type.algorithm, at, begin, item.type.first)
        )

    def _items_before(self, name: str) -> tuple[Item, ...]:
        items = self._header.root.items
        return items[: next(at for at, item in enumerate(items) if item.name == name)]

    def length(self, header: bytes, pos: int) -> tuple[int, int] | None:
        """Return the length of the batch at `pos` and where that field ends, or None if the header is truncated."""
        if self.length_at is None or self.length_code is None:
            return self._length_by_layout(header, pos)
        begin = pos + self.length_at
        if self._number is not None:
            end = begin + self._number.size
            return (self._number.unpack_from(header, begin)[0], end) if end <= len(header) else None
        try:
            value, end = (header[begin], begin + 1) if header[begin] < 0x80 else read_uvarint(header, begin)
        except (IndexError, ValueError):
            return None
        return from_zigzag(value) if isinstance(self.length_code, Varint) and self.length_code.zigzag else value, end

    def _length_by_layout(self, header: bytes, pos: int) -> tuple[int, int] | None:
        if self._extent < 0:
            return None
        from tagwire.interpreter.reader import LayoutReader

        reader = LayoutReader(self._header, header, offset=pos)
        try:
            for item in self._header.root.items[: self._extent]:
                reader.read(item.type, ())
            return int(reader.read(self._header.root.items[self._extent].type, ())), reader.pos
        except DecodeError:
            return None

    def size(self, header: bytes, pos: int) -> int | None:
        """Return the size in bytes that the header at `pos` gives for its batch, or None if the header is truncated."""
        found = self.length(header, pos)
        return None if found is None else self.batch_size(*found, pos)

    def batch_size(self, length: int, end: int, pos: int) -> int:
        """Return the batch size in bytes.

        `length` is the value of the batch's length field, and `end` the position after that field.
        """
        return length + (self.length_at or 0 if self._counts_itself else end - pos)

    def sound_size(self, header: bytes, pos: int) -> int:
        """Return the size of the batch at `pos`, or 0 if its header is truncated or its length is too small."""
        found = self.length(header, pos)
        return 0 if found is None or found[0] < self.least else self.batch_size(*found, pos)

    def has_magic(self, header: bytes, pos: int) -> bool:
        if self.magic_at is not None:
            at = pos + self.magic_at
        else:
            if self.magic_after_length is None or (found := self.length(header, pos)) is None:
                return False
            at = found[1] + self.magic_after_length
        return at < len(header) and header[at] == self.magic


def _width(items: tuple[Item, ...]) -> int | None:
    width = 0
    for item in items:
        code = item.type.code if isinstance(item.type, Extent) else item.type
        if not isinstance(code, Fixed | Checksum) or item.condition is not None:
            return None
        width += code.minimum
    return width
