"""A record format for reading and building, made from the layout of any spec.

This module knows no format by name. The name of a field tells its role, and `VOCABULARY`
lists these names; any format that uses them can be read, built and converted, including
your own. What a format lacks has the value that means none.

Two shapes: a batch has an array of records at its end, a message is a record
itself, and a wrapper is a message whose value holds others.
"""

from functools import cached_property
from typing import Any, Final

from tagwire.errors import SchemaError
from tagwire.interpreter.writer import encode
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
from tagwire.records.head_positions import HeadPositions
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
"""What a field of a batch or message is for, and the names that proposals have given it."""

_PACKED: Final = "payload"


class Format:
    """A record format. Raises SchemaError for a layout that is neither a batch nor a message."""

    def __init__(self, source: type[RecordFormat] | Layout) -> None:
        layout = source if isinstance(source, Layout) else source.layout()
        self.layout = layout
        self.name = layout.name
        self.source: str | type[RecordFormat] | Layout = source
        """What it was made from: what workers in other processes make it from, too."""
        self.root = _bare(layout.root)
        """The layout with dicts for values."""
        items = {item.name: item for item in self.root.items}
        self.fields = {role: items[name] for role, names in VOCABULARY.items() for name in names if name in items}
        """The item of each role that the format has."""
        self.records = self.fields.get("records")
        """The array of records; None in a format of messages."""
        for role in ("base_offset", "attributes"):
            if role not in self.fields:
                raise SchemaError(f"format {self.name} has no {role}; its fields are {', '.join(items)}")
        if self.records is None and not {"key", "value"} <= items.keys():
            raise SchemaError(f"format {self.name} has neither an array of records, nor a key and a value")
        self.bits = {group.name: group for group in self.fields["attributes"].bits}
        """The named bits of a batch's or a message's attributes."""
        self.record_bits = self._record_bits()
        self._names = {role: item.name for role, item in self.fields.items()}
        attributes = self._names["attributes"]
        self._groups = {name: (attributes, group.mask, group.shift) for name, group in self.bits.items()}
        """As `fields` and `bits`, for `role` and `flag`, which are asked many times of each batch."""

    def _record_bits(self) -> dict[str, Bits]:
        """The named bits of a record's own attributes."""
        if self.records is None:
            return self.bits
        own = next((item for item in self.record.items if item.name == "attributes"), None)
        return {group.name: group for group in own.bits} if own else {}

    @property
    def magic(self) -> int:
        """The value of its discriminator, -1 for none."""
        magic = self.fields.get("magic")
        return -1 if magic is None or magic.equals is None else magic.equals

    @cached_property
    def head_positions(self) -> HeadPositions:
        """Where its heads have what tells batches apart."""
        return HeadPositions(self)

    @cached_property
    def record(self) -> StructLayout:
        """A record."""
        if self.records is None:
            return self.root
        assert isinstance(self.records.type, Array) and isinstance(self.records.type.element, Nested)
        return self.records.type.element.struct

    @cached_property
    def has(self) -> frozenset[str]:
        """The fields of a record, and the names of its bits: what a record can carry."""
        return frozenset((*(item.name for item in self.record.items), *self.record_bits))

    @cached_property
    def header_order(self) -> Order | None:
        """The order of a record's headers; None if they keep the order in which they were added."""
        item = next((item for item in self.record.items if item.name == "headers"), None)
        return item.type.order if item is not None and isinstance(item.type, Array) else None

    @cached_property
    def least(self) -> int:
        """The fewest bytes that a record takes."""
        return self.record.minimum

    @cached_property
    def head(self) -> Layout:
        """The layout of everything but the records: these are bytes, still packed."""
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
        """The head with its checksum as a plain number that is not verified, for readers that skip records."""
        number = Fixed(WIRE_TYPES["uint32"])
        items = (
            item.replace(type=number) if isinstance(item.type, Checksum) else item for item in self.head.root.items
        )
        return Layout(self.name, None, StructLayout(self.root.name, tuple(items)))

    @cached_property
    def has_magic2_records(self) -> bool:
        """Whether records have the shape of magic 2's, which straight lines read."""
        return self.records is not None and record_items.fits(self)

    @cached_property
    def is_movable(self) -> bool:
        """Whether records have that shape with an attributes byte in each, as native code moves them."""
        return self.has_magic2_records and self.record.items[1].condition is None

    @cached_property
    def plans(self) -> Plans:
        """What the native engine has for this format."""
        return Plans(self)

    @cached_property
    def codecs(self) -> tuple[str, ...]:
        """The codecs by their numbers, as the spec calls them."""
        group = self.bits.get("compression")
        return group.values if group else ("none",)

    def encode_head(self, head: dict[str, Any]) -> bytes:
        """A batch or message of the values of its head. Raises EncodeError for a value that can't be."""
        plan = self.plans.head
        return encode(self.head, head) if plan is None else plan.encode(head)

    def role(self, head: dict[str, Any], role: str, none: int = -1) -> int:
        """The value of a role in the head of a batch."""
        name = self._names.get(role)
        return none if name is None else int(head[name])

    def unnamed_bits(self, attributes: int) -> int:
        """The bits of a batch's or a message's attributes that have no name."""
        for group in self.bits.values():
            attributes &= ~group.mask
        return attributes

    def flag(self, head: dict[str, Any], name: str) -> int:
        """The value of a group of bits, 0 where the format has none of that name."""
        group = self._groups.get(name)
        return 0 if group is None else (head[group[0]] & group[1]) >> group[2]

    def __reduce__(self) -> tuple[object, ...]:
        from tagwire.records.formats import format_of

        return format_of, (self.source,)

    def __repr__(self) -> str:
        return f"<record format {self.name}>"


def _bare(struct: StructLayout) -> StructLayout:
    """The struct with dicts for values, all the way down."""
    return StructLayout(struct.name, tuple(_bare_item(item) for item in struct.items))


def _bare_item(item: Item) -> Item:
    kind = item.type
    if isinstance(kind, Nested):
        return item.replace(type=kind.replace(struct=_bare(kind.struct)))
    if isinstance(kind, Array) and isinstance(kind.element, Nested):
        element = kind.element.replace(struct=_bare(kind.element.struct))
        return item.replace(type=kind.replace(element=element))
    return item
