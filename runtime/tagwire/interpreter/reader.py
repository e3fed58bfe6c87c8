"""Decode by following a layout: for lenient reading, traces, and the positions of errors.

Generated serializers and the native engine are fast, but don't track positions. When they reject bytes, this reader
reads the bytes again, keeps track of the field path, and raises the error that users see. With `strict=False`, it
accepts everything that Kafka's own reader accepts. A struct whose layout has no class is decoded to a dict.

Lenient reading accepts the following, each of which makes `canonical` false. Any negative length is null. Any non-zero
boolean is true. Invalid UTF-8 becomes U+FFFD, as in Java. A null marker below zero means null; any other means present.
Varints may be longer than needed. Tags may repeat (the last one counts) or descend. An unknown tag above 2^31 - 1 is
dropped. The size of a known tagged field need not match its value. A union may have none or several of its
alternatives. Keys may repeat. Bytes may follow the message.
"""

from struct import unpack_from
from typing import Any

from tagwire.interpreter.cursor import CHECKSUM_STARTS, Good, Scopes, lookup
from tagwire.interpreter.tag_sections import TagSectionReader
from tagwire.interpreter.value_walk import Keys, key_text
from tagwire.layout import (
    Array,
    Condition,
    Count,
    Extent,
    Fixed,
    Item,
    Layout,
    Nested,
    NullableFixed,
    OptionalBuffer,
    Sized,
    StructLayout,
    TaggedSection,
    Type,
    Varint,
)
from tagwire.limits import Limits
from tagwire.sensitive import HIDDEN, hides
from tagwire.text_format import byte_count, shown
from tagwire.wire.scalars import empty_object
from tagwire.wire.unknown_tags import NO_TAGS
from tagwire.wire.varint import from_zigzag
from tagwire.wire.wire_type import Deviation, WireType


def decode(
    layout: Layout,
    buf: bytes,
    *,
    raw: Any = None,
    offset: int = 0,
    whole: bool,
    strict: bool,
    limits: Limits,
    good: Good | None = None,
) -> tuple[Any, int]:
    """Decode the message at `offset`; return it and the offset after it.

    With `whole` and `strict`, no bytes may follow the message. `good` describes array elements that the native engine
    has already found valid; they are skipped. Raises DecodeError, or LimitError if `limits` are exceeded.
    """
    reader = LayoutReader(layout, buf, raw=raw, offset=offset, strict=strict, limits=limits)
    if good:
        reader.good = good
    return reader.message(whole=whole), reader.pos


