"""Expressions of a serializer module: each brings the import or the constant that it needs.

The one place that maps wire types to the helpers of `tagwire.wire`: tables, so
that a new primitive of a known family is handled without a change here.
"""

from typing import Any, Final
from uuid import UUID

from tagwire.layout import (
    COMPACT,
    DEFAULT_STRUCT,
    Fixed,
    Item,
    LengthCode,
    Missing,
    Nested,
    OptionalBuffer,
    Sized,
    StructLayout,
    Type,
)
from tagwire.wire.types import WireType
from tagwire_generator.model.python_names import snake_case
from tagwire_generator.views.data_view import literal, uuid_literal
from tagwire_generator.views.imports import Imports

__all__ = ["Expressions"]

_CONVERSIONS: Final = {"boolean": ("BOOLEANS", "{0}[{1}]"), "uuid": ("uuid_of", "{0}({1})")}
"""By family: helper and form that turn what `struct` read into the value."""
_PACKED: Final = {"boolean": ("BOOLEAN_BYTES", "{0}[{1}]"), "uuid": ("uuid_bytes", "{0}({1})")}
"""By family: helper and form of what `struct` packs for a value."""
_SIZED: Final = {"text": "string", "binary": "binary"}
_SIZED_MANY: Final = {"text": "strings", "binary": "binaries"}
_FIXED_MANY: Final = {"boolean": ("booleans", "put_booleans"), "uuid": ("read_uuids", "put_uuids")}
"""By family, of what `struct` alone does not make: array reader and writer."""


_RUNTIME_NAMES: Final = {"Any", "BOOLEANS", "BufferForm", "EMPTIES", "EMPTY", "Iterable", "Malformed", "Refused"} | {
    "SERIALIZERS",
    "Serializer",
    "Struct",
    "UUID",
}
"""Names in a serializer module that a spec could give a struct, too."""


class Expressions:
    """The names that one serializer module uses."""

    def __init__(self, structs: "StructNames") -> None:
        self.imports = Imports()
        self._data_classes = Imports(_RUNTIME_NAMES | structs.serializers)
        self.constants: dict[str, str] = {}
        """Module constants: name to expression."""
        self._structs = structs

    def use(self, module: str, name: str) -> str:
        return self.imports.use(module, name)

    def constant(self, prefix: str, expression: str) -> str:
        """A module constant with this value; one name for each value."""
        same = [name for name, known in self.constants.items() if known == expression and name.startswith(prefix)]
        if same:
            return same[0]
        taken = sum(name.startswith(prefix) for name in self.constants)
        name = f"{prefix}_{taken}" if taken else prefix
        self.constants[name] = expression
        return name

    def known_tags(self, tags: tuple[int, ...]) -> str:
        """The tags that a struct of this version knows, at least one."""
        name = "_TAGS_" + "_".join(map(str, tags))
        self.constants[name] = f"frozenset({{{', '.join(map(str, tags))}}})"
        return name

    def unpacker(self, codes: str) -> str:
        self.use("struct", "Struct")
        name = f"_unpack_{codes}"
        self.constants[name] = f'Struct(">{codes}").unpack_from'
        return name

    def packer(self, codes: str) -> str:
        self.use("struct", "Struct")
        name = f"_pack_{codes}"
        self.constants[name] = f'Struct(">{codes}").pack'
        return name

    def numbers(self, wire: WireType) -> str:
        """The arrays of a number type."""
        name = f"_{wire.name}s"
        self.constants[name] = f'{self.use("tagwire.wire", "fixed_array")}("{wire.name}")'
        return name

    def number_packers(self, wire: WireType) -> str:
        """`struct` calls that pack arrays of a number type, by count."""
        name = f"_pack_{wire.name}s"
        self.constants[name] = f'{self.use("tagwire.wire", "fixed_array")}("{wire.name}").packers'
        return name

    def number_unpackers(self, wire: WireType) -> str:
        """`struct` calls that unpack arrays of a number type, by count."""
        name = f"_unpack_{wire.name}s"
        self.constants[name] = f'{self.use("tagwire.wire", "fixed_array")}("{wire.name}").unpackers'
        return name

    def buffer_form(self, section: OptionalBuffer) -> str:
        form = self.use("tagwire.wire", "BufferForm")
        length = "zigzag" if section.length.zigzag else "unsigned"
        self.constants["_OPTIONAL"] = f'{form}("{length}", counts_tag={section.counts_tag})'
        return "_OPTIONAL"

    # ------------------------------------------------------------ values

    def converted(self, family: str, raw: str) -> str:
        """What makes the value from what `struct` read; "" where that is the value."""
        if family not in _CONVERSIONS:
            return ""
        helper, form = _CONVERSIONS[family]
        return form.format(self.use("tagwire.wire", helper), raw)

    def packed(self, family: str, value: str) -> str:
        """What `struct` packs for a value."""
        if family not in _PACKED:
            return value
        helper, form = _PACKED[family]
        return form.format(self.use("tagwire.wire", helper), value)

    def default(self, field: Item | Missing) -> str:
        """The default as an expression; a fresh object where it is a struct."""
        if field.default is DEFAULT_STRUCT:
            return f"{self.data_class(_class_of(field))}()"
        if isinstance(field.default, UUID):
            expression = uuid_literal(field.default, self.use("uuid", "UUID"))
            return self.constant("_ZERO_UUID" if field.default.int == 0 else "_UUID", expression)
        return literal(field.default)

    def differs(self, field: Item | Missing) -> str:
        """Whether `m` has another value than the default, as a condition."""
        value, default = f"m.{field.name}", field.default
        if default is None:
            return f"{value} is not None"
        if default == () and isinstance(default, tuple):
            return f"{value} not in {self.use('tagwire.wire', 'EMPTIES')}"
        if default is DEFAULT_STRUCT:
            name = self.constant(f"_DEFAULT_{snake_case(_class_of(field).__name__).upper()}", self.default(field))
            return f"{value} != {name}"
        return f"{value} != {self.default(field)}"

    # ------------------------------------------------------------ types with a length, elements, structs

    def put_sized(self, kind: Sized) -> str:
        nullable = "nullable_" if kind.nullable else ""
        return self.use("tagwire.wire", f"put_{nullable}{_compact(kind.length)}{_SIZED[kind.wire.family]}")

    def element_reader(self, element: Type, count: str) -> str:
        if isinstance(element, Sized):
            name = self.use("tagwire.wire", f"read_{_compact(element.length)}{_SIZED_MANY[element.wire.family]}")
            raw = "raw, " if element.wire.family == "binary" else ""
            return f"{name}(buf, {raw}pos, {count})"
        assert isinstance(element, Fixed)
        return f"{self.use('tagwire.wire', _FIXED_MANY[element.wire.family][0])}(buf, pos, {count})"

    def put_elements(self, element: Type) -> str:
        if isinstance(element, Sized):
            return self.use("tagwire.wire", f"put_{_compact(element.length)}{_SIZED_MANY[element.wire.family]}")
        assert isinstance(element, Fixed)
        return self.use("tagwire.wire", _FIXED_MANY[element.wire.family][1])

    def data_class(self, cls: Any) -> str:
        """What the module calls a data class: templates write the names of the runtime, so these go first."""
        return self._data_classes.use(self._structs.module, cls.__name__)

    @property
    def import_groups(self) -> list[list[str]]:
        """The import lines, the data classes behind all others."""
        groups = self.imports.groups
        groups[-1] += [line for group in self._data_classes.groups for line in group]
        return groups

    def struct_reader(self, struct: StructLayout, count: str) -> str:
        raw = "raw, " if has_binary(struct) else ""
        return f"_read_{self._structs.name(struct)}(buf, {raw}pos, {count})"

    def struct_writer(self, struct: StructLayout) -> str:
        return f"_write_{self._structs.name(struct)}"


