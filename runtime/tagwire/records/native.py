"""Read, write and count records in native code.

A `Plans` object has the native engine's plans for a record format. A plan encodes and decodes one layout. There are
plans for batch headers, for records, and for the messages inside wrappers. A format that the native engine does not
support has no plans, and the interpreter is used. A `tagwire._records.Source` reads all records of a batch at once, and
creates no record objects.
"""

from collections.abc import Iterable
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tagwire.errors import DecodeError
from tagwire.layout import Array, Item, Layout, Missing, Nested, StructLayout
from tagwire.limits import Limits
from tagwire.message.engines import engine
from tagwire.records import record_items
from tagwire.records.record import Record

if TYPE_CHECKING:
    from tagwire._engine import Elements, Gathering, Magic2, Plan
    from tagwire._records import Source
    from tagwire.records.batch import RecordBatch
    from tagwire.records.format import Format
    from tagwire.records.walk import Walk

OFFSET: Final = "the base of offsets"
TIMESTAMP: Final = "the base of timestamps"
SCALE: Final = "1, or 0 where all have one timestamp"

_BASES: Final = frozenset((OFFSET, TIMESTAMP, SCALE))
_FOLLOWS: Final = {
    "key_is_null": ("empty", "key", ""),
    "value_is_null": ("empty", "value", ""),
    "has_headers": ("given", "headers", ""),
    "is_tombstone": ("flagged", "value", "tombstone"),
}
"""Maps each attribute bit that the encoder computes to a rule and the `Record` fields that the bit depends on."""
_DEFAULTS: Final = {"timestamp": -1, "headers": (), "tombstone": None}
"""The defaults of the `Record` fields that a format may lack."""


class Plans:
    """The native engine's plans for a format's batch header and records. A plan is None if it isn't supported."""

    header: "Plan | None" = None
    """The plan for a batch that has its records in one bytes field, or for a whole message in message set formats."""
    records: "Elements | None" = None
    """The plan for the records after a batch header, or for a series of whole messages in message set formats."""

    def __init__(self, format: "Format") -> None:
        self._format = format
        if engine() == "python":
            return
        from tagwire._engine import Elements, NotNative, Plan

        try:
            self.header = Plan(format.header)
            layout = seen(format)
            if layout is not None:
                self.records = Elements(layout, **_aspects(format, layout))
        except NotNative:
            pass

    @cached_property
    def outline(self) -> "Plan | None":
        """The plan that reads a header without verifying the checksum."""
        if self.header is None:
            return None
        from tagwire._engine import Plan

        return Plan(self._format.outline)

    @cached_property
    def quick(self) -> "Magic2 | None":
        """The native functions that read or write a whole v2 batch in one call, or None for other formats."""
        from tagwire.records.batch import RecordBatch

        return self.quick_for(RecordBatch)

    def quick_for(self, batch: "type[RecordBatch]", *, is_alone: bool = False) -> "Magic2 | None":
        """Return an object that reads and builds magic 2 batches as instances of `batch`, a subclass of RecordBatch.

        With `is_alone`, each batch copies its bytes. Returns None if native code does not support this format or class.
        """
        from tagwire.records.format_set import format_of

        if self.records is None or self._format.layout != format_of("v2").layout:
            return None
        from tagwire._engine import Magic2, NotNative

        try:
            return Magic2(batch, self._format, self.records, (OFFSET, TIMESTAMP, SCALE), is_alone)
        except NotNative:
            return None

    def inputs(self, header: dict[str, Any], base_offset: Any, base_timestamp: Any, scale: int = 1) -> tuple[Any, ...]:
        """Return the numbers that native code needs to read or write records, such as the base offset.

        If `scale` is 0, all records have the timestamp `base_timestamp`. Numbers that aren't parameters come from the
        batch header, or are 0.
        """
        assert self.records is not None
        given = {OFFSET: base_offset, TIMESTAMP: base_timestamp, SCALE: scale}
        return tuple([given[name] if name in given else header.get(name, 0) for name in self.records.inputs])


