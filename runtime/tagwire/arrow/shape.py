"""Compute the Arrow columns for the fields of a message in one or more versions.

The columns form a tree. A field has the same values in its column as in decoded objects, including defaults for absent
fields.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from tagwire.errors import SchemaError
from tagwire.layout import Array, Fixed, Item, Nested, NullableFixed, Sized, StructLayout, Type, Varint
from tagwire.text_format import near
from tagwire.wire.families import integer_format
from tagwire.wire.unknown_tags import NO_TAGS
from tagwire.wire.wire_type import WireType

TAGS: Final = "unknown_tags"

_WIDE: Final = {"C": "s", "S": "i", "I": "l"}
_WITH_WIRE: Final = (Fixed, NullableFixed, Sized)
UNITS: Final = {"s": "s", "m": "ms", "u": "us", "n": "ns"}
_TYPE_NAMES: Final = {
    "b": "bool",
    "c": "int8",
    "C": "uint8",
    "s": "int16",
    "S": "uint16",
    "i": "int32",
    "I": "uint32",
    "l": "int64",
    "L": "uint64",
    "f": "float",
    "g": "double",
    "u": "string",
    "z": "binary",
    **{f"tD{letter}": f"duration[{unit}]" for letter, unit in UNITS.items()},
    # types of columns that users pass in
    **{f"tt{letter}": f"time{32 if letter in 'sm' else 64}[{unit}]" for letter, unit in UNITS.items()},
    "tdD": "date32[day]",
    "tdm": "date64[ms]",
    "tin": "month_day_nano_interval",
    "n": "null",
    "e": "halffloat",
    "U": "large_string",
    "vu": "string_view",
    "Z": "large_binary",
    "vz": "binary_view",
    "+l": "list",
    "+L": "large_list",
    "+vl": "list_view",
    "+vL": "large_list_view",
    "+r": "run_end_encoded",
    "+ud": "dense_union",
    "+us": "sparse_union",
    "+m": "map",
    "+s": "struct",
}


def type_name(format: str) -> str:
    """Return the Arrow type name for a format string of the C data interface. Unknown strings are returned as is."""
    kind, _, width = format.partition(":")
    if kind in ("w", "+w") and width.isdecimal():
        return f"fixed_size_{'binary' if kind == 'w' else 'list'}[{width}]"
    if kind[:2] == "ts" and kind[2:] in UNITS:
        return f"timestamp[{UNITS[kind[2:]]}{width and f', {width}'}]"
    if kind == "d":
        digits = width.split(",")
        return f"decimal{digits[2] if len(digits) > 2 else 128}({', '.join(digits[:2])})"
    return _TYPE_NAMES.get(kind if kind[:2] == "+u" else format, format)


class Column:
    """A column: its name, its Arrow type, and the default value for rows that do not have the field."""

    __slots__ = ("children", "cls", "default", "format", "is_dictionary", "name", "nullable", "wire")

    def __init__(
        self,
        name: str,
        format: str,
        *,
        nullable: bool = False,
        default: Any = None,
        children: tuple["Column", ...] = (),
        cls: Any = None,
        is_dictionary: bool = False,
        wire: WireType | None = None,
    ) -> None:
        self.name = name
        self.format = format
        """The Arrow C data interface's format string: `i` int32, `u` string, `+l` list, `+s` struct, `+m` map."""
        self.nullable = nullable
        self.default = default
        self.children = children
        self.cls = cls
        """The data class of struct values."""
        self.is_dictionary = is_dictionary
        """For numbers (`i`): whether they are indexes into a dictionary of strings."""
        self.wire = wire
        """The wire type, which converts values to Arrow values, or None if no conversion is needed."""

    def child(self, name: str) -> "Column | None":
        """Return the child column with this name, or None."""
        return next((child for child in self.children if child.name == name), None)

    def walk(self) -> Iterator["Column"]:
        """Yield this column and its descendants, each before its children."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def type_text(self) -> str:
        if self.format == "+s":
            return f"struct<{', '.join(map(str, self.children))}>"
        if self.format == "+l":
            return f"list<{self.children[0]}>"
        if self.format == "+m":
            key, value = self.children[0].children
            return f"map<{key.type_text}, {value.type_text}>"
        return "dictionary<int32, string>" if self.is_dictionary else type_name(self.format)

    def __str__(self) -> str:
        return f"{self.name}: {self.type_text}{'' if self.nullable else ' not null'}"

    def __repr__(self) -> str:
        return f"<column {self}>"


ERROR: Final = Column(
    "error",
    "+s",
    nullable=True,
    children=(Column("path", "u"), Column("offset", "l", nullable=True), Column("reason", "u")),
)
"""The column that tells where and why a value could not be read or written."""


def with_error(value: Column) -> Column:
    """Return a struct column with two fields, a value and an error.

    In each row, one of them is null; both are null if the input is null.
    """
    return Column("", "+s", children=(value, ERROR))


def field_paths(fields: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return the argument `fields` as a tuple. Raises SchemaError if it is not a list of paths."""
    if fields is None:
        return None
    if isinstance(fields, str):
        raise SchemaError(f"fields: expected a list of paths, got the string {fields!r}; write [{fields!r}]")
    paths = tuple(fields) if isinstance(fields, Iterable) else (fields,)
    if not all(isinstance(path, str) for path in paths):
        raise SchemaError(f"fields: expected a list of paths, such as ['topics.name'], got {fields!r:.100}")
    return paths


