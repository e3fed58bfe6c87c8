"""Write the expressions in a serializer module, and collect the imports and constants that they need.

Only this module maps wire types to the helper functions in `tagwire.wire`. For a type without helpers, generated code
uses the type's entry in `WIRE_TYPES`.
"""

from struct import pack
from typing import Any, Final, NamedTuple
from uuid import UUID

from tagwire.errors import SchemaError
from tagwire.layout import (
    COMPACT,
    DEFAULT_STRUCT,
    INT32,
    Array,
    Fixed,
    Item,
    LengthCode,
    Missing,
    Nested,
    OptionalBuffer,
    Sized,
    StructLayout,
    Type,
    nested_struct,
)
from tagwire.message import Register
from tagwire.message.register import EnumType
from tagwire.wire.types import WireType
from tagwire_generator.model.spec_names import snake_case
from tagwire_generator.views.data_view import literal, uuid_literal
from tagwire_generator.views.docstrings import StructNames, has_binary
from tagwire_generator.views.imports import ModuleImports


class _Helpers(NamedTuple):
    """The names of the helper functions for a family of wire types."""

    value_of: str
    raw_of: str
    call: str
    """The format string of the code that applies `value_of` or `raw_of` to its argument, such as `{}({})`."""
    read_many: str
    put_many: str


_FIXED: Final = {
    "boolean": _Helpers("BOOLEANS", "BOOLEAN_BYTES", "{}[{}]", "booleans", "put_booleans"),
    "uuid": _Helpers("uuid_of", "uuid_bytes", "{}({})", "read_uuids", "put_uuids"),
}
"""Maps families of fixed-width types to the names of their helper functions."""
_SIZED: Final = {"text": ("string", "strings"), "binary": ("binary", "binaries")}
"""Maps families of types with a length to the suffixes of their helpers, such as `put_string`."""
_RUNTIME_NAMES: Final = {
    "Any",
    "BOOLEANS",
    "OptionalFieldsBuffer",
    "EMPTIES",
    "EMPTY",
    "Iterable",
    "UnreadableBytes",
    "UnwritableValue",
    "SERIALIZERS",
    "Serializer",
    "Struct",
    "UUID",
}
"""Names that serializer modules use themselves. A data class with such a name is imported under an alias."""


