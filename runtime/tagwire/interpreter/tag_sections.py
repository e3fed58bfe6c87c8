"""Read sections of tagged fields, and buffers of optional fields.

A known field is read like any other field, but its value must have exactly the size that precedes it. Unknown fields
are kept as bytes, within the limits. A lenient reader accepts sections that break the rules about unions, because users
may want to inspect them.
"""

from struct import unpack_from
from typing import Any

from tagwire.interpreter.cursor import LayoutCursor, Scopes
from tagwire.interpreter.value_walk import differs, present_alternatives
from tagwire.layout import Item, OptionalBuffer, TaggedSection, Union
from tagwire.text_format import byte_count
from tagwire.wire.unknown_tags import NO_TAGS


class TagFields:
    """The known fields of a tag section, its unions (sets of alternatives), and the unknown fields read so far."""

    __slots__ = ("known", "unions", "unknown")

    def __init__(self, fields: tuple[Item, ...], unions: tuple[Union, ...] = ()) -> None:
        self.known = {field.tag: field for field in fields}
        self.unions = {name: union for union in unions for name in union.alternatives}
        self.unknown: dict[int, bytes] = {}


class TagSectionReader(LayoutCursor):
    """Reads tagged fields and optional fields, and stores their values in `scopes[-1]`, the current struct's dict."""

    def tagged_section(self, section: TaggedSection, scopes: Scopes) -> None:
        start = self.pos
        self.open("tagged fields", start)
        count = self.uvarint()
        if count * 2 > self.left:
            most = f"at most {self.left // 2} in the {byte_count(self.left)} left"
            self.fail(f"{count} tagged field{'s' * (count != 1)}", most, start)
        self.note(count)
        fields = TagFields(section.fields, section.unions)
        last = -1
        for _ in range(count):
            last = self.tagged_entry(fields, last, scopes)
        self.finish_section(fields, scopes[-1])
        self.filled_unions(section, scopes[-1], start)
        self.close()

    def tagged_entry(self, fields: TagFields, last: int, scopes: Scopes) -> int:
        """Read the next entry of a tag section. Return its tag, which must be above `last`, the previous tag."""
        start = self.pos
        tag = self.ascending(self.uvarint(), last, start)
        self.tagged_field(fields, tag, self.uvarint(), start, scopes)
        return tag

    def optional_buffer(self, section: OptionalBuffer, scopes: Scopes) -> None:
        self.open("optional fields", self.pos)
        fields = TagFields(section.fields)
        count, last = 0, -1
        while (tag := self.optional_entry(section, fields, last, scopes)) is not None:
            count, last = count + 1, tag
        self.note(count)
        self.finish_section(fields, scopes[-1])
        self.close()

    def optional_entry(self, section: OptionalBuffer, fields: TagFields, last: int, scopes: Scopes) -> int | None:
        """Read the next optional field (KIP-482 draft). Return its tag, or None at the end.

        The tag must be above `last`, the previous tag.
        """
        start = self.pos
        size = self.signed_length(section.length)
        if size < 0:
            self.fail(f"length {size}", "0 or more (0 ends the optional fields)", start)
        if size == 0:
            return None
        (tag,) = unpack_from(">H", self.buf, self.take(2))
        self.ascending(tag, last, start)
        size -= 2 if section.counts_tag else 0
        if size < 1:
            self.fail(f"tag {tag} of {byte_count(size)}", "1 byte or more", start)
        self.tagged_field(fields, tag, size, start, scopes)
        return int(tag)

    def ascending(self, tag: int, last: int, start: int) -> int:
        if tag <= last:
            is_same = tag == last
            found = f"tag {tag} twice" if is_same else f"tag {tag} after tag {last}"
            self.deviate(found, "each tag once" if is_same else "ascending tags", start)
        return tag

    def tagged_field(self, fields: TagFields, tag: int, size: int, start: int, scopes: Scopes) -> None:
        """Read the value of a tagged field. The caller has read its tag and size, which begin at `start`."""
        field = fields.known.get(tag)
        if not 0 <= size <= self.left and (self.strict or field is None):
            self.fail(f"tag {tag} of {byte_count(size)}", f"at most {byte_count(self.left)} (all that is left)", start)
        step: list[str | int] = ["unknown_tags", tag] if field is None else [field.name]
        self.path += step
        self.open(f"tag {tag}", start)
        self.note(size)
        if field is None:
            data = self.unknown_field(size)
            if tag >= 0:
                fields.unknown[tag] = data
        else:
            scopes[-1][field.name] = self.known_field(field, tag, size, scopes)
            self.only_alternative(fields, field.name, scopes[-1], start)
        self.close()
        del self.path[-len(step) :]

    def unknown_field(self, size: int) -> bytes:
        self.unknown_tags += 1
        self.unknown_tag_bytes += size
        self.bound("unknown_tags", self.unknown_tags)
        self.bound("unknown_tag_bytes", self.unknown_tag_bytes)
        self.open("raw bytes", self.pos)
        start = self.take(size)
        data = self.buf[start : self.pos]
        self.note(data)
        self.close()
        return data

    def known_field(self, field: Item, tag: int, size: int, scopes: Scopes) -> Any:
        outer, stated = self.end, self.pos + size
        if self.strict:
            self.end = stated
        value = self.value(field.type, scopes)
        self.end_of_tag(tag, size, stated)
        self.end = outer
        return value

    def end_of_tag(self, tag: int, size: int, stated: int) -> None:
        """Raise DecodeError if a tagged field's value does not end at offset `stated`."""
        if self.pos != stated:
            after = f"{byte_count(stated - self.pos)} after the value"
            self.deviate(after, f"the {byte_count(size)} that tag {tag} states to be the value")

    def finish_section(self, fields: TagFields, values: dict[str, Any]) -> None:
        """Complete `values`: add the defaults of fields that are absent from the section, and the unknown fields."""
        for field in fields.known.values():
            if field.name not in values:
                values[field.name] = field.default_value()
            elif not differs(values[field.name], field.default_value()):
                self.canonical = False  # an encoder omits default values
        values["unknown_tags"] = fields.unknown or NO_TAGS

    def only_alternative(self, fields: TagFields, name: str, values: dict[str, Any], start: int) -> None:
        """Raise DecodeError if the tagged field `name` and another alternative of its union are both present."""
        union = fields.unions.get(name)
        if union is None or values[name] is None:
            return
        others = [other for other in present_alternatives(union, values.get) if other != name]
        if others:
            self.deviate(f"{name} and {others[0]}", f"one alternative of the union {union.name}", start)

    def filled_unions(self, section: TaggedSection, values: dict[str, Any], start: int) -> None:
        """Raise DecodeError if no alternative of a union is set. An unknown tag counts, as it may be a newer one."""
        for union in section.unions:
            if not present_alternatives(union, values.get) and not values["unknown_tags"]:
                expected = f"one of {', '.join(union.alternatives)}"
                self.deviate(f"no alternative of the union {union.name}", expected, start)