class ColumnSelection:
    """The fields to convert: all fields, or only those at the given dotted paths."""

    def __init__(self, paths: Iterable[str] | None, *, unknown_tags: bool = True, wide_unsigned: bool = False) -> None:
        self.paths = None if paths is None else [path.split(".") for path in paths]
        self.unknown_tags = unknown_tags
        self.wide_unsigned = wide_unsigned

    def of(self, name: str) -> "ColumnSelection | None":
        """Return the selected fields inside the field `name`, or None if that field is not selected."""
        if self.paths is None:
            return self if name != TAGS or self.unknown_tags else None
        inner = [path[1:] for path in self.paths if path[0] == name]
        if not inner:
            return None
        chosen = ColumnSelection(None, unknown_tags=self.unknown_tags, wide_unsigned=self.wide_unsigned)
        if [] not in inner:
            chosen.paths = inner
        return chosen

    def check(self, owner: str, names: list[str]) -> None:
        """Raise SchemaError if a path begins with a field that isn't in `names`, the fields of `owner`."""
        for first, *_ in self.paths or ():
            if first not in names:
                raise SchemaError(f"{owner} has no field {first!r} in the selected versions{near(first, names)}")


def message_column(name: str, structs: list[StructLayout], selection: ColumnSelection) -> Column:
    """Return the column for a message. `structs` has the message's root layout in each possible version.

    Raises SchemaError if the selection has unknown fields, or if a field's type differs between versions.
    """
    return _struct(name, structs, selection, None, nullable=True, absent=False)


def _struct(
    name: str, structs: list[StructLayout], selection: ColumnSelection, default: Any, *, nullable: bool, absent: bool
) -> Column:
    names = _names(structs)
    selection.check(structs[0].name, names)
    children = []
    for field in names:
        inner = selection.of(field)
        if inner is not None:
            children.append(_tags() if field == TAGS else _field(field, structs, inner, absent))
    return Column(name, "+s", nullable=nullable, default=default, children=tuple(children), cls=structs[0].cls)


def _names(structs: list[StructLayout]) -> list[str]:
    """Return the names of the fields that exist in any version of a struct, in spec order."""
    found = dict.fromkeys(field.name for struct in structs for field in struct.values)
    # If the structs have no class, the spec order is unknown.
    rows = getattr(structs[0].cls, "FIELDS", ())
    ordered = [row.name for row in rows if row.name in found] if rows else list(found)
    return [*ordered, *([TAGS] if any(struct.section is not None for struct in structs) else [])]


def _tags() -> Column:
    pair = (Column("key", "i"), Column("value", "z"))
    return Column(TAGS, "+m", default=NO_TAGS, children=(Column("entries", "+s", children=pair),))


def _field(name: str, structs: list[StructLayout], selection: ColumnSelection, absent: bool) -> Column:
    """Return a field's column. With `absent`, its struct may be absent, and the field then has its default."""
    items: list[Item] = [item for struct in structs for item in struct.fields if item.name == name]
    absent = absent or len(items) < len(structs) or any(item.tag is not None for item in items)
    return _typed(name, [item.type for item in items], selection, items[0].default, absent=absent)


def _typed(
    name: str, types: list[Type], selection: ColumnSelection, default: Any = None, *, absent: bool = False
) -> Column:
    nullable = (absent and default is None) or any(getattr(type, "nullable", False) for type in types)
    arrays = [type for type in types if isinstance(type, Array)]
    structs = [type.struct for type in types if isinstance(type, Nested)]
    if len(arrays) == len(types):
        element = _typed("item", [type.element for type in arrays], selection)
        return Column(name, "+l", nullable=nullable, default=default, children=(element,))
    if len(structs) == len(types):
        absent = absent and default is not None
        return _struct(name, structs, selection, default, nullable=nullable, absent=absent)
    formats = {_format(name, type, wide=selection.wide_unsigned) for type in types}
    wires = {type.wire.family: type.wire for type in types if isinstance(type, _WITH_WIRE)}
    if selection.paths is not None:
        raise SchemaError(f"{name} is not a struct, so it has no field {'.'.join(selection.paths[0])!r}")
    if len(formats) > 1 or len(wires) > 1:
        raise SchemaError(f"{name} has different types in the selected versions: {', '.join(sorted(map(str, types)))}")
    return Column(name, formats.pop(), nullable=nullable, default=default, wire=next(iter(wires.values()), None))


def _format(name: str, type: Type, *, wide: bool) -> str:
    if isinstance(type, Varint):
        format = integer_format(type.bits // 8, is_signed=type.zigzag)
    elif isinstance(type, _WITH_WIRE):
        format = type.wire.arrow_format
    else:
        # The type differs between versions, so the caller raises SchemaError.
        format = str(type)
    if not format:
        raise SchemaError(f"{name} has type {type}, which Arrow can't represent; choose other fields")
    return _WIDE.get(format, format) if wide else format
