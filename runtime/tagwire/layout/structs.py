"""The layout classes: they describe one version of a message as nested structs, in wire order.

A struct consists of items and, in flexible versions, a tag section. Record formats (batches and old-style messages)
have layouts as well: an item can also be a length, count or checksum of later bytes, or depend on another item.
"""

from __future__ import annotations

from functools import cached_property

from tagwire.errors import SchemaError
from tagwire.layout.parts import (
    UVARINT,
    VARINT,
    Bits,
    Checksum,
    Compression,
    Condition,
    Extent,
    LengthCode,
    Union,
)
from tagwire.layout.types import Array, Framing, Nested, Type, nested_struct
from tagwire.lazy import FrozenData

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from dataclasses import KW_ONLY
    from typing import Any, Final, TypeVar

    T = TypeVar("T")


class _DefaultStruct:

    def __repr__(self) -> str:
        return "DEFAULT_STRUCT"


DEFAULT_STRUCT: Final[Any] = _DefaultStruct()
"""Stands for the default of a struct field: each new object gets a new struct, with all fields at their defaults."""


def fresh(cls: type[T]) -> T:
    """Make an object of a data class with all fields at their defaults, even required fields."""
    data_class: Any = cls
    value: T = data_class._fresh()
    return value


class Item(FrozenData):
    """A field of a struct in this version.

    `name` is the name of the attribute in Python, and `json_name` the key in Kafka's JSON. `default` is the field's
    value in a new object; `DEFAULT_STRUCT` means a struct whose fields have their defaults. The values of `sensitive`
    fields are hidden in output. The other attributes are for record formats. `extent` names the item that contains this
    item's length in bytes. `equals` is the only allowed value. `bits` are the named bits of the value. `relative_to`
    names the field to which the value is added, such as a batch's base offset. Brokers change `rewritten` fields in
    place.
    """

    name: str
    type: Type
    _: KW_ONLY
    json_name: str = ""
    default: object = None
    tag: int | None = None
    condition: Condition | None = None
    extent: str = ""
    equals: int | None = None
    bits: tuple[Bits, ...] = ()
    relative_to: str = ""
    compression: Compression | None = None
    rewritten: bool = False
    sensitive: bool = False

    def __post_init__(self) -> None:
        self.json_name = self.json_name or self.name

    @cached_property
    def is_unframed(self) -> bool:
        """Whether the type alone determines how to read the item."""
        is_framed = self.extent or self.bits or self.compression or isinstance(self.type, Framing)
        return self.equals is None and not is_framed

    def default_value(self) -> Any:
        if self.default is DEFAULT_STRUCT and isinstance(self.type, Nested):
            return self.type.struct.default_value()
        return self.default


class Missing(FrozenData):
    """A field that the class has, but this version doesn't.

    A value other than the default raises EncodeError or, if the field is `ignorable`, is dropped. If `default` is
    DEFAULT_STRUCT, the default is a new object of the class `cls`.
    """

    name: str
    default: object
    _: KW_ONLY
    ignorable: bool
    sensitive: bool = False
    cls: type | None = None

    def default_value(self) -> Any:
        return fresh(self.cls) if self.default is DEFAULT_STRUCT and self.cls else self.default


class TaggedSection(FrozenData):
    """The tagged fields at the end of a struct (KIP-482): the number of fields, then the fields, sorted by tag.

    Each field consists of its tag, size and data. `unions` lists the unions among the fields (see `Union`).
    """

    fields: tuple[Item, ...] = ()
    unions: tuple[Union, ...] = ()

    def __post_init__(self) -> None:
        self.fields = _in_tag_order(self.fields, 0x7FFFFFFF)


class OptionalBuffer(FrozenData):
    """The optional fields at the start of a struct in the first draft of KIP-482.

    Each entry consists of a length, a tag (uint16) and a value. Entries are sorted by tag. A length of zero ends the
    buffer. `length` is the encoding of the lengths (VARINT or UVARINT). If `counts_tag` is true, a length is the size
    of tag and value; otherwise, of the value only.
    """

    fields: tuple[Item, ...] = ()
    length: LengthCode = VARINT
    _: KW_ONLY
    counts_tag: bool = False

    def __post_init__(self) -> None:
        if self.length not in (VARINT, UVARINT):
            raise SchemaError(
                f"length of an optional buffer: expected type 'varint' or 'uvarint', got {self.length.name!r}"
            )
        self.fields = _in_tag_order(self.fields, 0xFFFF)


