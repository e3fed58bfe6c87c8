"""Make the layout of each version of a message from the field tables of the message's classes.

Each generated struct lists its fields in `FIELDS`, one row per field, in spec order. `layout_of` selects the fields of
one version.
"""

from __future__ import annotations

from functools import cache
from sys import modules

from tagwire.errors import SchemaError, UnsupportedVersionError
from tagwire.layout import (
    COMPACT,
    DEFAULT_STRUCT,
    INT32,
    UVARINT,
    VARINT,
    Array,
    Item,
    Layout,
    Missing,
    Nested,
    OptionalBuffer,
    StructLayout,
    TaggedSection,
    Type,
    Union,
    fresh,
    primitive,
)
from tagwire.lazy import FrozenData
from tagwire.message.base import check_message_class
from tagwire.message.declarations import field_about
from tagwire.versions import NONE, StructVersions, Versions
from tagwire.wire.types import WIRE_TYPES, wire_type
from tagwire.wire.uuids import DEFAULT_UUID, default_uuid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import KW_ONLY
    from typing import Any

    from tagwire.message.base import Message
    from tagwire.message.record_format import Framing, RecordFormat
    from tagwire.message.register import Register
    from tagwire.message.struct_class import Struct
    from tagwire.wire.types import WireType

    # Aliases, because a `FieldRow` has an attribute `type`
    StructClass = type[Struct]
    RegisterClass = type[Register]

_versions = cache(Versions.parse)


class FieldRow(FrozenData):
    """A row of a field table: one field of a struct. Rows are compared by identity.

    - `name`: the attribute's name. `spec_name` and `type` are the field's name and type in the spec.
    - `owner`: the class that declares the field.
    - `flexible`: the versions in which the field has compact lengths, or None for the message's flexible versions.
    - `default`: the value in a new object, or DEFAULT_STRUCT.
    - `record_formats`: for each range of the message's versions, the format of the field's records.
    - `struct`: the class of the field's value or elements. `enum` is the enum of the field's numbers.
    - `struct_versions`: maps the message's versions to those of a shared struct, or None for all other fields.
    - `framing`: what a length, count or checksum in a record format refers to.
    - `sensitive`: whether values are hidden in output for people.
    - `required`: whether the field must be passed to the constructor.
    - `union`: only one of the fields with the same `union` may be set.
    - `unique`: the key fields of array elements, if no two elements may have the same key.
    - `semantic`: what the values mean, such as `timestamp_ms`, or empty for most fields.
    - `about_text`: the documentation of a field without an `owner`.
    """

    name: str
    spec_name: str
    type: str
    versions: Versions
    _: KW_ONLY
    default: Any = ()
    nullable: Versions = NONE
    tag: int | None = None
    tagged: Versions = NONE
    ignorable: bool = False
    sensitive: bool = False
    required: bool = False
    union: str = ""
    unique: tuple[str, ...] = ()
    flexible: Versions | None = None
    record_formats: tuple[tuple[Versions, str], ...] = ()
    struct: StructClass | None = None
    struct_versions: StructVersions | None = None
    enum: RegisterClass | None = None
    framing: Framing | None = None
    about_text: str = ""
    deprecated: str | None = None
    semantic: str = ""
    owner: StructClass | None = None

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    @property
    def about(self) -> str:
        """The field's documentation, from the docstring below its declaration in a generated class."""
        return self.about_text or (field_about(self.owner, self.name) if self.owner else "")

    @property
    def is_computed(self) -> bool:
        """Whether this is a computed length, count or checksum in a record format. Objects don't store such fields."""
        framing = self.framing
        return framing is not None and bool(framing.length_of or framing.count_of or framing.covers)

    def record_format(self, version: int) -> str:
        """Return the format that the field's records have in a version, or "" if the spec names none."""
        return next((format for versions, format in self.record_formats if version in versions), "")

    def struct_version(self, version: int | None) -> int | None:
        """Return the version of the struct in this field, given the `version` of the class that declares the field."""
        return version if self.struct_versions is None else self.struct_versions.at(version)

    @property
    def wire(self) -> WireType:
        """The primitive type of the field's values or array elements. Raises SchemaError for an unknown type."""
        name = self.type.replace("[]", "")
        wire = wire_type(name, self.semantic)
        if wire is None:
            semantic = f" with semantic {self.semantic!r}" if self.semantic else ""
            raise SchemaError(f"unknown type {name!r}{semantic}; expected {', '.join(WIRE_TYPES)} or a struct")
        if self.enum is None:
            return wire
        from tagwire.message.register import EnumType

        return EnumType(wire, self.enum)

    def fresh_value(self) -> Any:
        return fresh(self.struct) if self.default is DEFAULT_STRUCT and self.struct else self.default

    @property
    def json_name(self) -> str:
        """Kafka's JSON key: the spec's name with its first letter in lower case."""
        return self.spec_name[0].lower() + self.spec_name[1:]


