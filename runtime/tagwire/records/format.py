"""Record formats, which determine how batches are read and built. A format is made from the layout of a spec.

The name of a field determines its role. Any format that uses the names in `VOCABULARY` can be read, built and
converted.

There are two kinds of format. In most formats, a batch is a header, followed by an array of records. In message set
formats, a batch is a message: either a single record, or a wrapper whose value contains other messages.
"""

from functools import cached_property
from typing import Any, Final

from tagwire.errors import SchemaError
from tagwire.layout import (
    Array,
    Bits,
    Checksum,
    Count,
    Fixed,
    Item,
    Layout,
    Nested,
    Order,
    Sized,
    StructLayout,
)
from tagwire.message.record_format import RecordFormat
from tagwire.records import record_items
from tagwire.records.header_positions import HeaderPositions
from tagwire.records.native import Plans
from tagwire.wire.types import WIRE_TYPES

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
        self.record_bits = self._record_bits()
        self._names = {role: item.name for role, item in self.fields.items()}
        attributes = self._names["attributes"]
        self._groups = {name: (attributes, group.mask, group.shift) for name, group in self.bits.items()}
        """`fields` and `bits` in a fast form for `role` and `flag`, which are called many times per batch."""

    def _record_bits(self) -> dict[str, Bits]:
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
    def header_positions(self) -> HeaderPositions:
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
    def header_order(self) -> Order | None:
        """The order in which the format sorts a record's headers, or None if it keeps their original order."""
        item = next((item for item in self.record.items if item.name == "headers"), None)
        return item.type.order if item is not None and isinstance(item.type, Array) else None

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
    def is_movable(self) -> bool:
        """Whether native code can copy the records to other batches."""
        return self.has_magic2_records and self.record.items[1].condition is None

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

    def unnamed_bits(self, attributes: int) -> int:
        for group in self.bits.values():
            attributes &= ~group.mask
        return attributes

    def flag(self, header: dict[str, Any], name: str) -> int:
        """Return the value of the bit group `name`, or 0 if the format has no such group."""
        group = self._groups.get(name)
        return 0 if group is None else (header[group[0]] & group[1]) >> group[2]

    def __reduce__(self) -> tuple[object, ...]:
        from tagwire.records.format_set import format_of

        return format_of, (self.source,)

    def __repr__(self) -> str:
        return f"<record format {self.name}>"


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