def seen(format: "Format") -> Layout | None:
    """Return a layout for decoding to `Record` objects, or None if a field is missing or can't be decoded natively."""
    if format.records is not None:
        names = {"offset_delta": "offset", "timestamp_delta": "timestamp"}
    else:
        names = {format.fields[role].name: name for role, name in _OF_MESSAGES if role in format.fields}
    items = tuple(_seen_item(item, names) for item in format.record.items)
    has = {item.name for item in items}
    needed = {"offset", "attributes", "key", "value"} | ({"timestamp"} if format.records is not None else set())
    if not needed <= has or names.keys() & _names_read(items) or not all(map(_has_pairs, items)):
        return None
    flags = {"tombstone"} if "is_tombstone" in format.record_bits else set()
    missing = tuple(
        Missing(name, default, ignorable=False) for name, default in _DEFAULTS.items() if name not in has | flags
    )
    return Layout(format.name, None, StructLayout(format.record.name, items, missing=missing, cls=Record))


_OF_MESSAGES: Final = (("base_offset", "offset"), ("base_timestamp", "timestamp"))


def _seen_item(item: Item, names: dict[str, str]) -> Item:
    item = item.replace(name=names.get(item.name, item.name), relative_to="")
    if item.compression is not None:  # compressed messages are wrappers, which are not records
        item = item.replace(compression=None)
    if item.name == "attributes":
        bits = (each.replace(values=each.values[:1]) if each.name == "compression" else each for each in item.bits)
        item = item.replace(bits=tuple(bits))
    if isinstance(item.type, Array) and isinstance(item.type.element, Nested):
        header = StructLayout("Header", item.type.element.struct.items, cls=tuple)
        item = item.replace(type=item.type.replace(element=Nested(header)))
    return item


def _names_read(items: Iterable[Item]) -> set[str]:
    found = {item.condition.field for item in items if item.condition is not None}
    return found | {item.type.counted_by for item in items if isinstance(item.type, Array)}


def _has_pairs(item: Item) -> bool:
    """Return whether native code supports an item."""
    kind = item.type
    if not isinstance(kind, Array):
        return not isinstance(kind, Nested)
    names = [field.name for field in kind.element.struct.values] if isinstance(kind.element, Nested) else []
    return item.name == "headers" and names == ["key", "value"]


def _aspects(format: "Format", layout: Layout) -> dict[str, Any]:
    """Return options that tell `Elements` how to compute `Record` attributes, such as offsets from deltas."""
    bits = format.record_bits
    bases = {"offset": (OFFSET, "")}
    if "timestamp" in (item.name for item in layout.root.items):
        bases["timestamp"] = (TIMESTAMP, SCALE)
    hidden = 0
    for group in bits.values():
        hidden |= group.mask
    follows = tuple((bits[name].mask, *how) for name, how in _FOLLOWS.items() if name in bits)
    flags = {"attributes": ("tombstone", bits["is_tombstone"].mask)} if "is_tombstone" in bits else {}
    return {"bases": bases, "hidden": {"attributes": hidden}, "flags": flags, "follows": {"attributes": follows}}


class Written(NamedTuple):
    """Encoded records, with the last offset and the highest timestamp for the batch header."""

    data: bytes
    last_offset: int
    max_timestamp: int


def write_natively(
    format: "Format", records: list[Record], header: dict[str, Any], base_offset: Any, base_timestamp: Any
) -> tuple[Written | None, bool]:
    """Encode records natively. Return (encoded records or None, whether the interpreter must also reject the records).

    `records` must not be empty, because the header of an empty batch is different.
    """
    plans = format.plans
    if plans.records is None:
        return None, False
    inputs = plans.inputs(header, base_offset, base_timestamp)
    try:
        data, highest, is_unsure = plans.records.write(records, inputs)
    except (OverflowError, TypeError):  # the base offset or timestamp is not a 64-bit integer
        return None, False
    if data is not None:
        return _with_tops(plans.records, data, highest), False
    has_bits = any(record.tombstone is not None or record.attributes != 0 for record in records)
    return None, not (is_unsure or has_bits)


