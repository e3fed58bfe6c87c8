"""The layout: one version of one message, expanded, as plain data.

Everything else is written against layouts: generated serializers, interpreter,
tracer, JSON, sizes, docs, evolution. A layout has no version arithmetic left;
it says what stands on the wire, in order.

A struct has items in wire order and perhaps a tag section. Types carry their
own length encoding. An item may be a length, a count or a checksum of what
follows, and may depend on another one: with these, record formats (batches,
messages) are layouts too, and need no second machine. Layouts can be written
by hand; generated classes make theirs from their versioned field tables
(`tagwire.message.field_table`). The parts without inner types are in `tagwire.layout.parts`.
"""

from __future__ import annotations

from tagwire.errors import SchemaError
from tagwire.layout.parts import (
    COMPACT,
    INT16,
    INT32,
    UVARINT,
    VARINT,
    Bits,
    Checksum,
    Compression,
    Condition,
    Count,
    Extent,
    Fixed,
    FrozenData,
    LengthCode,
    NullableFixed,
    Order,
    Union,
    Varint,
)
from tagwire.wire.types import WireType
from tagwire.wire.varint import UVARINT_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Final

__all__ = [
    "DEFAULT_STRUCT",
    "Array",
    "Framing",
    "Item",
    "Layout",
    "Missing",
    "Nested",
    "OptionalBuffer",
    "Sized",
    "StructLayout",
    "TaggedSection",
    "Type",
    "primitive",
]


class _DefaultStruct:
    """The type of `DEFAULT_STRUCT`, so that it has a name wherever it is shown."""

    def __repr__(self) -> str:
        return "DEFAULT_STRUCT"


DEFAULT_STRUCT: Final[Any] = _DefaultStruct()
"""The default of a field that holds a struct of its own defaults: each object gets a fresh one."""


class Sized(FrozenData):
    """Text or bytes with a length before them, or, where `length` is None, to the end of the enclosing extent."""

    __slots__ = ("length", "longest", "nullable", "wire")

    def __init__(self, wire: WireType, length: LengthCode | None, *, nullable: bool) -> None:
        self.wire = wire
        self.length = length
        self.nullable = nullable
        self.longest = wire.longest if length and length.name in (COMPACT.name, wire.length) else UVARINT_MAX
        """The most bytes that it may have: Kafka bounds the strings of messages, but not those of records."""

    def given(self) -> list[tuple[str, Any]]:
        return [(name, value) for name, value in super().given() if name != "longest"]

    @property
    def minimum(self) -> int:
        return self.length.width if self.length else 0

    def __str__(self) -> str:
        return _text(self, self.wire.name)


class Array(FrozenData):
    """Elements with a count before them.

    Where `length` is None, there are as many as the item `counted_by` says
    (see `Count`), and without that, as many as fill the enclosing extent.
    `order` says that they ascend; with `filled` there is at least one. `unique`
    names the fields that together are different in each element.
    """

    __slots__ = ("counted_by", "element", "filled", "length", "nullable", "order", "unique")

    def __init__(
        self,
        element: Type,
        length: LengthCode | None,
        *,
        nullable: bool,
        counted_by: str = "",
        order: Order | None = None,
        filled: bool = False,
        unique: tuple[str, ...] = (),
    ) -> None:
        if element.minimum < 1:
            raise SchemaError(
                f"an element of {element} may take no byte at all, so that its count can't be held against the input; "
                "give it a field"
            )
        self.element = element
        self.length = length
        self.nullable = nullable
        self.counted_by = counted_by
        self.order = order
        self.filled = filled
        self.unique = unique

    def given(self) -> list[tuple[str, Any]]:
        return [(name, value) for name, value in super().given() if name != "unique" or value]

    @property
    def minimum(self) -> int:
        return self.length.width if self.length else 0

    def __str__(self) -> str:
        element = str(self.element)
        if isinstance(self.element, Sized) and self.element.length == self.length and self.length is not None:
            element = element.removeprefix(f"{self.length.name} ")  # said once is enough
        return _text(self, f"[]{element}")


class Nested(FrozenData):
    """A struct; where it may be null, a marker stands before it.

    The marker is an int8 of -1 or 1, and in a tagged field an unsigned varint
    of 0 or 1.
    """

    __slots__ = ("marker", "struct")

    def __init__(self, struct: StructLayout, marker: str = "") -> None:
        if marker not in ("", "int8", "uvarint"):
            raise SchemaError(f"{marker!r} is no null marker; 'int8' or 'uvarint' was expected")
        self.struct = struct
        self.marker = marker

    @property
    def nullable(self) -> bool:
        return bool(self.marker)

    @property
    def minimum(self) -> int:
        return 1 if self.marker else self.struct.minimum

    def __str__(self) -> str:
        return f"nullable {self.struct.name}" if self.marker else self.struct.name