class LayoutReader(TagSectionReader):
    """Reads the bytes of one message, in a single pass."""

    def message(self, *, whole: bool) -> Any:
        self.open(str(self.layout), self.pos)
        if not 0 <= self.pos <= self.end:
            self.fail(f"offset {self.pos}", f"0 to {self.end}")
        self.bound("bytes", self.left)
        self.note(True)
        value = self.struct(self.layout.root, ())
        self.close()
        if whole:
            self.end_of_message()
        return value

    def end_of_message(self) -> None:
        if self.left:
            self.deviate(f"{byte_count(self.left)} after the message", "the end of the data")

    def struct(self, struct: StructLayout, around: Scopes) -> Any:
        """Read a struct. `around` contains the values that were read so far in the enclosing structs."""
        values: dict[str, Any] = {}
        scopes = (*around, values)
        self.bound("depth", len(scopes))
        end, section = self.end, struct.section
        if isinstance(section, OptionalBuffer):
            self.optional_buffer(section, scopes)
        for item in struct.items:
            if item.condition is not None and not holds(item.condition, scopes):
                values[item.name] = item.default_value()
                continue
            values[item.name] = self.field(item, struct, scopes)
        if isinstance(section, TaggedSection):
            self.tagged_section(section, scopes)
        if struct.is_enclosed:
            self.exhausted(struct.name)
        self.end = end
        return _made(struct, values)

    def field(self, item: Item, struct: StructLayout, scopes: Scopes) -> Any:
        """Read one item of a struct. The caller has checked the item's condition, if any."""
        self.path.append(item.name)
        plain = item.is_unframed and not struct.checks
        value = self.value(item.type, scopes) if plain else self.item(item, struct, scopes)
        self.path.pop()
        return value

    def value(self, type: Type, scopes: Scopes) -> Any:
        if self.recorder is None:
            return self.read(type, scopes)
        self.open(type, self.pos)
        value = self.read(type, scopes)
        if not isinstance(type, Array | Nested):
            self.note(value)
        self.close()
        return value

    def read(self, type: Type, scopes: Scopes) -> Any:
        if isinstance(type, Fixed):
            return self.fixed(type.wire)
        if isinstance(type, Sized):
            return self.sized(type)
        if isinstance(type, Array):
            return self.array(type, scopes)
        if isinstance(type, Nested):
            return self.nested(type, scopes)
        if isinstance(type, Varint):
            return self.varint(type)
        if isinstance(type, NullableFixed):
            return self.fixed(type.wire) if not type.marker or self.is_present(type) else None
        return self.read(type.code, scopes) if isinstance(type, Extent | Count) else self.fixed(type.wire)

    def fixed(self, wire: WireType) -> Any:
        start = self.take(wire.width)
        (value,) = unpack_from(">" + wire.code, self.buf, start)
        return value if wire.is_raw else self.value_of(wire, value, start)

    def value_of(self, wire: WireType, raw: Any, start: int) -> Any:
        """Convert the raw value read at `start` to its Python value.

        Raises DecodeError for a noncanonical value if the reader is strict.
        """
        try:
            return wire.value_of(raw)
        except Deviation as deviation:
            odd = deviation  # an error raised here would reveal the value in its `__context__`
        is_hidden = self.strict and hides() and self.layout.root.is_sensitive(self.path)
        self.deviate("invalid bytes" if is_hidden else odd.found, odd.expected, start + odd.offset)
        return odd.value

    def varint(self, type: Varint) -> int:
        start = self.pos
        value = self.raw_varint(5 if type.bits == 32 else 10)
        if value >> type.bits:
            self.fail(f"varint {value}", f"at most {type.bits} bits", start)
        if type.zigzag:
            return from_zigzag(value)
        return value - (value >> type.bits - 1 << type.bits) if type.signed else value

    def sized(self, type: Sized) -> Any:
        start = self.pos
        size = self.left if type.length is None else self.length(type.length)
        if size is None:
            if not type.nullable:
                self.fail("null", f"a value: {type} is not nullable in this version", start)
            return None
        if size > type.longest:
            self.fail(f"a string of {byte_count(size)}", f"at most {type.longest}", start)
        begin = self.take(size)
        source = self.raw if type.wire.is_slice else self.buf
        return self.value_of(type.wire, source[begin : self.pos], begin)

    def array(self, type: Array, scopes: Scopes) -> tuple[Any, ...] | None:
        start = self.pos
        count: int | None
        if type.counted_by:
            count = int(lookup(type.counted_by, scopes))
            if count < 0:
                self.fail(f"{type.counted_by} {count}", "0 or more")
        elif type.length is None:
            return self.elements_to_end(type, scopes)
        else:
            count = self.length(type.length)
        if count is None:
            if not type.nullable:
                self.fail("null", f"a value: {type} is not nullable in this version", start)
            return None
        # Check the count before allocating memory: each element takes at least `minimum` bytes.
        if count * type.element.minimum > self.left:
            most = f"at most {self.left // type.element.minimum} in the {byte_count(self.left)} left"
            self.fail(f"{count} element{'s' * (count != 1)}", most, start)
        self.elements += count
        self.bound("elements", self.elements)
        self.note(count)
        if type.unique:
            return self.unique_elements(type, count, scopes)
        first, last = self.after_good(start)
        values = tuple([self.element(type, index, scopes) for index in range(first, count)])
        self.in_order(type, values, first, last)
        return values

    def unique_elements(self, type: Array, count: int, scopes: Scopes) -> tuple[Any, ...]:
        keys = Keys(type.unique)
        values = []
        for index in range(count):
            start = self.pos
            element = self.element(type, index, scopes)
            values.append(element)
            twin = keys.twin(index, element)
            if twin is not None:
                self.path.append(index)
                found = f"{key_text(keys.names, element, self.shown_key)}, the same key as element {twin}"
                self.deviate(found, "a unique key", start)
                self.path.pop()
        return tuple(values)

    def shown_key(self, name: str, value: Any) -> str:
        """Return a key field's value for an error message, shortened, or a placeholder if the field is sensitive."""
        return HIDDEN if hides() and self.layout.root.is_sensitive([*self.path, name]) else shown(value)

    def elements_to_end(self, type: Array, scopes: Scopes) -> tuple[Any, ...]:
        values: list[Any] = []
        first, last = self.after_good(self.pos)
        if first and self.left:
            self.elements -= 1  # the invalid element is counted again
        while self.left:
            self.one_more_element()
            values.append(self.element(type, first + len(values), scopes))
        self.note(len(values))
        self.in_order(type, tuple(values), first, last)
        return tuple(values)

    def one_more_element(self) -> None:
        self.elements += 1
        self.bound("elements", self.elements)

    def element(self, type: Array, index: int, scopes: Scopes) -> Any:
        self.path.append(index)
        value = self.value(type.element, scopes)
        self.path.pop()
        return value

    def nested(self, type: Nested, scopes: Scopes) -> Any:
        if type.marker and not self.is_present(type):
            return None
        self.note(True)
        return self.struct(type.struct, scopes)

    def is_present(self, type: Nested | NullableFixed) -> bool:
        start = self.pos
        if type.marker == "int8":
            (marker,) = unpack_from(">b", self.buf, self.take(1))
            if marker not in (-1, 1):
                self.deviate(f"null marker {marker}", "-1 (null) or 1", start)
            return bool(marker >= 0)
        value = self.uvarint()
        if value not in (0, 1):
            self.deviate(f"null marker {value}", "0 (null) or 1", start)
        return value > 0


def holds(condition: Condition, scopes: Scopes) -> bool:
    """Return whether an item with this condition is present.

    `scopes` has the values read so far, outermost struct first.
    """
    value: int = lookup(condition.field, scopes)
    return value & condition.mask == condition.equals


def _made(struct: StructLayout, values: dict[str, Any]) -> Any:
    cls = struct.cls
    values.pop(CHECKSUM_STARTS, None)
    for name in struct.framing:
        # Delete lengths, counts and checksums. If the result is a dict, it keeps its checksums, for users to inspect.
        if cls is not None or name not in dict(struct.checks):
            del values[name]
    if cls is None:
        if not values.get("unknown_tags", True):
            del values["unknown_tags"]
        return values
    result: Any = empty_object(cls)
    if struct.has_tags:
        values.setdefault("unknown_tags", NO_TAGS)
    for name, value in values.items():
        setattr(result, name, value)
    for field in struct.missing:
        setattr(result, field.name, field.default_value())
    return result
