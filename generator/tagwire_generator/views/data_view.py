"""The view of a module of data classes: the strings that its template inserts into the module.

Part of the stable interface for users' templates (docs/templates.md).
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import isfinite
from uuid import UUID

from tagwire.message import Message
from tagwire.versions import Versions
from tagwire_generator.message_classes import field_row, optional_fields, unique_keys
from tagwire_generator.model import STRUCT_DEFAULT, FieldSpec, MessageSpec, StructSpec
from tagwire_generator.model.defaults import is_key_type, map_keys
from tagwire_generator.model.register_spec import RegisterSpec
from tagwire_generator.model.spec_names import attribute_name, snake_case
from tagwire_generator.project.spec_files import HEADER_NAMES
from tagwire_generator.views.docstrings import class_doc, field_doc, message_doc, struct_doc, version_history
from tagwire_generator.views.imports import ModuleImports

__all__ = [
    "DataModuleView",
    "DataViews",
    "FieldView",
    "KeyedView",
    "StructView",
    "UnionView",
    "literal",
    "uuid_literal",
]


@dataclass(frozen=True)
class FieldView:
    """The values from which a template generates a field of a data class."""

    name: str
    annotation: str
    """The type of the attribute, or empty for lengths, counts and checksums, which have no attribute."""
    declaration: str
    """The call that declares the field. Its arguments are wire name, type, versions, default and notes."""
    doc: str
    """The docstring. It gives the field's meaning, followed by wire type, versions and notes in parentheses."""
    deprecated: str = ""
    """The decorator that marks the field as deprecated, with the reason, or "" if it is not deprecated."""


@dataclass(frozen=True)
class UnionView:
    """The values from which a template generates a union's property.

    The property returns the name and the value of the alternative that is set.
    """

    name: str
    annotation: str
    alternatives: tuple[str, ...]
    """The names of the union's attributes. At most one of them may be set."""
    arguments: str
    """The names of the union and of its alternatives, as Python code."""
    doc: str


@dataclass(frozen=True)
class KeyedView:
    """The values from which a template generates a method that finds an array element by its key."""

    name: str
    annotation: str
    arguments: str
    """The names of the array and of its elements' key attributes, as Python code."""
    doc: str


@dataclass(frozen=True)
class StructView:
    """The values from which a template generates the data class of a message or struct."""

    name: str
    base: str
    """The base class. For a request or response, it may have a header class as its type argument."""
    doc: str
    fields: tuple[FieldView, ...]
    constants: tuple[tuple[str, str], ...]
    """The class attributes of a message, as pairs of a name and an expression."""
    unions: tuple[UnionView, ...] = ()
    """A view of each union's property."""
    which: tuple[str, str] | None = None
    """The parameter type and the result type of the generated method `which`, or None if the struct has no unions.

    The parameter is the name of a union, and the result is the name of an alternative.
    """
    keyed: tuple[KeyedView, ...] = ()
    """A view of each method that finds elements of an array by their keys."""
    parameters: tuple[str, ...] = ()
    """The constructor's parameters, which type checkers need if a field is deprecated. Otherwise, this is empty."""


@dataclass(frozen=True)
class DataModuleView:
    """The values from which a template generates the module of a message's data classes."""

    source: str
    """The spec's name, which is part of the module's first line."""
    doc: str
    imports: list[list[str]]
    type_imports: list[str]
    """Imports that only type checkers need. They are in `if TYPE_CHECKING`."""
    names: tuple[str, ...]
    structs: tuple[StructView, ...]
    """The structs, each after the structs that it contains, and finally the message."""
    metaclass: str


