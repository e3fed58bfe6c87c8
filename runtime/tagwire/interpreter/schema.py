"""Schemas built at run time: encode plain dicts without generated code.

As in the first draft of KIP-482, a schema is made from a list of fields and a map of optional fields by tag. With such
a map, even an empty one, a struct begins with a buffer of optional fields. Strings, bytes and arrays have int16 and
int32 lengths, as before KIP-482. Classes generated from an equivalent spec encode to the same bytes.

    foo = Schema(Field("baz", "int16"), optional_fields={1: Field("bar", "string")})
    response = Schema(Field("foos", [foo]), optional_fields={1: Field("user_agent", "string", nullable=True)})
    response.encode({"foos": [{"baz": 7}, {"bar": "x", "baz": -1}], "user_agent": "ab"})
"""

from collections.abc import Mapping
from typing import Any, Final, Union

from tagwire.errors import EncodeError, SchemaError
from tagwire.interpreter.reader import decode
from tagwire.interpreter.writer import LayoutWriter, encode, encoded_size
from tagwire.layout import (
    DEFAULT_STRUCT,
    INT32,
    UVARINT,
    VARINT,
    Array,
    Fixed,
    Item,
    Layout,
    Nested,
    OptionalBuffer,
    Sized,
    StructLayout,
    Type,
    primitive,
)
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.text_format import near, shown
from tagwire.wire.buffers import ByteCount, as_bytes
from tagwire.wire.tagged_fields import TAG_MAX
from tagwire.wire.types import WIRE_TYPES, WireType, wire_type

FieldType = Union[str, "Schema", "list[Schema]"]

_TYPE_DEFAULT: Final[Any] = type("TypeDefault", (), {"__repr__": lambda self: "the type's default"})()
_LENGTHS: Final = {"zigzag": VARINT, "unsigned": UVARINT}


class Field:
    """A field of a schema.

    `type` is the name of a primitive ("int32") or of an array of primitives ("[]int32"), a `Schema` for a struct, or
    `[schema]` for an array of structs. Strings, bytes, records and arrays may be `nullable`. `default` is the value of
    an omitted field. Without it, the default is 0, False, "", b"", (), a zero UUID, a struct whose fields have their
    defaults, or None for nullable records. Raises SchemaError if the arguments contradict each other.
    """

    __slots__ = ("item", "name")

    def __init__(self, name: str, type: FieldType, nullable: bool = False, default: Any = _TYPE_DEFAULT) -> None:
        if not isinstance(name, str) or not name or name == "unknown_tags":
            raise SchemaError(f"a field's name must be a non-empty string other than 'unknown_tags', got {shown(name)}")
        self.name = name
        wire_type = _type(name, type, nullable=nullable)
        given = default is not _TYPE_DEFAULT
        default = _own_default(wire_type) if not given else tuple(default) if isinstance(default, list) else default
        self.item = Item(name, wire_type, default=default)
        """The field as an item of a layout (`tagwire.layout`)."""
        if given:
            _check_default(self.item)

    @property
    def type(self) -> Type:
        """The field's type, as `tagwire.layout` represents it."""
        return self.item.type

    def __repr__(self) -> str:
        return f"<field {self.name}: {self.type}>"