def primitive(
    wire: WireType, *, compact: bool = False, nullable: bool, is_tagged: bool = False
) -> Fixed | NullableFixed | Sized:
    """How a value of a wire type stands in a message."""
    if wire.is_fixed:
        return NullableFixed(wire, "" if is_tagged else "int8") if nullable else Fixed(wire)
    return Sized(wire, COMPACT if compact else INT16 if wire.length == INT16.name else INT32, nullable=nullable)


Framing = Extent | Count | Checksum
"""What a writer works out from what follows."""

Type = Fixed | NullableFixed | Varint | Sized | Array | Nested | Framing


def _text(sized: Sized | Array, name: str) -> str:
    words = ["nullable"] if sized.nullable else []
    if sized.length is not None and sized.length not in (INT16, INT32):
        words.append(sized.length.name)
    return " ".join([*words, name])


class Item(FrozenData):
    """A field of a struct in this version.

    `name` is the attribute, `json_name` Kafka's JSON key. `default` is the value
    of a fresh object; `DEFAULT_STRUCT` stands for a struct of its own defaults.
    The others are for record formats: `extent` names the item that says how many
    bytes this one takes; `equals` is the only value that it may have; `bits` are
    the named bits of its value; with `relative_to`, its value is a difference to
    that field's. `rewritten` fields are changed in place by brokers. `sensitive`
    ones are hidden where values are shown.
    """

    __slots__ = (
        "bits",
        "compression",
        "condition",
        "default",
        "equals",
        "extent",
        "is_unframed",
        "json_name",
        "name",
        "relative_to",
        "rewritten",
        "sensitive",
        "tag",
        "type",
    )

    def __init__(
        self,
        name: str,
        type: Type,
        *,
        json_name: str = "",
        default: object = None,
        tag: int | None = None,
        condition: Condition | None = None,
        extent: str = "",
        equals: int | None = None,
        bits: tuple[Bits, ...] = (),
        relative_to: str = "",
        compression: Compression | None = None,
        rewritten: bool = False,
        sensitive: bool = False,
    ) -> None:
        self.name = name
        self.json_name = json_name or name
        self.type = type
        self.default = default
        self.tag = tag
        self.condition = condition
        self.extent = extent
        self.equals = equals
        self.bits = bits
        self.relative_to = relative_to
        self.compression = compression
        self.rewritten = rewritten
        self.sensitive = sensitive
        self.is_unframed = not (extent or bits or compression) and equals is None and not isinstance(type, Framing)
        """Whether it is read by its type alone."""

    def given(self) -> list[tuple[str, Any]]:
        return [(name, value) for name, value in super().given() if name != "is_unframed"]

    def default_value(self) -> Any:
        """The value of a fresh object; a fresh one where it is a struct."""
        if self.default is DEFAULT_STRUCT and isinstance(self.type, Nested):
            return self.type.struct.default_value()
        return self.default


class Missing(FrozenData):
    """A field that the class has and this version lacks: encode refuses or drops it.

    `cls` is the struct's class where `default` is DEFAULT_STRUCT.
    """

    __slots__ = ("cls", "default", "ignorable", "name", "sensitive")

    def __init__(
        self, name: str, default: object, *, ignorable: bool, sensitive: bool = False, cls: type | None = None
    ) -> None:
        self.name = name
        self.default = default
        self.ignorable = ignorable
        self.sensitive = sensitive
        self.cls = cls

    def default_value(self) -> Any:
        """The value of a fresh object; a fresh one where it is a struct."""
        return _fresh(self.cls) if self.default is DEFAULT_STRUCT and self.cls else self.default


class TaggedSection(FrozenData):
    """KIP-482's section at the end of a struct: count, then tag, size and data of each, ascending.

    `unions` say which of the fields exclude each other.
    """

    __slots__ = ("fields", "unions")

    def __init__(self, fields: tuple[Item, ...] = (), unions: tuple[Union, ...] = ()) -> None:
        self.fields = _in_tag_order(fields, 0x7FFFFFFF)
        self.unions = unions

    def given(self) -> list[tuple[str, Any]]:
        return [(name, value) for name, value in super().given() if name != "unions" or value]


class OptionalBuffer(FrozenData):
    """The first KIP-482 draft's buffer at the start of a struct.

    Entries of length, tag (uint16) and value, tags ascending, up to a length of
    zero. `length` is VARINT or UVARINT; with `counts_tag` it counts the two
    bytes of the tag as well.
    """

    __slots__ = ("counts_tag", "fields", "length")

    def __init__(self, fields: tuple[Item, ...] = (), length: LengthCode = VARINT, *, counts_tag: bool = False) -> None:
        if length not in (VARINT, UVARINT):
            raise SchemaError(f"the lengths of an optional buffer are varint or uvarint, not {length.name}")
        self.fields = _in_tag_order(fields, 0xFFFF)
        self.length = length
        self.counts_tag = counts_tag