def _in_tag_order(fields: tuple[Item, ...], highest: int) -> tuple[Item, ...]:
    tags: dict[int, str] = {}
    for field in fields:
        if field.tag is None or not 0 <= field.tag <= highest:
            raise SchemaError(f"{field.name}: expected a tag (0 to {highest}), got {field.tag}")
        if field.tag in tags:
            raise SchemaError(
                f"{tags[field.tag]} and {field.name} both have tag {field.tag}; tags are unique in a struct"
            )
        tags[field.tag] = field.name
    return tuple(sorted(fields, key=lambda field: field.tag or 0))


class StructLayout(FrozenData):
    """The layout of a struct in one version. `cls` is the data class of its objects, or None for dicts."""

    name: str
    items: tuple[Item, ...]
    _: KW_ONLY
    section: TaggedSection | OptionalBuffer | None = None
    missing: tuple[Missing, ...] = ()
    cls: type | None = None

    def __post_init__(self) -> None:
        names = [field.name for field in self.fields]
        for name in names:
            if names.count(name) > 1:
                raise SchemaError(
                    f"{self.name} has two fields named {name}; field names must be unique within a struct"
                )

    @cached_property
    def checks(self) -> tuple[tuple[str, Checksum], ...]:
        """The names and types of the checksums."""
        return tuple((item.name, item.type) for item in self.items if isinstance(item.type, Checksum))

    @cached_property
    def framing(self) -> tuple[str, ...]:
        """The lengths, counts and checksums. They are computed, so objects do not have them."""
        return tuple(item.name for item in self.items if isinstance(item.type, Framing))

    @cached_property
    def has_tags(self) -> bool:
        """Whether objects keep unknown tags; objects of record formats can't."""
        return self.cls is None or hasattr(self.cls, "unknown_tags") or self.cls.__dictoffset__ != 0

    @cached_property
    def is_enclosed(self) -> bool:
        """Whether one of the items is the length of all later items."""
        return any(isinstance(item.type, Extent) and not item.type.of for item in self.items)

    @property
    def minimum(self) -> int:
        return sum(item.type.minimum for item in self.items if item.condition is None) + (self.section is not None)

    @property
    def fields(self) -> tuple[Item, ...]:
        return (*self.items, *(self.section.fields if self.section else ()))

    @property
    def values(self) -> tuple[Item, ...]:
        """The fields that objects have as attributes: all except lengths, counts and checksums."""
        return tuple(field for field in self.fields if field.name not in self.framing)

    @property
    def unions(self) -> tuple[Union, ...]:
        return self.section.unions if isinstance(self.section, TaggedSection) else ()

    @property
    def has_rules(self) -> bool:
        """Whether the struct, or a struct inside it, has a union or an array with unique keys."""
        inner = [nested_struct(field.type) for field in self.fields]
        is_unique = any(isinstance(field.type, Array) and field.type.unique for field in self.fields)
        return bool(self.unions) or is_unique or any(struct and struct.has_rules for struct in inner)

    @property
    def has_sensitive(self) -> bool:
        """Whether the struct has a sensitive field, directly or inside another struct."""
        inner = [nested_struct(field.type) for field in self.fields]
        return any(field.sensitive for field in self._all) or any(struct and struct.has_sensitive for struct in inner)

    @property
    def _all(self) -> tuple[Item | Missing, ...]:
        return (*self.fields, *self.missing)

    def is_sensitive(self, path: Iterable[str | int], *, around: bool = False) -> bool:
        """Return whether a path of names and indexes leads to a sensitive field, or to a value inside such a field.

        If `around` is true, also return True for a struct that contains a sensitive field, because a user may have
        passed the sensitive value itself where a struct is expected.
        """
        struct: StructLayout | None = self
        for step in path:
            if isinstance(step, int) or struct is None:
                continue
            field = next((field for field in struct._all if field.name == step), None)
            if field is None or field.sensitive:
                return field is not None
            struct = nested_struct(field.type) if isinstance(field, Item) else None
        return around and struct is not None and struct.has_sensitive

    def default_value(self) -> Any:
        return fresh(self.cls) if self.cls else {field.name: field.default_value() for field in self.values}

    @property
    def depth(self) -> int:
        """The number of levels at which structs are nested. This struct is the first level."""
        return 1 + max((struct.depth for field in self.fields if (struct := nested_struct(field.type))), default=0)


class Layout(FrozenData):
    """The layout of one version of a message. `version` is None for schemas and record formats."""

    name: str
    version: int | None
    root: StructLayout

    def __str__(self) -> str:
        return self.name if self.version is None else f"{self.name} v{self.version}"
