"""The layout: one version of one message, expanded, as plain data.

Everything else is written against layouts: generated serializers, interpreter,
tracer, JSON, sizes, docs, evolution. A layout has no version arithmetic left;
it says what stands on the wire, in order.

A struct has items in wire order and perhaps a tag section. Types carry their
own length encoding, a struct may be enclosed by a length, an item may depend
on another one: with these, record formats (batches, messages) are layouts
too, and need no second machine. Layouts can be written by hand; generated
classes make theirs from their versioned field tables (`tagwire.rows`).
"""

from __future__ import annotations

from tagwire.errors import SchemaError
from tagwire.varint import UVARINT_MAX
from tagwire.wire_types import STRING_MAX, WireType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Final

__all__ = [
    "COMPACT",
    "DEFAULT_STRUCT",
    "INT16",
    "INT32",
    "UVARINT",
    "VARINT",
    "Array",
    "Condition",
    "Fixed",
    "Item",
    "Layout",
    "LengthCode",
    "Missing",
    "Nested",
    "OptionalBuffer",
    "Sized",
    "StructLayout",
    "TaggedSection",
    "Type",
    "Varint",
]


class _Plain:
    """Data that is its slots: compared by them, shown by them, never changed."""

    __slots__: tuple[str, ...] = ()

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, _Plain) and type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *map(repr, self._values())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"


class _DefaultStruct:
    """The type of `DEFAULT_STRUCT`, so that it has a name wherever it is shown."""

    def __repr__(self) -> str:
        return "DEFAULT_STRUCT"


DEFAULT_STRUCT: Final[Any] = _DefaultStruct()
"""The default of a field that holds a struct of its own defaults: each object gets a fresh one."""


class LengthCode(_Plain):
    """How a length or a count is written before what it counts.

    `code` is the `struct` code of a fixed length and "" for a varint; then
    `zigzag` tells the kind. `bias` is added on the wire: a compact length is
    n + 1, so that 0 can say null. `null` is what stands on the wire for null,
    or None where there is no null.
    """

    __slots__ = ("bias", "code", "name", "null", "width", "zigzag")

    def __init__(
        self, name: str, code: str, width: int, *, zigzag: bool = False, bias: int = 0, null: int | None = None
    ) -> None:
        self.name = name
        self.code = code
        self.width = width
        """Bytes that it takes at least."""
        self.zigzag = zigzag
        self.bias = bias
        self.null = null


INT16: Final = LengthCode("int16", "h", 2, null=-1)
"""Strings outside flexible versions."""
INT32: Final = LengthCode("int32", "i", 4, null=-1)
"""Bytes and arrays outside flexible versions."""
COMPACT: Final = LengthCode("compact", "", 1, bias=1, null=0)
"""KIP-482's lengths: an unsigned varint of n + 1."""
VARINT: Final = LengthCode("varint", "", 1, zigzag=True, null=-1)
"""Lengths inside records of magic 2."""
UVARINT: Final = LengthCode("uvarint", "", 1)
"""A plain unsigned varint: counts that can't be null."""


class Fixed(_Plain):
    """A primitive of fixed width."""

    __slots__ = ("wire",)

    def __init__(self, wire: WireType) -> None:
        self.wire = wire

    @property
    def minimum(self) -> int:
        """The fewest bytes that a value takes."""
        return self.wire.width

    def __str__(self) -> str:
        return self.wire.name


class Varint(_Plain):
    """An integer as a varint: zig-zag (`varint`, `varlong`) or unsigned (`uvarint`, `uvarlong`)."""

    __slots__ = ("bits", "zigzag")
    minimum: ClassVar = 1

    def __init__(self, bits: int, *, zigzag: bool) -> None:
        self.bits = bits
        self.zigzag = zigzag

    @property
    def low(self) -> int:
        return -(1 << self.bits - 1) if self.zigzag else 0

    @property
    def high(self) -> int:
        return (1 << self.bits - 1) - 1 if self.zigzag else (1 << self.bits) - 1

    def __str__(self) -> str:
        return ("" if self.zigzag else "u") + ("varint" if self.bits == 32 else "varlong")


class Sized(_Plain):
    """Text or bytes with a length before them."""

    __slots__ = ("length", "nullable", "wire")

    def __init__(self, wire: WireType, length: LengthCode, *, nullable: bool) -> None:
        self.wire = wire
        self.length = length
        self.nullable = nullable

    @property
    def minimum(self) -> int:
        return self.length.width

    @property
    def longest(self) -> int:
        """The most bytes that it may have: Kafka bounds the strings of messages, but not those of records."""
        bounded = self.wire.family == "text" and self.length in (INT16, COMPACT)
        return STRING_MAX if bounded else UVARINT_MAX

    def __str__(self) -> str:
        return _text(self, self.wire.name)