class StructNames:
    """The functions of a module, by struct layout: equal layouts share one, named after the first version.

    The name of the message, with which many structs begin, is left away where
    what is left is no other struct's name: `_read_topic_v0` is in its module.
    """

    def __init__(self, message: str, module: str, serializers: frozenset[str]) -> None:
        self.message = message
        self.module = module
        """The module of the data classes."""
        self.serializers = serializers
        """The names of the serializer classes."""
        self.functions: list[tuple[StructLayout, int]] = []
        """Layout and first version; each after those that it calls."""

    def add(self, struct: StructLayout, version: int) -> None:
        for field in struct.fields:
            nested = nested_struct(field.type)
            if nested is not None:
                self.add(nested, version)
        if not any(known == struct for known, _ in self.functions):
            self.functions.append((struct, version))

    def name(self, struct: StructLayout) -> str:
        version = next(version for known, version in self.functions if known == struct)
        return f"{snake_case(self._short(struct.name))}_v{version}"

    def _short(self, name: str) -> str:
        short = name.removeprefix(self.message)
        others = {known.name.removeprefix(self.message) for known, _ in self.functions if known.name != name}
        return short if short and short not in others else name


def nested_struct(kind: Type) -> StructLayout | None:
    """The struct of a field or of its elements."""
    inner = getattr(kind, "element", kind)
    return inner.struct if isinstance(inner, Nested) else None


def has_binary(struct: StructLayout) -> bool:
    """Whether bytes or records stand anywhere in a struct, so that its reader needs `raw`."""
    for field in struct.fields:
        inner = getattr(field.type, "element", field.type)
        if isinstance(inner, Sized) and inner.wire.family == "binary":
            return True
        if isinstance(inner, Nested) and has_binary(inner.struct):
            return True
    return False


def _compact(length: LengthCode | None) -> str:
    return "compact_" if length == COMPACT else ""


def _class_of(field: Item | Missing) -> Any:
    cls = field.cls if isinstance(field, Missing) else getattr(nested_struct(field.type), "cls", None)
    assert cls is not None, f"{field.name} has a struct's default but no struct"
    return cls