def declared_row(owner: type[Struct], name: str, wire: tuple[str, str, str], words: dict[str, Any]) -> FieldRow:
    """Make the row of a field. `wire` and `words` are the arguments of `field` in its declaration in `owner`."""
    spec_name, type, versions = wire
    more: dict[str, Any] = {**words, "owner": owner}
    for key in {"nullable", "tagged", "flexible"} & words.keys():
        more[key] = _versions(words[key])
    if "record_formats" in words:
        more["record_formats"] = tuple([(_versions(text), format) for text, format in words["record_formats"]])
    if "struct_versions" in words:
        more["struct_versions"] = StructVersions(
            tuple([(_versions(text), number) for text, number in words["struct_versions"]])
        )
    if "factory" in words:
        more["default"], more["struct"] = DEFAULT_STRUCT, more.pop("factory")
    elif "default" not in words:
        more["default"], more["required"] = more.pop("absent", ()), True
    if more["default"] is DEFAULT_UUID:
        more["default"] = default_uuid(more.pop("number", 0))
    element = type.replace("[]", "")
    if element[0].isupper() and "struct" not in more:  # a capitalized type is a struct
        more["struct"] = vars(modules[owner.__module__])[element]
    return FieldRow(name, spec_name, type, _versions(versions), **more)


class OptionalFields:
    """The versions of a message that have optional fields (first draft of KIP-482).

    `tagwire.Schema` explains `length_varint` and `counts_tag`.
    """

    __slots__ = ("counts_tag", "length_varint", "versions")

    def __init__(self, versions: Versions, *, length_varint: str = "zigzag", counts_tag: bool = False) -> None:
        if length_varint not in ("zigzag", "unsigned"):
            raise SchemaError(f"length_varint: expected 'zigzag' or 'unsigned', got {length_varint!r}")
        self.versions = versions
        self.length_varint = length_varint
        self.counts_tag = counts_tag

    def buffer(self, fields: tuple[Item, ...]) -> OptionalBuffer:
        """Return the layout of the buffer that contains a struct's optional fields."""
        length = VARINT if self.length_varint == "zigzag" else UVARINT
        return OptionalBuffer(fields, length, counts_tag=self.counts_tag)


def keys_in_version(row: FieldRow, version: int) -> tuple[str, ...]:
    """Return the key fields that array elements have in a version, or () if keys need not be unique."""
    rows = row.struct.FIELDS if row.struct is not None and row.unique else ()
    inner = row.struct_version(version)
    return tuple([key.name for key in rows if key.name in row.unique and inner in key.versions])


def layout_of(message: type[Message], version: int) -> Layout:
    """Return the layout of `message` in `version`. Layouts are cached.

    Raises UnsupportedVersionError for a version that is not an int, or that the message does not have.
    """
    if not hasattr(message, "_layouts"):
        check_message_class(message)
    known = message._layouts  # pyright: ignore[reportPrivateUsage]
    layout = known.get(version) if isinstance(version, int) else None  # 9.0 equals the key 9
    if layout is None:
        if version not in message.VERSIONS:
            raise UnsupportedVersionError(message.NAME, version, message.VERSIONS)
        version = int(version)  # `version` may be an enum member or a bool
        root = _Expansion(message, version).struct(message, message.NAME, version)
        # All threads must use the same layout.
        layout = known.setdefault(version, Layout(message.NAME, version, root))
    return layout


def layout_of_format(cls: type[RecordFormat]) -> Layout:
    """Return the layout of a record format. Layouts are cached."""
    layout: Layout | None = cls.__dict__.get("_layout")
    if layout is None:
        layout = Layout(cls.FORMAT, None, _format_struct(cls, cls.__name__, {}))
        cls._layout = layout  # pyright: ignore[reportPrivateUsage]
    return layout


