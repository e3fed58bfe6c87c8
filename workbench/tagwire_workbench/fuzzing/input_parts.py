"""Find the parts of an input, such as fields and arrays, and change them.

`splice` replaces a range of bytes. It also adjusts the counts and sizes around the range: counts of arrays and tag
sections, sizes of tagged fields, and the size before a frame. If an input's count is wrong by 3, it stays wrong by 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from tagwire.explain.nodes import Node
from tagwire.interpreter.writer import LayoutWriter
from tagwire.layout import (
    UVARINT,
    Array,
    Fixed,
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
)
from tagwire.wire.varint import uvarint_bytes

if TYPE_CHECKING:
    from tagwire_workbench.fuzzing.framing import FuzzInput

_SIZE: Final = 4


@dataclass(slots=True, eq=False, repr=False)
class InputPart:
    """A part of an input, such as a field or an array: its trace node, its layout and its enclosing parts."""

    kind: str
    """One of fixed, sized, array, struct, section, entry, buffer, optional, raw, and message."""
    node: Node
    begin: int
    """Start of the message or frame in the input, to which the node's offsets are relative."""
    around: tuple[InputPart, ...]
    """The enclosing parts, outermost first."""
    struct: StructLayout | None
    """The struct itself for a struct and its section; for other parts, the struct around the part."""
    type: Type | None = None
    """The type of a field or an element, or None for other parts."""
    item: Item | None = None
    """The layout item of a field, or of a tagged field's entry, or None for other parts."""
    number: int = 0
    """Index of the part among the inner parts of its enclosing part."""
    inner: list[InputPart] = field(default_factory=list)

    @property
    def path(self) -> str:
        return self.node.path

    @property
    def start(self) -> int:
        return self.begin + self.node.offset

    @property
    def end(self) -> int:
        return self.begin + self.node.end

    @property
    def content_start(self) -> int:
        """Offset at which this part's content begins, after its count, null marker, or tag and size."""
        return self.inner[0].start if self.inner else self.end - self.node.trailer_length

    @property
    def tag(self) -> int:
        """The tag of an entry in a section."""
        return int(self.node.type.removeprefix("tag "))

    @property
    def is_null(self) -> bool:
        return self.node.value is None

    @property
    def is_union(self) -> bool:
        struct = self.around[-1].struct if self.around else None
        if struct is None or self.item is None:
            return False
        return any(self.item.name in union.alternatives for union in struct.unions)

    @property
    def holder(self) -> InputPart:
        """The part that directly contains this part. Raises IndexError for a whole message."""
        return self.around[-1]

    def walk(self) -> Iterator[InputPart]:
        """Yield this part and all parts inside it, in byte order."""
        yield self
        for part in self.inner:
            yield from part.walk()

    def __repr__(self) -> str:
        return f"<{self.kind} {self.path or 'message'}, bytes {self.start} to {self.end}>"


class Patch(NamedTuple):
    """A range of an input, and the bytes that replace it."""

    start: int
    end: int
    data: bytes


class Spliced(NamedTuple):
    """An input to which patches have been applied."""

    data: bytes
    patches: tuple[Patch, ...]

    @property
    def at(self) -> int:
        """Offset of the first patch in the new input. Patches of earlier bytes may have shifted it."""
        start = self.patches[0].start
        return start + sum(len(data) - end + begin for begin, end, data in self.patches[1:] if end <= start)


def parts_of(read: FuzzInput) -> list[InputPart]:
    """Return the parts that mutations may change. Batches are left out, because changes would break their checksums."""
    if not read.trace.structs:
        return []
    found = []
    for node, struct in zip(read.trace.parts, read.trace.structs, strict=False):
        if not struct.framing:
            found.append(InputPart("message", node, read.begin, (), struct))
            _fill(found[-1], struct)
    return found


def _fill(part: InputPart, struct: StructLayout) -> None:
    items = {item.name: item for item in struct.items}
    for node in part.node.parts():
        if node.layout_type is None:
            _add_section(part, node, struct)
        else:
            _add(part, node, node.layout_type, items[node.path.rpartition(".")[2]])


def _add(around: InputPart, node: Node, type: Type, item: Item) -> None:
    part = _inside(around, _kind(type), node)
    part.type = type
    part.item = item
    if isinstance(type, Nested) and not part.is_null:
        part.struct = type.struct
        _fill(part, type.struct)
    elif isinstance(type, Array):
        for element in node.parts():
            _add(part, element, type.element, item)


