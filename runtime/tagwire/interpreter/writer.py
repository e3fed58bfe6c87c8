"""Encode by following a layout, to support run-time schemas, compute sizes, and find the paths of errors.

Generated serializers don't track paths. When one of them rejects a value, this writer encodes the value again by the
same layout, to find the wrong field and the reason. This writer also computes sizes, with a sink that only counts
bytes. So a size always equals the number of encoded bytes.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from struct import error as struct_error
from struct import pack
from typing import Any, Final

from tagwire.interpreter.cursor import key_of
from tagwire.interpreter.reader import holds
from tagwire.interpreter.value_walk import Keys, ValueWalk, differs, key_text, present_alternatives, several_text
from tagwire.layout import (
    Array,
    Checksum,
    Count,
    Fixed,
    Framing,
    Item,
    Layout,
    LengthCode,
    Nested,
    NullableFixed,
    OptionalBuffer,
    Sized,
    StructLayout,
    TaggedSection,
    Type,
    Varint,
)
from tagwire.sensitive import without_frames
from tagwire.text_format import count
from tagwire.wire.buffers import ByteCount
from tagwire.wire.tagged_fields import TAG_MAX
from tagwire.wire.types import WIRE_TYPES
from tagwire.wire.varint import UVARINT_MAX, to_zigzag, uvarint_bytes
from tagwire.wire.wire_type import Unfit, WireType

_BYTES: Final = WIRE_TYPES["bytes"]


@without_frames
def encode(layout: Layout, value: Any) -> bytes:
    """Encode `value`. Raises EncodeError, with the field's path, for values that the layout can't represent."""
    out = bytearray()
    LayoutWriter(layout, bytearray).message(value, out)
    return bytes(out)


@without_frames
def encoded_size(layout: Layout, value: Any) -> int:
    """Return the number of bytes that `encode` would return. Raises the same errors as `encode`."""
    out = ByteCount()
    LayoutWriter(layout, ByteCount).message(value, out)
    return len(out)


class LayoutWriter(ValueWalk):
    """Encodes one value in a single pass. `sink` creates an empty buffer, or an object that only counts the bytes."""

    def __init__(self, layout: Layout, sink: Callable[[], Any]) -> None:
        super().__init__(layout)
        self.sink = sink

    def message(self, value: Any, out: Any) -> None:
        self.struct(self.layout.root, value, out)

    def struct(self, struct: StructLayout, value: Any, out: Any) -> None:
        get = self.getter(struct, value)
        self.reject_missing(struct, get)
        around, self.scopes = self.scopes, (*self.scopes, {})
        section = struct.section
        if isinstance(section, OptionalBuffer):
            self.entries(section, self.tagged_fields(section.fields, get, TAG_MAX), out)
        self.items(struct, get, out)
        if isinstance(section, TaggedSection):
            self.unions(section, get)
            self.entries(section, self.tagged_fields(section.fields, get, UVARINT_MAX), out)
        self.scopes = around

    def items(self, struct: StructLayout, get: Callable[[str], Any], out: Any) -> None:
        is_framed = bool(struct.framing or struct.checks)
        parts: list[tuple[Item, Any]] = []
        for item in struct.items:
            if item.condition is not None and not holds(item.condition, self.scopes):
                self.reject_absent(item, get)
                continue
            part = self.sink() if is_framed else out
            parts.append((item, part))
            if not isinstance(item.type, Framing):
                with self.at(item.name):
                    value = self.constant(item, get(item.name))
                    if isinstance(item.type, Array) and _is_array(value):
                        value = tuple(value)  # a copy: another thread may change the caller's list while it is encoded
                    self.scopes[-1][item.name] = value
                    self.compressed(item, value, part)
        if is_framed:
            self.frame(parts)
            for _, part in parts:
                out += part

    def frame(self, parts: list[tuple[Item, Any]]) -> None:
        """Fill in lengths, counts and checksums from last to first, because each depends on the bytes after it."""
        for index in range(len(parts) - 1, -1, -1):
            item, out = parts[index]
            kind = item.type
            if not isinstance(kind, Framing):
                continue
            with self.at(item.name):
                rest = {later.name: part for later, part in parts[index + 1 :]}
                if isinstance(kind, Checksum):
                    out += _checksum(kind, rest)
                elif isinstance(kind, Count):
                    self.value(kind.code, len(self.scopes[-1][kind.of]), out)
                else:
                    size = len(rest[kind.of]) if kind.of else sum(map(len, rest.values()))
                    self.value(kind.code, size + kind.code.minimum * kind.counts_itself, out)

    def compressed(self, item: Item, value: Any, out: Any) -> None:
        """Write an item that may be compressed: an array of records, or bytes that contain messages.

        Bytes are not changed here, because the caller has already compressed them.
        """
        compression = item.compression
        codec = (
            compression.bits.values[compression.bits.of(self.scopes[-1][compression.field])] if compression else "none"
        )
        if codec == "none" or not isinstance(item.type, Array):
            self.value(item.type, value, out)
            return
        from tagwire.wire.compression import compress

        data = bytearray()
        # Even to count bytes, write them: their compressed size is unknown before.
        sink, self.sink = self.sink, bytearray
        self.value(item.type, value, data)
        self.sink = sink
        out += compress(codec, bytes(data))

    def constant(self, item: Item, value: Any) -> Any:
        """Return `value`. Raises EncodeError if it differs from the item's constant, or has undefined bits."""
        if item.equals is not None and value != item.equals:
            self.fail(f"is {self.shown(value)}, but must be {item.equals}")
        for group in item.bits:
            if isinstance(value, int) and group.values and group.of(value) >= len(group.values):
                self.fail(f"has {group.name} {group.of(value)}; expected one of {', '.join(group.values)}")
        return value

    def reject_absent(self, item: Item, get: Callable[[str], Any]) -> None:
        """Raise EncodeError for an item that its condition excludes if its value is not the default."""
        assert item.condition is not None
        value = self.scopes[-1][item.name] = item.default_value()
        if not isinstance(item.type, Framing) and differs(get(item.name), value):
            with self.at(item.name):
                excluding = f"the value of {item.condition.field!r} excludes this field"
                self.fail(f"is {self.shown(get(item.name))}, but must be {self.shown(value)}, because {excluding}")

    def value(self, type: Type, value: Any, out: Any) -> None:
        if isinstance(type, Fixed):
            out += self.fixed(type.wire, value)
        elif isinstance(type, Sized):
            self.sized(type, value, out)
        elif isinstance(type, Array):
            self.array(type, value, out)
        elif isinstance(type, Nested):
            self.nested(type, value, out)
        elif isinstance(type, Varint):
            out += self.varint(type, value)
        elif isinstance(type, NullableFixed):
            if type.marker:
                out += b"\xff" if value is None else b"\x01"
            if value is not None or not type.marker:
                out += self.fixed(type.wire, value)
        else:
            raise AssertionError(f"{type} has no value of its own")

    def fixed(self, wire: WireType, value: Any) -> bytes:
        try:
            return pack(">" + wire.code, value if wire.is_raw else wire.raw_of(value))
        except (struct_error, TypeError, ValueError, KeyError, OverflowError):
            reason = f"expected {wire.expected}, got {self.got(value)}"
        # Fail outside the `except` block, so that the EncodeError's `__context__` doesn't reveal the value.
        self.fail(reason)

    def varint(self, type: Varint, value: Any) -> bytes:
        if not isinstance(value, int) or not type.low <= value <= type.high:
            self.fail(f"expected {type} ({type.low} to {type.high}), got {self.got(value)}")
        return uvarint_bytes(to_zigzag(value) if type.zigzag else value & (1 << type.bits) - 1)

    def length(self, code: LengthCode | None, size: int, out: Any) -> None:
        if code is None:
            return  # an earlier item specifies the size
        if code.code:
            try:
                out += pack(">" + code.code, size)
            except struct_error:
                self.fail(f"a length of {size} does not fit in the length field ({code.name})")
        elif size + code.bias > UVARINT_MAX:
            self.fail(f"expected a length of at most {UVARINT_MAX - code.bias}, got {size}")
        else:
            out += uvarint_bytes(to_zigzag(size) if code.zigzag else size + code.bias)

    def null(self, type: Sized | Array, out: Any) -> None:
        code = type.length
        if not type.nullable or code is None or code.null is None:
            self.fail("is None, but it is not nullable in this version")
        self.length(code, -1, out)  # in every code that has a null, it is encoded like the length -1

    def sized(self, type: Sized, value: Any, out: Any) -> None:
        if value is None:
            self.null(type, out)
            return
        data = self.content(type.wire, value)
        if len(data) > type.longest:
            self.fail(f"takes {count(len(data), 'byte')}; a {type.wire.name} can have at most {type.longest} here")
        self.length(type.length, len(data), out)
        out += data

    def content(self, wire: WireType, value: Any) -> "bytes | bytearray | memoryview":
        try:
            return wire.raw_of(value)  # type: ignore[no-any-return]
        except Unfit as unfit:
            reason = unfit.message_with(self.got)
        self.fail(reason)

    def array(self, type: Array, value: Any, out: Any) -> None:
        if value is None:
            self.null(type, out)
            return
        if not _is_array(value):
            self.fail(f"expected a tuple or list of {type.element}, got {self.got(value)}")
        # Copy the elements, because another thread may change the list, and a subclass may have a wrong `len`.
        elements = tuple(value)
        self.length(type.length, len(elements), out)
        for index, element in enumerate(elements):
            with self.at(index):
                self.value(type.element, element, out)
        self.in_order(type, elements)
        keys = Keys(type.unique)
        for index, element in enumerate(elements) if type.unique else ():
            twin = keys.twin(index, element)
            if twin is not None:
                with self.at(index):
                    key = key_text(keys.names, element, self.shown_key)
                    self.fail(f"has {key}, the same key as element {twin}; keys must be unique")

    def shown_key(self, name: str, value: Any) -> str:
        with self.at(name):
            return self.shown(value)

    def in_order(self, type: Array, values: Any) -> None:
        if type.filled and not values:
            self.fail("is empty; omit this array, or add at least one element")
        order = type.order
        keys = [key_of(order, value) for value in values] if order else []
        if any(one >= two for one, two in pairwise(keys)):
            self.fail(f"elements must be in strictly ascending order of {order and order.field}")

    def nested(self, type: Nested, value: Any, out: Any) -> None:
        if value is None and not type.marker:
            self.fail("is None, but it is not nullable in this version")
        if type.marker:
            present, absent = (b"\x01", b"\xff") if type.marker == "int8" else (b"\x01", b"\x00")
            out += absent if value is None else present
        if value is not None:
            self.struct(type.struct, value, out)

    def unions(self, section: TaggedSection, get: Callable[[str], Any]) -> None:
        """Raise EncodeError unless exactly one alternative of each union is set.

        If there are unknown tags, none needs to be set, because an unknown tag may be a newer alternative.
        """
        for union in section.unions:
            present = present_alternatives(union, get)
            if len(present) > 1:
                with self.at(present[1]):
                    self.fail(several_text(union.name, present[0]))
            if not present and not get("unknown_tags"):
                self.fail(
                    f"no alternative of the union {union.name} is set; set one of {', '.join(union.alternatives)}"
                )

    def entries(self, section: TaggedSection | OptionalBuffer, fields: list[tuple[int, Any]], out: Any) -> None:
        """Write a tag section. `fields` contains a pair for each entry: its tag, and its encoded data."""
        if isinstance(section, OptionalBuffer):
            for tag, data in fields:
                self.optional_entry(section, tag, data, out)
            out += b"\x00"
            return
        out += uvarint_bytes(len(fields))
        for tag, data in fields:
            out += uvarint_bytes(tag)
            out += uvarint_bytes(len(data))
            out += data

    def optional_entry(self, section: OptionalBuffer, tag: int, data: Any, out: Any) -> None:
        size = len(data) + (2 if section.counts_tag else 0)
        if size == 0:
            with self.at("unknown_tags"):
                self.fail(f"tag {tag} has no data; add at least 1 byte, because a length of 0 ends the optional fields")
        self.length(section.length, size, out)
        out += tag.to_bytes(2, "big")
        out += data

    def tagged_fields(self, fields: Iterable[Item], get: Callable[[str], Any], highest: int) -> list[tuple[int, Any]]:
        """Return (tag, data) for each field to write, sorted by tag. Fields with the default value are omitted."""
        found: list[tuple[int, Any]] = []
        names: dict[int, str] = {}
        for field in fields:
            assert field.tag is not None
            names[field.tag] = field.name
            value = self.scopes[-1][field.name] = get(field.name)
            if differs(value, field.default_value()):
                data = self.sink()
                with self.at(field.name):
                    self.value(field.type, value, data)
                found.append((field.tag, data))
        with self.at("unknown_tags"):
            found += self.unknown_tags(get("unknown_tags"), names, highest)
        return sorted(found, key=lambda field: field[0])

    def unknown_tags(self, unknown: Any, names: Mapping[int, str], highest: int) -> list[tuple[int, Any]]:
        if not isinstance(unknown, Mapping):
            self.fail(f"expected a mapping of tags to bytes, got {self.got(unknown)}")
        for tag in unknown:
            if type(tag) is not int or not 0 <= tag <= highest:
                self.fail(f"expected a tag (0 to {highest}), got {self.got(tag)}")
            if tag in names:
                self.fail(f"tag {tag} is the field {names[tag]} in this version; set that field instead")
        return [(tag, self.content(_BYTES, data)) for tag, data in unknown.items()]


def _is_array(value: Any) -> bool:
    return issubclass(type(value), (tuple, list))


def _checksum(kind: Checksum, rest: dict[str, Any]) -> bytes:
    """Return the checksum of the later items (`rest`)."""
    from tagwire.wire.checksums import checksum

    covered = list(rest.values())[list(rest).index(kind.first) :]
    if any(isinstance(part, ByteCount) for part in covered):
        return bytes(4)
    return checksum(kind.algorithm, b"".join(covered)).to_bytes(4, "big")