def _with_tops(plan: "Elements", data: bytes, highest: tuple[int, ...]) -> Written:
    tops = dict(zip(plan.inputs, highest, strict=True))
    return Written(data, tops[OFFSET], tops.get(TIMESTAMP, -1))


def gathering(format: "Format", first: Record, base_offset: Any, base_timestamp: Any) -> "Gathering | None":
    """Return a native object that encodes records as they are added, beginning with `first`.

    Returns None if native code needs the whole batch header to encode records, or if decoding `first` would not return
    an equal record.
    """
    plan = format.plans.records
    if plan is None or format.records is None or format.record_bits or not _BASES.issuperset(plan.inputs):
        return None
    from tagwire._engine import Gathering

    inputs = format.plans.inputs({}, base_offset, base_timestamp)
    try:
        found = Gathering(plan, inputs)
    except (OverflowError, TypeError):  # the base offset or timestamp is not a 64-bit integer
        return None
    return found if found.take(first) else None


def gathered(format: "Format", found: "Gathering") -> list[Record]:
    """Return the collected records as objects."""
    plan = format.plans.records
    assert plan is not None
    data, _ = found.written()
    # The last argument is never called: the engine can read the bytes that it has just written.
    records = plan.read(data, 0, len(data), len(found), found.inputs, Limits(), lambda *_: iter(()))
    assert records is not None
    return list(records)


def written_of(
    format: "Format", found: "Gathering", header: dict[str, Any], base_offset: Any, base_timestamp: Any
) -> Written | None:
    """Return the encoded records, or None if the base offset or timestamp has changed since they were collected."""
    plan = format.plans.records
    inputs = format.plans.inputs(header, base_offset, base_timestamp)
    assert plan is not None
    if inputs != found.inputs:
        return None
    data, highest = found.written()
    return _with_tops(plan, data, highest)


class Totals(NamedTuple):
    """The number, size, timestamps and offsets of a batch's records."""

    records: int
    bytes: int
    """The total size of the keys and values, in bytes."""
    null_values: int
    with_headers: int
    earliest: int | None
    """The lowest timestamp that is not negative."""
    latest: int | None
    """The highest timestamp."""
    first_offset: int
    last_offset: int
    ascends: bool
    """Whether each offset is above the previous one."""

    def has_offsets_in(self, first: int, last: int) -> bool:
        """Return whether the offsets ascend and are all between `first` and `last`, both included."""
        return self.records == 0 or (self.ascends and first <= self.first_offset and self.last_offset <= last)


def totals(batch: "RecordBatch") -> Totals | None:
    """Return a batch's totals, or None if a record is invalid, or native code doesn't support the records or limits."""
    source = native_source(batch)
    numbers = None if source is None else source.totals()
    return None if numbers is None else Totals(*numbers)


@cache
def source_class() -> "type[Source]":
    """Return `tagwire._records.Source`, which is imported only if the native engine can read records."""
    from tagwire._records import Source

    return Source


def native_source(batch: "RecordBatch") -> "Source | None":
    """Return a batch's decompressed records for native code, or None if Python must read them."""
    quick = batch._quick  # pyright: ignore[reportPrivateUsage]
    if quick is not None and (found := quick.source_of(batch)) is not None:
        return source_class()(*found)
    if (walked := native_walk(batch)) is None:
        return None
    walk, count = walked
    has_attributes = record_items.has_attributes(walk.format.record, walk.header)
    return source_class()(walk.data, walk.pos, walk.end, count, walk.bases, has_attributes)


def native_walk(batch: "RecordBatch") -> "tuple[Walk, int] | None":
    """Return a `Walk` over a batch's records, and their number, or None if Python must read the records.

    The result is None if native code does not support the records or the limits, if the batch is too short, or if it
    can't be decompressed.
    """
    limits, format = batch.limits, batch.record_format
    is_bounded = limits.records is not None or limits.headers is not None
    if format.plans.records is None or is_bounded or not format.has_magic2_records:
        return None
    try:
        walk = batch.walk()
        count = walk.count()
    except DecodeError:
        return None
    return None if count is None or walk.bounds_records() else (walk, count)