def _in_tag_order(fields: tuple[Item, ...], highest: int) -> tuple[Item, ...]:
    tags: dict[int, str] = {}
    for field in fields:
        if field.tag is None or not 0 <= field.tag <= highest:
            raise SchemaError(f"{field.name} has tag {field.tag}; a tag from 0 to {highest} was expected")
        if field.tag in tags:
            raise SchemaError(
                f"{tags[field.tag]} and {field.name} both have tag {field.tag}; tags are unique in a struct"
            )
        tags[field.tag] = field.name
    return tuple(sorted(fields, key=lambda field: field.tag or 0))


class StructLayout(FrozenData):
    """A struct in this version. `cls` is the data class of its values, or None where they are dicts."""

    __slots__ = ("checks", "cls", "framing", "has_tags", "is_enclosed", "items", "missing", "name", "section")

    def __init__(
        self,
        name: str,
        items: tuple[Item, ...],
        *,
        section: TaggedSection | OptionalBuffer | None = None,
        missing: tuple[Missing, ...] = (),
        cls: type | None = None,
    ) -> None:
        names = [item.name for item in (*items, *(section.fields if section else ()))]
        for name_of_item in names:
            if names.count(name_of_item) > 1:
                raise SchemaError(f"{name} has two fields named {name_of_item}; names are unique in a struct")
        self.name = name
        self.items = items
        self.section = section
        self.missing = missing
        self.cls = cls
        self.checks = tuple((item.name, item.type) for item in items if isinstance(item.type, Checksum))
        self.framing = tuple(item.name for item in items if isinstance(item.type, Framing))
        """Lengths, counts and checksums: its objects do not have them, since they follow from the others."""
        self.has_tags = cls is None or hasattr(cls, "unknown_tags") or cls.__dictoffset__ != 0
        """Whether its objects keep unknown tags; those of record formats have no place for them."""
        self.is_enclosed = any(isinstance(item.type, Extent) and not item.type.of for item in items)

    def given(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in ("name", "items", "section", "missing", "cls")]

    @property
    def minimum(self) -> int:
        """The fewest bytes that it takes."""
        return sum(item.type.minimum for item in self.items if item.condition is None) + (self.section is not None)

    @property
    def fields(self) -> tuple[Item, ...]:
        """Items and tagged fields."""
        return (*self.items, *(self.section.fields if self.section else ()))

    @property
    def values(self) -> tuple[Item, ...]:
        """The fields that its objects have."""
        return tuple(field for field in self.fields if field.name not in self.framing)

    @property
    def unions(self) -> tuple[Union, ...]:
        """The unions of its tagged fields."""
        return self.section.unions if isinstance(self.section, TaggedSection) else ()

    @property
    def has_rules(self) -> bool:
        """Whether it, or a struct in it, has a union, or an array of unique elements."""
        inner = [_struct_of(field.type) for field in self.fields]
        is_unique = any(isinstance(field.type, Array) and field.type.unique for field in self.fields)
        return bool(self.unions) or is_unique or any(struct and struct.has_rules for struct in inner)

    @property
    def has_sensitive(self) -> bool:
        """Whether a field of it, or of a struct in it, is sensitive."""
        inner = [_struct_of(field.type) for field in self.fields]
        return any(field.sensitive for field in self._all) or any(struct and struct.has_sensitive for struct in inner)

    @property
    def _all(self) -> tuple[Item | Missing, ...]:
        return (*self.fields, *self.missing)

    def is_sensitive(self, path: Iterable[str | int]) -> bool:
        """Whether a path of names and indexes leads to a sensitive field, or into one."""
        struct: StructLayout | None = self
        for step in path:
            if isinstance(step, int) or struct is None:
                continue
            field = next((field for field in struct._all if field.name == step), None)
            if field is None or field.sensitive:
                return field is not None
            struct = _struct_of(field.type) if isinstance(field, Item) else None
        return False

    def default_value(self) -> Any:
        """A fresh object of the class, or a dict."""
        return _fresh(self.cls) if self.cls else {field.name: field.default_value() for field in self.values}

    @property
    def depth(self) -> int:
        """Structs inside each other, this one included."""
        return 1 + max((_depth(field.type) for field in self.fields), default=0)


def _fresh(cls: Any) -> Any:
    """An object of defaults; the constructor of a class with required fields does not make one."""
    return cls._fresh()


def _struct_of(type: Type) -> StructLayout | None:
    """The struct that a type holds, one or many."""
    while isinstance(type, Array):
        type = type.element
    return type.struct if isinstance(type, Nested) else None


def _depth(type: Type) -> int:
    if isinstance(type, Array):
        return _depth(type.element)
    return type.struct.depth if isinstance(type, Nested) else 0


class Layout(FrozenData):
    """One version of a message. `version` is None for a schema or a record format, which have no versions."""

    __slots__ = ("name", "root", "version")

    def __init__(self, name: str, version: int | None, root: StructLayout) -> None:
        self.name = name
        self.version = version
        self.root = root

    def __str__(self) -> str:
        return self.name if self.version is None else f"{self.name} v{self.version}"