class DataViews:
    """Creates the views of one module, and collects the imports that the module needs.

    `package` is the generated package. `headers` are the names of the headers in this package.
    """

    def __init__(
        self,
        spec: MessageSpec,
        cls: type[Message] | None,
        package: str = "",
        headers: Collection[str] = (),
    ) -> None:
        self.spec = spec
        self.package = package
        self.headers = headers
        self.cls = cls
        self.shared = [each.name for each in spec.imports if each.is_direct]
        structs = (*spec.own_structs, spec.root)
        # An import must not have one of these names, because a struct or attribute would hide it.
        taken = [struct.name for struct in structs] + self.shared
        taken += [attribute_name(field.name) for struct in structs for field in struct.fields]
        self.imports = ModuleImports(taken)
        self.type_imports = ModuleImports(taken)
        self.registers = ModuleImports(taken)
        self.shared_structs = ModuleImports()

    def module(self, source: str) -> DataModuleView:
        structs = tuple(self.struct(struct) for struct in (*self.spec.own_structs, self.spec.root))
        return self.module_of(structs, source, message_doc(self.spec))

    def module_of(self, structs: tuple[StructView, ...], source: str, doc: str) -> DataModuleView:
        metaclass = self.imports.use("tagwire.message", "data_class")
        return DataModuleView(
            source=source,
            doc=doc,
            imports=[*self.imports.groups, *self.registers.groups, *self.shared_structs.groups],
            type_imports=[line for group in self.type_imports.groups for line in group],
            names=tuple(sorted(struct.name for struct in structs)),
            structs=structs,
            metaclass=metaclass,
        )

    def struct(self, struct: StructSpec) -> StructView:
        root = struct is self.spec.root and self.spec.kind != "struct"
        return StructView(
            name=struct.name,
            base=self.message_base() if root else self.imports.use("tagwire.message", "Struct"),
            doc=self.struct_doc(struct),
            fields=tuple(map(self.field, struct.fields)),
            constants=tuple(self.constants()) if root else (),
            unions=(unions := self.unions(struct)),
            which=self.which_types(unions),
            keyed=tuple(self.keyed(struct)),
            parameters=self.parameters(struct) if any(field.deprecated is not None for field in struct.fields) else (),
        )

    def struct_doc(self, struct: StructSpec) -> str:
        if struct is not self.spec.root:
            return struct_doc(self.spec, struct)
        return class_doc(self.spec, () if self.cls is None else version_history(self.spec, self.cls))

    def message_base(self) -> str:
        base, header = self.imports.use("tagwire.message", "Message"), HEADER_NAMES.get(self.spec.kind, "")
        if header not in self.headers:
            return base
        # The header is only imported for type checkers.
        return f'{base}["{self.type_imports.use(f"{self.package}.{snake_case(header)}", header)}"]'

    def constants(self) -> list[tuple[str, str]]:
        spec = self.spec
        values = [
            ("NAME", repr(spec.name)),
            ("KIND", repr(spec.kind)),
            ("API_KEY", repr(spec.api_key)),
            ("COMPONENT", repr(spec.component)),
            ("VERSIONS", self.versions(spec.valid_versions)),
            ("FLEXIBLE_VERSIONS", self.versions(spec.flexible_versions)),
            ("LATEST_STABLE", repr(spec.latest_stable)),
        ]
        if spec.headers:
            ranges = [f"({self.versions(versions)}, {header})" for versions, header in spec.headers]
            values.append(("HEADER_VERSIONS", f"({', '.join(ranges)}{',' if len(ranges) == 1 else ''})"))
        if spec.fallback is not None:
            values.append(("FALLBACK", f"({spec.fallback.version}, {spec.fallback.error_code})"))
        optional = optional_fields(spec)
        if optional is not None:
            call = self.imports.use("tagwire.message", "OptionalFields")
            versions = self.versions(optional.versions)
            length, counts = optional.length_varint, optional.counts_tag
            values.append(("OPTIONAL_FIELDS", f"{call}({versions}, length_varint={length!r}, counts_tag={counts})"))
        return values

    def versions(self, versions: Versions) -> str:
        if not versions:
            return self.imports.use("tagwire.message", "NONE")
        name = self.imports.use("tagwire.message", "Versions")
        return f"{name}({versions.lowest}, {versions.highest})"

    def field(self, field: FieldSpec) -> FieldView:
        return FieldView(
            name=attribute_name(field.name),
            annotation=self.attribute_type(field),
            declaration=self.declaration(field),
            doc=field_doc(field, self.spec.about_of(field)),
            deprecated=self.deprecated(field),
        )

    def attribute_type(self, field: FieldSpec) -> str:
        is_optional = field.nullable_versions or field.default is None
        # A deprecated field is declared as a property, and not as a descriptor such as Array.
        if field.type.is_array and field.deprecated is None:
            array = self.imports.use("tagwire.message", "ArrayOrNone" if is_optional else "Array")
            return f"{array}[{self.annotation(field, outer=1)}]"
        return self.annotation(field) + (" | None" if is_optional else "")

    def parameters(self, struct: StructSpec) -> tuple[str, ...]:
        """Return the constructor's parameters with their types, for type checkers."""
        found = []
        for field in struct.fields:
            name, annotation = attribute_name(field.name), self.annotation(field)
            if field.type.is_array:
                iterable = self.type_imports.use("collections.abc", "Iterable")
                annotation = f"{iterable}[{self.annotation(field, outer=1)}]"
            optional = " | None" if field.nullable_versions or field.default is None else ""
            found.append(f"{name}: {annotation}{optional}" + ("" if field.required else " = ..."))
        mapping = self.type_imports.use("collections.abc", "Mapping")
        return (*found, f"unknown_tags: {mapping}[int, bytes] = ...")

    def unions(self, struct: StructSpec) -> tuple[UnionView, ...]:
        """Return a view of each union of a struct, ordered by their first alternatives."""
        unions: dict[str, list[FieldSpec]] = {}
        for field in struct.fields:
            if field.union:
                unions.setdefault(attribute_name(field.union), []).append(field)
        views = []
        for name, fields in unions.items():
            literal = self.type_imports.use("typing", "Literal")
            names = tuple(attribute_name(field.name) for field in fields)
            pairs = zip(names, map(self.annotation, fields), strict=True)
            types = [f'tuple[{literal}["{each}"], {annotation}]' for each, annotation in pairs]
            quoted = ", ".join(f'"{each}"' for each in names)
            views.append(
                UnionView(
                    name=name,
                    annotation=" | ".join([*types, "None"]),
                    alternatives=names,
                    arguments=f'"{name}", ({quoted})',
                    doc="The alternative that is set, with its name; None where it is one that only newer specs know.",
                )
            )
        return tuple(views)

    def which_types(self, unions: tuple[UnionView, ...]) -> tuple[str, str] | None:
        """Return the types of the parameter and the result of `which`, or None if the struct has no unions."""
        if not unions:
            return None
        literal = self.type_imports.use("typing", "Literal")
        names = ", ".join(repr(union.name) for union in unions)
        alternatives = ", ".join(repr(name) for union in unions for name in union.alternatives)
        return f"{literal}[{names}]", f"{literal}[{alternatives}] | None"

    def keyed(self, struct: StructSpec) -> Iterator[KeyedView]:
        """Yield a view of each method that finds an array's elements by key."""
        taken = {attribute_name(field.name) for field in struct.fields}
        for field in struct.fields:
            if field.type.dimensions != 1 or field.struct is None:
                continue
            keys = map_keys(self.spec.struct(field.struct))
            name = f"{snake_case(field.name)}_by_key"
            if not keys or name in taken or not all(map(is_key_type, keys)):
                continue
            types = [self.annotation(key) + (" | None" if key.nullable_versions else "") for key in keys]
            names = [attribute_name(key.name) for key in keys]
            key_type = types[0] if len(keys) == 1 else f"tuple[{', '.join(types)}]"
            quoted = ", ".join(f'"{each}"' for each in names) + "," * (len(names) == 1)
            mapping = self.type_imports.use("collections.abc", "Mapping")
            yield KeyedView(
                name=name,
                annotation=f"{mapping}[{key_type}, {field.struct}]",
                arguments=f'"{attribute_name(field.name)}", ({quoted})',
                doc=f"`{attribute_name(field.name)}` by {' and '.join(names)}.",
            )

    def deprecated(self, field: FieldSpec) -> str:
        """Return the `deprecated` decorator (PEP 702)."""
        if field.deprecated is None:
            return ""
        decorator = self.type_imports.use("typing_extensions", "deprecated")
        return f"{decorator}({' '.join(field.deprecated.split()) or 'deprecated'!r})"

    def annotation(self, field: FieldSpec, *, outer: int = 0) -> str:
        """Return the type annotation of a field's values. For an array, leave out the `outer` outermost levels."""
        element = self.element(field)
        for _ in range(field.type.dimensions - outer):
            element = f"tuple[{element}, ...]"
        return element

    def element(self, field: FieldSpec) -> str:
        wire = field.type.primitive
        if wire is None:
            name = field.type.name
            return self.shared_structs.use(f"{self.package}.{snake_case(name)}", name) if name in self.shared else name
        if field.enum is not None:
            return self.enum(field.enum) if field.enum.closed else f"{self.enum(field.enum)} | {wire.annotation}"
        module = wire.annotation_module
        return self.imports.use(module, wire.annotation) if module else wire.annotation

    def enum(self, register: RegisterSpec) -> str:
        return self.registers.use(f"{self.package}.{snake_case(register.name)}", register.name)

    def default(self, field: FieldSpec) -> list[str]:
        """Return the arguments that declare a field's default.

        A required field's default is passed as `absent`, because it applies only in versions without the field.
        """
        key = "absent" if field.required else "default"
        if field.default is STRUCT_DEFAULT:
            required = [f"absent={self.imports.use('tagwire.message', 'DEFAULT_STRUCT')}"] if field.required else []
            return required or [f"factory={field.struct}"]
        if isinstance(field.default, UUID):
            arguments, number = [f"{key}={self.imports.use('tagwire.wire', 'DEFAULT_UUID')}"], field.default.int
            return arguments + ([f"number={number if number < 10 else f'0x{number:032x}'}"] if number else [])
        if field.enum is not None and isinstance(field.default, int):
            entry = next((entry for entry in field.enum.entries if entry.key == field.default), None)
            value = repr(field.default) if entry is None else f"{self.enum(field.enum)}.{field.enum.constant(entry)}"
            return [f"{key}={value}"]
        return [f"{key}={literal(field.default)}"]

    def declaration(self, field: FieldSpec) -> str:
        row = field_row(field, None, unique_keys(self.spec, field))
        arguments = [repr(row.spec_name), repr(row.type), repr(str(row.versions)), *self.default(field)]
        if row.nullable:
            arguments.append(f"nullable={str(row.nullable)!r}")
        if row.tag is not None:
            arguments.append(f"tag={row.tag}, tagged={str(row.tagged)!r}")
        arguments += [f"{flag}=True" for flag in ("ignorable", "sensitive") if getattr(row, flag)]
        if row.flexible is not None:
            arguments.append(f"flexible={str(row.flexible)!r}")
        arguments += [f"{key}={getattr(row, key)!r}" for key in ("union", "unique", "semantic") if getattr(row, key)]
        if field.record_formats:
            arguments.append(f"record_formats={tuple((str(each), format) for each, format in row.record_formats)!r}")
        shared = None if field.struct is None else self.spec.struct_versions(field.struct)
        if shared is not None and shared.ranges:
            arguments.append(f"struct_versions={tuple((str(each), number) for each, number in shared.ranges)!r}")
        if field.enum:
            arguments.append(f"enum={self.enum(field.enum)}")
        if field.deprecated is not None:
            arguments.append(f"deprecated={field.deprecated!r}")
        return f"{self.imports.use('tagwire.message', 'field')}({', '.join(arguments)})"


def literal(value: object) -> str:
    """Return a default as a Python expression. For UUIDs, use `uuid_literal`."""
    if isinstance(value, bytes) and len(value) > 4 and not any(value):
        return f"bytes({len(value)})"
    return f'float("{value}")' if isinstance(value, float) and not isfinite(value) else repr(value)


def uuid_literal(value: UUID, cls: str) -> str:
    """Return a UUID as a Python expression. `cls` is the name of the UUID class in the module."""
    return f"{cls}(int={value.int})" if value.int < 10 else f'{cls}("{value}")'