def _inside(around: InputPart, kind: str, node: Node) -> InputPart:
    part = InputPart(kind, node, around.begin, (*around.around, around), around.struct, number=len(around.inner))
    around.inner.append(part)
    return part


def _kind(type: Type) -> str:
    if isinstance(type, Fixed | NullableFixed):
        return "fixed"
    if isinstance(type, Sized):
        return "sized"
    return "array" if isinstance(type, Array) else "struct" if isinstance(type, Nested) else "raw"


def _add_section(around: InputPart, node: Node, struct: StructLayout) -> None:
    section = struct.section
    if not isinstance(section, TaggedSection | OptionalBuffer):
        return
    is_tagged = isinstance(section, TaggedSection)
    part = _inside(around, "section" if is_tagged else "buffer", node)
    fields = {field.tag: field for field in section.fields}
    for entry_node in node.parts():
        entry = _inside(part, "entry" if is_tagged else "optional", entry_node)
        entry.item = fields.get(entry.tag)
        for value in entry_node.parts():
            if value.layout_type is None or entry.item is None:
                _inside(entry, "raw", value)
            else:
                _add(entry, value, value.layout_type, entry.item)


def value_bytes(type: Type, value: object) -> bytes:
    """Encode a value of this type."""
    out = bytearray()
    LayoutWriter(_NO_LAYOUT, bytearray).value(type, value, out)
    return bytes(out)


def length_bytes(code: LengthCode, size: int) -> bytes:
    """Encode a length or count. The length of a null value is -1."""
    out = bytearray()
    LayoutWriter(_NO_LAYOUT, bytearray).length(code, size, out)
    return bytes(out)


_NO_LAYOUT: Final = Layout("", None, StructLayout("", ()))
"""`LayoutWriter` requires a layout, but uses it only in error messages, so an empty one is enough here."""


def splice(
    read: FuzzInput, holds: InputPart | None, start: int, end: int, data: bytes, *, elements: int = 0
) -> Spliced:
    """Replace a range with `data`, and adjust the counts and sizes around the range.

    `holds` is the innermost part that encloses the range, if any. `elements` is the number of elements or tagged fields
    that the replacement adds (negative if it removes some).
    """
    patches = [Patch(start, end, data)]
    grown = len(data) - (end - start)
    for holder in reversed((*holds.around, holds) if holds is not None else ()):
        patch = _fitted(read.data, holder, grown, elements if holder is holds else 0)
        if patch is not None:
            patches.append(patch)
            grown += len(patch.data) - (patch.end - patch.start)
    if read.has_size:
        stated = int.from_bytes(read.data[:_SIZE], "big") + grown
        patches.append(Patch(0, _SIZE, (stated & 0xFFFFFFFF).to_bytes(_SIZE, "big")))
    out = bytearray(read.data)
    for patch in sorted(patches, reverse=True):
        out[patch.start : patch.end] = patch.data
    return Spliced(bytes(out), tuple(patches))


def _fitted(data: bytes, holder: InputPart, grown: int, elements: int) -> Patch | None:
    """Return the patch that updates the count or size at the start of `holder`, or None if it doesn't change."""
    node, prefix = holder.node, Patch(holder.start, holder.content_start, b"")
    if not isinstance(node.value, int):
        return None
    if holder.kind in ("array", "section") and elements:
        code = holder.type.length if isinstance(holder.type, Array) else UVARINT
        return prefix._replace(data=length_bytes(code, max(node.value + elements, 0))) if code else None
    if holder.kind == "entry" and grown:
        return prefix._replace(data=uvarint_bytes(holder.tag) + uvarint_bytes(max(node.value + grown, 0)))
    if holder.kind == "optional" and grown:
        return _optional_prefix(data, holder, grown)
    return None


def _optional_prefix(data: bytes, holder: InputPart, grown: int) -> Patch:
    """Return a patch that updates the size of an optional field (KIP-482 draft), and writes the same tag again."""
    section = holder.struct.section if holder.struct is not None else None
    assert isinstance(section, OptionalBuffer) and isinstance(holder.node.value, int)
    size = max(holder.node.value + grown, 0) + (2 if section.counts_tag else 0)
    tag = data[holder.content_start - 2 : holder.content_start]
    return Patch(holder.start, holder.content_start, length_bytes(section.length, size) + tag)