class Array(_Plain):
    """Elements with a count before them, or, where `length` is None, to the end of the enclosing extent."""

    __slots__ = ("element", "length", "nullable")

    def __init__(self, element: Type, length: LengthCode | None, *, nullable: bool) -> None:
        if element.minimum < 1:
            raise SchemaError(
                f"an element of {element} may take no byte at all, so that its count can't be held against the input; "
                "give it a field"
            )
        self.element = element
        self.length = length
        self.nullable = nullable

    @property
    def minimum(self) -> int:
        return self.length.width if self.length else 0

    def __str__(self) -> str:
        element = str(self.element)
        if isinstance(self.element, Sized) and self.element.length == self.length and self.length is not None:
            element = element.removeprefix(f"{self.length.name} ")  # said once is enough
        return _text(self, f"[]{element}")


class Nested(_Plain):
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


Type = Fixed | Varint | Sized | Array | Nested


def _text(sized: Sized | Array, name: str) -> str:
    words = ["nullable"] if sized.nullable else []
    if sized.length is not None and sized.length not in (INT16, INT32):
        words.append(sized.length.name)
    return " ".join([*words, name])


class Condition(_Plain):
    """An item stands on the wire only where `value of field & mask == equals`.

    The field is looked up among the items read so far, in the struct itself and
    then in those around it.
    """

    __slots__ = ("equals", "field", "mask")

    def __init__(self, field: str, mask: int, equals: int) -> None:
        self.field = field
        self.mask = mask
        self.equals = equals


class Item(_Plain):
    """A field of a struct in this version.

    `name` is the attribute, `json_name` Kafka's JSON key. `default` is the value
    of a fresh object; `DEFAULT_STRUCT` stands for a struct of its own defaults.
    """

    __slots__ = ("condition", "default", "json_name", "name", "tag", "type")

    def __init__(
        self,
        name: str,
        type: Type,
        *,
        json_name: str = "",
        default: object = None,
        tag: int | None = None,
        condition: Condition | None = None,
    ) -> None:
        self.name = name
        self.json_name = json_name or name
        self.type = type
        self.default = default
        self.tag = tag
        self.condition = condition

    def default_value(self) -> Any:
        """The value of a fresh object; a fresh one where it is a struct."""
        if self.default is DEFAULT_STRUCT and isinstance(self.type, Nested):
            return self.type.struct.default_value()
        return self.default


class Missing(_Plain):
    """A field that the class has and this version lacks: encode refuses or drops it.

    `cls` is the struct's class where `default` is DEFAULT_STRUCT.
    """

    __slots__ = ("cls", "default", "ignorable", "name")

    def __init__(self, name: str, default: object, *, ignorable: bool, cls: type | None = None) -> None:
        self.name = name
        self.default = default
        self.ignorable = ignorable
        self.cls = cls

    def default_value(self) -> Any:
        """The value of a fresh object; a fresh one where it is a struct."""
        return self.cls() if self.default is DEFAULT_STRUCT and self.cls else self.default


class TaggedSection(_Plain):
    """KIP-482's section at the end of a struct: count, then tag, size and data of each, ascending."""

    __slots__ = ("fields",)

    def __init__(self, fields: tuple[Item, ...] = ()) -> None:
        self.fields = _in_tag_order(fields, 0x7FFFFFFF)


class OptionalBuffer(_Plain):
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


class StructLayout(_Plain):
    """A struct in this version.

    `cls` is the data class of its values, or None where they are dicts.
    `length`, if there is one, stands before the struct and counts its bytes.
    """

    __slots__ = ("cls", "items", "length", "missing", "name", "section")

    def __init__(
        self,
        name: str,
        items: tuple[Item, ...],
        *,
        section: TaggedSection | OptionalBuffer | None = None,
        missing: tuple[Missing, ...] = (),
        cls: type | None = None,
        length: LengthCode | None = None,
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
        self.length = length

    @property
    def minimum(self) -> int:
        """The fewest bytes that it takes."""
        items = sum(item.type.minimum for item in self.items if item.condition is None)
        return items + (self.section is not None) + (self.length.width if self.length else 0)

    @property
    def fields(self) -> tuple[Item, ...]:
        """Items and tagged fields."""
        return (*self.items, *(self.section.fields if self.section else ()))

    def default_value(self) -> Any:
        """A fresh object of the class, or a dict."""
        return self.cls() if self.cls else {field.name: field.default_value() for field in self.fields}

    @property
    def depth(self) -> int:
        """Structs inside each other, this one included."""
        return 1 + max((_depth(field.type) for field in self.fields), default=0)


def _depth(type: Type) -> int:
    if isinstance(type, Array):
        return _depth(type.element)
    return type.struct.depth if isinstance(type, Nested) else 0


class Layout(_Plain):
    """A message in one version. `version` is None for a schema that has no versions."""

    __slots__ = ("name", "root", "version")

    def __init__(self, name: str, version: int | None, root: StructLayout) -> None:
        self.name = name
        self.version = version
        self.root = root

    def __str__(self) -> str:
        return self.name if self.version is None else f"{self.name} v{self.version}"