class Expressions:
    """The expressions, imports and constants of one serializer module."""

    def __init__(self, structs: StructNames) -> None:
        self.imports = ModuleImports()
        self._data_classes = ModuleImports(_RUNTIME_NAMES | structs.serializers)
        self.constants: dict[str, str] = {}
        """The constants of the module: expressions by name."""
        self._structs = structs

    def use(self, module: str, name: str) -> str:
        return self.imports.use(module, name)

    def constant(self, prefix: str, expression: str) -> str:
        """Return the name of a module constant for an expression. Equal expressions share a constant."""
        same = [name for name, known in self.constants.items() if known == expression and name.startswith(prefix)]
        if same:
            return same[0]
        taken = sum(name.startswith(prefix) for name in self.constants)
        name = f"{prefix}_{taken}" if taken else prefix
        self.constants[name] = expression
        return name

    def known_tags(self, tags: tuple[int, ...]) -> str:
        """Return the name of a constant that holds a struct's known tags. The struct must have a tagged field."""
        name = "_TAGS_" + "_".join(map(str, tags))
        self.constants[name] = f"frozenset({{{', '.join(map(str, tags))}}})"
        return name

    def struct_call(self, codes: str, method: str = "pack") -> str:
        self.use("struct", "Struct")
        name = f"_{method.removesuffix('_from')}_{codes}"
        self.constants[name] = f'Struct(">{codes}").{method}'
        return name

    def numbers(self, wire: WireType, calls: str = "") -> str:
        """Add a constant for arrays of numbers of type `wire` to the generated module. Return the constant's name.

        By default, the constant is an object with methods that read and write such arrays. If `calls` is "packers" or
        "unpackers", the constant maps an element count to the `struct.Struct` method for that many elements.
        """
        name = f"_{calls.removesuffix('ers')}_{wire.name}s" if calls else f"_{wire.name}s"
        arrays = f'{self.use("tagwire.wire", "fixed_array")}("{wire.name}")'
        self.constants[name] = f"{arrays}.{calls}" if calls else arrays
        return name

    def optional_fields_buffer(self, section: OptionalBuffer) -> str:
        buffer = self.use("tagwire.wire", "OptionalFieldsBuffer")
        length = "zigzag" if section.length.zigzag else "unsigned"
        self.constants["_OPTIONAL"] = f'{buffer}("{length}", counts_tag={section.counts_tag})'
        return "_OPTIONAL"

    def converted(self, wire: WireType, raw: str) -> str:
        """Return an expression that converts `raw`, unpacked by `struct`, or "" if it is already the field's value."""
        if wire.is_raw:
            return ""
        if isinstance(wire, EnumType):
            return f"{self.members(wire)}[{raw}]"
        helpers = _FIXED.get(wire.family)
        if helpers is None:
            return f"{self.row(wire)}.value_of({raw})"
        return helpers.call.format(self.use("tagwire.wire", helpers.value_of), raw)

    def packed(self, wire: WireType, value: str) -> str:
        """Return an expression that converts a field's value to a value that Python's `struct` module can pack."""
        if wire.is_raw or (isinstance(wire, EnumType) and not wire.is_closed):
            return value
        helpers = _FIXED.get(wire.family)
        if helpers is None:
            return f"{self.row(wire)}.raw_of({value})"
        return helpers.call.format(self.use("tagwire.wire", helpers.raw_of), value)

    def row(self, wire: WireType) -> str:
        """Return the name of a constant that holds a wire type."""
        if isinstance(wire, EnumType):
            return self.constant(f"_{snake_case(wire.enum.__name__)}_{wire.name}", self.enum_type(wire))
        name = wire.name.replace("[", "_").removesuffix("]")
        return self.constant(f"_{name}", f'{self.use("tagwire.wire", "WIRE_TYPES")}["{wire.name}"]')

    def enum_type(self, wire: EnumType) -> str:
        """Return an expression for an enum's wire type, made from its integer type and the class of its members."""
        cls, row = self.use("tagwire.message", "EnumType"), f'{self.use("tagwire.wire", "WIRE_TYPES")}["{wire.name}"]'
        return f"{cls}({row}, {self.register(wire.enum)})"

    def members(self, wire: EnumType) -> str:
        """Return the name of a constant that maps numbers to an enum's members. Unknown numbers are also accepted."""
        return self.constant(f"_members_of_{snake_case(wire.enum.__name__)}", f"{self.enum_type(wire)}.members")

    def register(self, cls: Any) -> str:
        """Import the class of an enum's members into the generated module, and return its name there."""
        package = self._structs.module.rpartition(".")[0]
        return self._data_classes.use_aliased(f"{package}.{snake_case(cls.__name__)}", cls.__name__)

    def default(self, field: Item | Missing) -> str:
        """Return an expression for a default. For a struct, this is a call that creates a new object."""
        if field.default is DEFAULT_STRUCT:
            cls = _class_of(field)
            data_class = self.data_class(cls)
            is_required = any(row.required for row in cls.FIELDS)  # required fields must be passed as arguments
            return f"{self.use('tagwire.message', 'fresh')}({data_class})" if is_required else f"{data_class}()"
        if isinstance(field.default, UUID):
            expression = uuid_literal(field.default, self.use("uuid", "UUID"))
            return self.constant("_ZERO_UUID" if field.default.int == 0 else "_OTHER_UUID", expression)
        if isinstance(field.default, Register):
            return f"{self.register(type(field.default))}.{field.default.name}"
        return literal(field.default)

    def differs(self, field: Item | Missing) -> str:
        """Return a condition that is true if the field of message `m` differs from its default."""
        value, default = f"m.{field.name}", field.default
        if default is None:
            return f"{value} is not None"
        if isinstance(default, float):  # compare bits, because of NaN and -0.0
            return f"{self.struct_call('d')}({value}) != {pack('>d', default)!r}"
        if default == () and isinstance(default, tuple):
            return f"{value} not in {self.use('tagwire.wire', 'EMPTIES')}"
        if default is DEFAULT_STRUCT:
            name = self.constant(f"_DEFAULT_{snake_case(_class_of(field).__name__).upper()}", self.default(field))
            return f"{value} != {name}"
        return f"{value} != {self.default(field)}"

    def broken_rules(self, struct: StructLayout) -> tuple[str, ...]:
        """Return conditions that are true if `m` breaks a union's rule, or if a `unique` array has equal keys."""
        conditions = []
        for union in struct.unions:
            alternatives = ", ".join(f"m.{name}" for name in union.alternatives)
            conditions.append(f"{self.use('tagwire.wire', 'breaks_union')}(m.unknown_tags, {alternatives})")
        for field in struct.fields:
            if isinstance(field.type, Array) and field.type.unique:
                keys = ", ".join(f'"{key}"' for key in field.type.unique)
                conditions.append(f"{self.use('tagwire.wire', 'has_twins')}(m.{field.name}, {keys})")
        return tuple(conditions)

    def sized_value(self, wire: WireType) -> str:
        """Return an expression that decodes the bytes from `pos` to `end` to a value of this type."""
        if wire.family == "text":
            return "buf[pos:end].decode()"
        source = f"{_source(wire)}[pos:end]"
        return source if wire.family == "binary" else f"{self.row(wire)}.value_of({source})"

    def put_sized(self, kind: Sized, out: str, value: str) -> str:
        if kind.wire.family not in _SIZED:
            raw = f"{self.row(kind.wire)}.raw_of({value})"
            value = f"None if {value} is None else {raw}" if kind.nullable else raw
        nullable = "nullable_" if kind.nullable else ""
        put = self.use("tagwire.wire", f"put_{nullable}{_compact(kind.length)}{_words(kind.wire)[0]}")
        return f"{put}({out}, {value})"

    def elements_reader(self, element: Type, count: str) -> str:
        """Return the source text of a call that reads `count` elements of a type."""
        if isinstance(element, Nested):
            return self.struct_reader(element.struct, count)
        if isinstance(element, Array):
            helper = self.use("tagwire.wire", f"read_{_compact(element.length)}arrays")
            return f"{helper}(buf, pos, {count}, lambda buf, pos, n: {self.elements_reader(element.element, 'n')})"
        if isinstance(element, Fixed) and element.wire.is_raw:
            return f"{self.numbers(element.wire)}.read(buf, pos, {count})"
        return self.element_reader(element, count)

    def elements_writer(self, element: Type, out: str, values: str) -> str:
        """Return the source text of a call that writes elements of a type. Their count is written separately."""
        if isinstance(element, Nested):
            return f"{self.struct_writer(element.struct)}({out}, {values})"
        if isinstance(element, Array):
            put, inner = self.use("tagwire.wire", "put_each"), element.element
            if isinstance(inner, Fixed) and inner.wire.is_raw:
                puts = f"{self.numbers(inner.wire)}.put{'_compact' * (element.length == COMPACT)}"
            else:
                count = self.use("tagwire.wire", f"put_{_compact(element.length)}count")
                puts = f"{count}, lambda out, values: {self.elements_writer(inner, 'out', 'values')}"
            return f"{put}({out}, {values}, {puts})"
        return self.put_elements(element, out, values)

    def element_reader(self, element: Type, count: str) -> str:
        assert isinstance(element, Fixed | Sized)
        wire = element.wire
        if isinstance(element, Fixed):
            helpers = _FIXED.get(wire.family)
            read = self.use("tagwire.wire", helpers.read_many) if helpers else f"{self.row(wire)}.read_many"
            return f"{read}(buf, pos, {count})"
        words = _words(wire)
        name = self.use("tagwire.wire", f"read_{_compact(element.length)}{words[1]}")
        found = f"{name}(buf, {_source(wire)}, pos, {count})" if words[0] == "binary" else f"{name}(buf, pos, {count})"
        return found if wire.family in _SIZED else f"{self.row(wire)}.values_of({found})"

    def put_elements(self, element: Type, out: str, values: str) -> str:
        assert isinstance(element, Fixed | Sized)
        wire = element.wire
        if isinstance(element, Fixed):
            helpers = _FIXED.get(wire.family)
            put = self.use("tagwire.wire", helpers.put_many) if helpers else f"{self.row(wire)}.put_many"
            return f"{put}({out}, {values})"
        if wire.family not in _SIZED:
            values = f"[{self.row(wire)}.raw_of(each) for each in {values}]"
        return f"{self.use('tagwire.wire', f'put_{_compact(element.length)}{_words(wire)[1]}')}({out}, {values})"

    def data_class(self, cls: Any) -> str:
        """Import a data class into the generated module. Return its name, or an alias if the name is taken."""
        return self._data_classes.use(self._structs.module_of(cls.__name__), cls.__name__)

    def is_shared(self, cls: Any) -> bool:
        """Return whether a data class belongs to a shared struct, and not only to this message."""
        return self._structs.module_of(cls.__name__) != self._structs.module

    @property
    def import_groups(self) -> list[list[str]]:
        """The module's import lines, in groups. Data classes are in the last group."""
        groups = self.imports.groups
        groups[-1] += [line for group in self._data_classes.groups for line in group]
        return groups

    def struct_reader(self, struct: StructLayout, count: str) -> str:
        raw = "raw, " if has_binary(struct) else ""
        return f"_read_{self._structs.name(struct)}(buf, {raw}pos, {count})"

    def struct_writer(self, struct: StructLayout) -> str:
        return f"_write_{self._structs.name(struct)}"


def _words(wire: WireType) -> tuple[str, str]:
    """Return the suffixes of two helper functions: for a value (`string`) and for an array (`strings`)."""
    if wire.family not in _SIZED and wire.length != INT32.name:
        raise SchemaError(
            f"type {wire.name} has a length of type {wire.length}, which generated code only supports for strings"
        )
    return _SIZED.get(wire.family, _SIZED["binary"])


def _source(wire: WireType) -> str:
    return "raw" if wire.is_slice else "buf"


def _compact(length: LengthCode | None) -> str:
    return "compact_" if length == COMPACT else ""


def _class_of(field: Item | Missing) -> Any:
    cls = field.cls if isinstance(field, Missing) else getattr(nested_struct(field.type), "cls", None)
    assert cls is not None, f"{field.name} has a struct's default but no struct"
    return cls