def _format_struct(cls: type[Struct], name: str, known: dict[type[Struct], StructLayout]) -> StructLayout:
    from tagwire.message.record_format import Framing, record_item

    items = []
    for row in cls.FIELDS:
        inner = row.struct
        struct = None if inner is None else known.get(inner) or _format_struct(inner, inner.__name__, known)
        items.append(record_item(row, row.framing or Framing(), struct))
    layout = known[cls] = StructLayout(name, tuple(items), cls=cls)
    return layout


class _Expansion:
    """Builds the layout of one message version."""

    def __init__(self, message: type[Message], version: int) -> None:
        self.message = message
        self.flexible = version in message.FLEXIBLE_VERSIONS
        optional = message.OPTIONAL_FIELDS
        self.optional = optional if optional is not None and version in optional.versions else None
        self.structs: dict[tuple[type[Struct], int], StructLayout] = {}

    def struct(self, cls: type[Struct], name: str, version: int) -> StructLayout:
        layout = self.structs.get((cls, version))
        if layout is None:
            layout = self.structs[cls, version] = self.expanded(cls, name, version)
        return layout

    def expanded(self, cls: type[Struct], name: str, version: int) -> StructLayout:
        items: list[Item] = []
        tagged: list[Item] = []
        missing: list[Missing] = []
        for row in cls.FIELDS:
            if version not in row.versions:
                missing.append(
                    Missing(row.name, row.default, ignorable=row.ignorable, sensitive=row.sensitive, cls=row.struct)
                )
                continue
            is_tagged = version in row.tagged
            item = Item(
                row.name,
                self.type(row, version, is_tagged=is_tagged),
                json_name=row.json_name,
                default=row.default,
                tag=row.tag if is_tagged else None,
                sensitive=row.sensitive,
            )
            (tagged if is_tagged else items).append(item)
        section: TaggedSection | OptionalBuffer | None = None
        if self.flexible:
            section = TaggedSection(tuple(tagged), self.unions(cls, version))
        elif self.optional:
            section = self.optional.buffer(tuple(tagged))
        return StructLayout(name, tuple(items), section=section, missing=tuple(missing), cls=cls)

    def unions(self, cls: type[Struct], version: int) -> tuple[Union, ...]:
        """Return the unions that have at least one alternative in this version."""
        tagged = {row.name for row in cls.FIELDS if version in row.tagged}
        unions = cls._unions.items()  # pyright: ignore[reportPrivateUsage]
        found = [Union(union, tuple([name for name in names if name in tagged])) for union, names in unions]
        return tuple([union for union in found if union.alternatives])

    def type(self, row: FieldRow, version: int, *, is_tagged: bool) -> Type:
        compact = self.flexible if row.flexible is None else version in row.flexible
        nullable = version in row.nullable
        if row.type.startswith("[]"):
            return self.array(row, row.type[2:], version, compact=compact, nullable=nullable)
        if row.struct is not None:
            marker = ("uvarint" if is_tagged else "int8") if nullable else ""
            return Nested(self.nested(row.struct, row, row.type, version), marker)
        return primitive(row.wire, compact=compact, nullable=nullable, is_tagged=is_tagged)

    def array(self, row: FieldRow, name: str, version: int, *, compact: bool, nullable: bool) -> Array:
        """Return the layout type of an array. `name` is the element type."""
        if name.startswith("[]"):
            element: Type = self.array(row, name[2:], version, compact=compact, nullable=False)
        elif row.struct is not None:
            element = Nested(self.nested(row.struct, row, name, version))
        else:
            element = primitive(row.wire, compact=compact, nullable=False)
        unique = keys_in_version(row, version)
        return Array(element, COMPACT if compact else INT32, nullable=nullable, unique=unique)

    def nested(self, cls: Any, row: FieldRow, name: str, version: int) -> StructLayout:
        inner = row.struct_version(version)
        if inner is None:
            text = f"{self.message.NAME} v{version}: field {row.name} does not specify the version of its struct {name}"
            raise SchemaError(f"{text}; generate the package again")
        return self.struct(cls, name, inner)