class Schema:
    """A struct as in KIP-482's first draft: ordered fields, and optional fields with tags (0 to 65535).

    Without `optional_fields`, encoded structs have no buffer for such fields. With an empty mapping, they have an empty
    buffer, so that later versions can add fields. `length_varint` ("zigzag" or "unsigned") and `counts_tag` (whether an
    entry's length counts the two bytes of its tag) choose between possible interpretations of the draft. The draft does
    not allow arrays of structs as optional fields; `allow_struct_arrays` does. Raises SchemaError if the arguments
    contradict each other.
    """

    __slots__ = ("layout",)

    def __init__(
        self,
        *fields: Field,
        optional_fields: Mapping[int, Field] | None = None,
        name: str = "struct",
        length_varint: str = "zigzag",
        counts_tag: bool = False,
        allow_struct_arrays: bool = False,
    ) -> None:
        if length_varint not in _LENGTHS:
            raise SchemaError(f"length_varint: expected 'zigzag' or 'unsigned', got {shown(length_varint)}")
        section = None
        if optional_fields is not None:
            tagged = [_tagged(tag, field, allow_struct_arrays) for tag, field in optional_fields.items()]
            section = OptionalBuffer(tuple(tagged), _LENGTHS[length_varint], counts_tag=counts_tag)
        items = tuple(_checked(field).item for field in fields)
        self.layout = Layout(name, None, StructLayout(name, items, section=section))
        """The layout of the schema, for `tagwire.trace(schema.layout, data)` for example."""

    def encode(self, value: Mapping[str, Any]) -> bytes:
        """Encode a mapping of field names to values; omitted fields have their defaults.

        Optional fields with their default value are not written. Unknown optional fields are given under the key
        "unknown_tags", as a mapping from tag to bytes. Raises EncodeError for an invalid value.
        """
        return encode(self.layout, value)

    def encoded_size(self, value: Mapping[str, Any]) -> int:
        """Return the number of bytes that `encode` would return. Raises the same errors as `encode`."""
        return encoded_size(self.layout, value)

    def decode(self, data: Any, *, strict: bool = True, limits: Limits = DEFAULT_LIMITS) -> dict[str, Any]:
        """Decode all of `data` (any bytes-like object) to a dict of fields.

        Structs are dicts, arrays are tuples, and absent optional fields have their defaults. The key "unknown_tags" is
        present only if there are unknown tags. Raises DecodeError, or LimitError if `data` exceeds `limits`.
        """
        value, _ = decode(self.layout, as_bytes(data), whole=True, strict=strict, limits=limits)
        fields: dict[str, Any] = value
        return fields

    def __repr__(self) -> str:
        return f"<schema {self.layout.name}: {', '.join(field.name for field in self.layout.root.fields)}>"


def _checked(field: Any) -> Field:
    if not isinstance(field, Field):
        hint = "; give optional fields as optional_fields={tag: Field(...)}" if isinstance(field, Mapping) else ""
        raise SchemaError(f"expected a Field, got {shown(field)}{hint}")
    return field


def _tagged(tag: Any, field: Any, allow_struct_arrays: bool) -> Item:
    item = _checked(field).item
    if type(tag) is not int or not 0 <= tag <= TAG_MAX:
        raise SchemaError(f"{item.name}: expected a tag (0 to {TAG_MAX}), got {shown(tag)}")
    if isinstance(item.type, Array) and isinstance(item.type.element, Nested) and not allow_struct_arrays:
        raise SchemaError(
            f"{item.name}: by default, an optional field can't be an array of structs; to allow this, pass "
            "`allow_struct_arrays=True`"
        )
    return Item(item.name, item.type, default=item.default, tag=tag)


def _type(name: str, type: Any, *, nullable: bool) -> Type:
    if isinstance(type, list) and len(type) == 1 and isinstance(type[0], Schema):
        return Array(Nested(type[0].layout.root), INT32, nullable=nullable)
    if isinstance(type, str) and type.startswith("[]"):
        return Array(_primitive(name, type[2:], nullable=False), INT32, nullable=nullable)
    if isinstance(type, Schema):
        if nullable:
            raise SchemaError(
                f"{name} is a struct, which can't be nullable; only strings, bytes and arrays can be nullable"
            )
        return Nested(type.layout.root)
    return _primitive(name, type, nullable=nullable)


def _primitive(field: str, name: Any, *, nullable: bool) -> Type:
    wire = wire_type(name) if isinstance(name, str) else None
    if wire is None:
        names = [*WIRE_TYPES]
        expected = f"{', '.join(names)}, one of these after '[]', a Schema, or a list of one Schema"
        raise SchemaError(f"{field} has type {shown(name)}{near(name, names)}; expected {expected}")
    if nullable and wire.is_fixed:
        raise SchemaError(
            f"{field} is of type {name}, which can't be nullable; only strings, bytes and arrays can be nullable"
        )
    return primitive(wire, nullable=nullable)


def _own_default(type: Type) -> Any:
    if isinstance(type, Nested):
        return DEFAULT_STRUCT
    if isinstance(type, Array):
        return ()
    assert not isinstance(type, WireType) and isinstance(type, Fixed | Sized)
    is_null = isinstance(type, Sized) and type.nullable and type.wire.name == "records"
    return None if is_null else type.wire.default


def _check_default(item: Item) -> None:
    if isinstance(item.type, Nested) or (isinstance(item.type, Array) and item.default not in ((), None)):
        raise SchemaError(f"{item.name}: the default of a struct or array must be empty, got {shown(item.default)}")
    try:
        LayoutWriter(Layout(item.name, None, StructLayout(item.name, ())), ByteCount).value(
            item.type, item.default, ByteCount()
        )
    except EncodeError as cause:
        raise SchemaError(f"{item.name}: the default is not a valid {item.type}: {cause.reason}") from None
