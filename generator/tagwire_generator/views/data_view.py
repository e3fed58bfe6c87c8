"""The view of a data-class module: every string that its template prints.

Part of the stable interface for users' templates (docs/templates.md).
"""

import textwrap
from collections.abc import Collection
from dataclasses import dataclass
from math import isfinite
from uuid import UUID

from tagwire.layout import Array, Nested, OptionalBuffer, StructLayout
from tagwire.message import Message
from tagwire.message.field_table import layout_of
from tagwire.versions import Versions
from tagwire_generator.expansion.message_classes import field_row, optional_fields, unique_keys
from tagwire_generator.model import STRUCT_DEFAULT, FieldSpec, MessageSpec, StructSpec
from tagwire_generator.model.carried_formats import record_format_of
from tagwire_generator.model.python_names import attribute_name, snake_case
from tagwire_generator.model.register_spec import RegisterSpec
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.spec_files import HEADER_NAMES
from tagwire_generator.views.docstrings import class_doc, field_doc, message_doc, struct_doc
from tagwire_generator.views.imports import Imports
from tagwire_generator.views.struct_calls import (
    KeyedView,
    UnionView,
    keyed_views,
    union_views,
    which_types,
)

__all__ = ["DataModuleView", "DataViews", "FieldView", "StructView", "data_view", "literal", "uuid_literal"]


@dataclass(frozen=True)
class FieldView:
    """A field of a data class."""

    name: str
    annotation: str
    """The attribute's type."""
    parameter: str
    """The parameter of `__init__`, with its type and default."""
    stored: str
    """What `__init__` stores, an expression of the parameter."""
    doc: str
    """The attribute's docstring: wire type, versions, and what else is to know."""
    row: str
    """The field's row in the versioned field table, a call of FieldRow."""
    deprecated: str = ""
    """Why the field will go, as a literal; "" if it will not."""


@dataclass(frozen=True)
class StructView:
    """A data class."""

    name: str
    base: str
    """What it extends; of requests and responses with the class of their header, where the package has one."""
    doc: str
    fields: tuple[FieldView, ...]
    constants: tuple[tuple[str, str], ...]
    """Class attributes of a message: name, expression."""
    unions: tuple[UnionView, ...]
    """Properties that give the one alternative of a union."""
    which: tuple[str, str] | None
    """The types of the names of its unions, and of those of their alternatives; None where it has no union."""
    keyed: tuple[KeyedView, ...]
    """Methods that give the elements of an array by their keys."""


@dataclass(frozen=True)
class DataModuleView:
    """The module of a message's data classes."""

    source: str
    """How the first line names the spec."""
    doc: str
    imports: list[list[str]]
    type_imports: list[str]
    """Import statements for type checkers alone: what would be slow to import, and is needed by annotations only."""
    names: tuple[str, ...]
    structs: tuple[StructView, ...]
    """Each after those that it refers to; the message is the last."""
    constructor: str
    """The decorator of each `__init__`."""
    unknown_tags: str
    """The type of `unknown_tags`."""


def data_view(
    spec: MessageSpec,
    cls: type[Message],
    options: SpecOptions,
    source: str,
    package: str = "",
    headers: Collection[str] = (),
) -> DataModuleView:
    """The view of `spec`'s data-class module.

    `package` has the registers and shared structs that its fields have, and the headers of these names.
    """
    return DataViews(spec, options, package, headers).module(cls, source)


class DataViews:
    """Makes the views of one module, and gathers what it imports."""

    def __init__(
        self, spec: MessageSpec, options: SpecOptions, package: str = "", headers: Collection[str] = ()
    ) -> None:
        self.spec = spec
        self.options = options
        self.package = package
        self.headers = headers
        self.shared = [each.name for each in spec.imports if each.is_direct]
        taken = [*(struct.name for struct in (*spec.own_structs, spec.root)), *self.shared]
        self.imports = Imports(taken)
        self.type_imports = Imports(taken)
        self.registers = Imports(taken)

    def module(self, cls: type[Message], source: str) -> DataModuleView:
        """The view of the module."""
        structs = tuple(self.struct(struct) for struct in (*self.spec.own_structs, self.spec.root))
        unknown_tags = f"{self.imports.use('collections.abc', 'Mapping')}[int, bytes]"
        self.imports.use("tagwire.wire", "NO_TAGS")
        constructor = self.imports.use("tagwire.message", "constructor")
        return DataModuleView(
            source=source,
            doc=_history(self.spec, cls),
            imports=self._import_lines(),
            type_imports=[line for group in self.type_imports.groups for line in group],
            names=tuple(sorted(struct.name for struct in structs)),
            structs=structs,
            constructor=constructor,
            unknown_tags=unknown_tags,
        )

    def _import_lines(self) -> list[list[str]]:
        """The imports, those of shared structs behind all others."""
        shared = [f"from {self.package}.{snake_case(name)} import {name}" for name in sorted(self.shared)]
        return [*self.imports.groups, *self.registers.groups, *([shared] if shared else [])]

    def struct(self, struct: StructSpec) -> StructView:
        root = struct is self.spec.root and self.spec.kind != "struct"
        return StructView(
            name=struct.name,
            base=self.message_base() if root else self.imports.use("tagwire.message", "Struct"),
            doc=class_doc(self.spec) if struct is self.spec.root else struct_doc(self.spec, struct),
            fields=tuple(map(self.field, struct.fields)),
            unions=(unions := union_views(struct, self.annotation, self.type_imports)),
            which=which_types(unions, self.type_imports),
            keyed=keyed_views(self.spec, struct, self.annotation, self.imports),
            constants=tuple(self.constants()) if root else (),
        )

    def message_base(self) -> str:
        base, header = self.imports.use("tagwire.message", "Message"), HEADER_NAMES.get(self.spec.kind, "")
        if header not in self.headers:
            return base
        # As a text, since only type checkers import the header.
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
        optional = optional_fields(spec, self.options)
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
        name = attribute_name(field.name)
        optional = " | None" if field.nullable_versions or field.default is None else ""
        annotation = self.annotation(field)
        parameter, stored = annotation, name
        if field.type.is_array:
            iterable = self.imports.use("collections.abc", "Iterable")
            parameter = f"{iterable}[{self.annotation(field, outer=1)}]"
            stored = f"None if {name} is None else tuple({name})" if optional else f"tuple({name})"
        default = self.default(field)
        if field.default is STRUCT_DEFAULT and not field.required:
            stored = f"{field.struct}() if {name} is {default} else {name}"
        if isinstance(field.default, UUID) and not field.required:
            stored = f"{self.imports.use('tagwire.wire', 'uuid_or_default')}({name}, {_number(field.default)})"
        return FieldView(
            name=name,
            annotation=annotation + optional,
            parameter=f"{name}: {parameter}{optional}" + ("" if field.required else f" = {default}"),
            stored=stored,
            doc=field_doc(field),
            row=self.row(field, default),
            deprecated=self.deprecated(field),
        )

    def deprecated(self, field: FieldSpec) -> str:
        """The reason for type checkers, who know the decorator of PEP 702 without any package at run time."""
        if field.deprecated is None:
            return ""
        self.type_imports.use("typing_extensions", "deprecated")
        return repr(" ".join(field.deprecated.split()) or "deprecated")

    def annotation(self, field: FieldSpec, *, outer: int = 0) -> str:
        """The type of the values, or of those within so many arrays."""
        element = self.element(field)
        for _ in range(field.type.dimensions - outer):
            element = f"tuple[{element}, ...]"
        return element

    def element(self, field: FieldSpec) -> str:
        wire = field.type.primitive
        if wire is None:
            return field.type.name
        if field.enum is not None:
            return self.enum(field.enum) if field.enum.closed else f"{self.enum(field.enum)} | {wire.annotation}"
        module = wire.annotation_module
        return self.type_imports.use(module, wire.annotation) if module else wire.annotation

    def enum(self, register: RegisterSpec) -> str:
        return self.registers.use(f"{self.package}.{snake_case(register.name)}", register.name)

    def default(self, field: FieldSpec) -> str:
        if field.enum is not None and isinstance(field.default, int):
            entry = next((entry for entry in field.enum.entries if entry.key == field.default), None)
            return repr(field.default) if entry is None else f"{self.enum(field.enum)}.{field.enum.constant(entry)}"
        if field.default is STRUCT_DEFAULT:
            return self.imports.use("tagwire.message", "DEFAULT_STRUCT")
        if isinstance(field.default, UUID):
            return self.imports.use("tagwire.wire", "DEFAULT_UUID")
        return literal(field.default)

    def struct_words(self, name: str) -> list[str]:
        """The words of a row about the struct of its field."""
        shared = self.spec.struct_versions(name)
        ranges = () if shared is None else tuple((str(each), number) for each, number in shared.ranges)
        return [f"struct={name}", *([f"struct_versions={ranges!r}"] if ranges else [])]

    def row(self, field: FieldSpec, default: str) -> str:
        row = field_row(field, None, unique_keys(self.spec, field))
        if isinstance(field.default, UUID):
            default = _number(field.default)
        words = [repr(row.name), repr(row.spec_name), repr(row.type), repr(str(row.versions))]
        if default != "()":
            words.append(f"default={default}")
        if row.nullable:
            words.append(f"nullable={str(row.nullable)!r}")
        if row.tag is not None:
            words.append(f"tag={row.tag}, tagged={str(row.tagged)!r}")
        words += [f"{flag}=True" for flag in ("ignorable", "sensitive", "required") if getattr(row, flag)]
        if row.union:
            words.append(f"union={row.union!r}")
        if row.unique:
            words.append(f"unique={row.unique!r}")
        if row.flexible is not None:
            words.append(f"flexible={str(row.flexible)!r}")
        if row.semantic:
            words.append(f"semantic={row.semantic!r}")
        if field.record_formats:
            words.append(f"record_formats={tuple((str(each), format) for each, format in row.record_formats)!r}")
        if field.struct:
            words += self.struct_words(field.struct)
        if field.enum:
            words.append(f"enum={self.enum(field.enum)}")
        texts = (("about", self.spec.about_of(field) or None), ("deprecated", field.deprecated))
        words += [f"{key}={text!r}" for key, text in texts if text is not None]
        return f"{self.imports.use('tagwire.message', 'FieldRow')}({', '.join(words)})"


def literal(value: object) -> str:
    """A default other than a UUID as a Python expression."""
    if isinstance(value, bytes) and len(value) > 4 and not any(value):
        return f"bytes({len(value)})"
    return f'float("{value}")' if isinstance(value, float) and not isfinite(value) else repr(value)


def _number(value: UUID) -> str:
    """A UUID's number as an expression."""
    return str(value.int) if value.int < 10 else f"0x{value.int:032x}"


def uuid_literal(value: UUID, cls: str) -> str:
    """A UUID as an expression; `cls` is what the module calls the class."""
    return f"{cls}(int={value.int})" if value.int < 10 else f'{cls}("{value}")'


def _history(spec: MessageSpec, cls: type[Message]) -> str:
    """What each version changed of the one before, a line a version; what the first has, its fields say."""
    lines = [message_doc(spec), ""]
    first, *later = (layout_of(cls, version).root for version in spec.valid_versions)
    before, shape = dict(_paths(first, "")), _shape(first)
    for version, root in zip(list(spec.valid_versions)[1:], later, strict=True):
        now = dict(_paths(root, ""))
        changed = [f"{path} is now {now[path]}" for path in now if before.get(path, now[path]) != now[path]]
        if _shape(root) != shape:
            shape = _shape(root)
            changed.insert(0, shape)
        changed += _new_formats(spec, version)
        added = [path for path in now if path not in before]
        dropped = [path for path in before if path not in now]
        lines.append(_version_line(version, added, dropped, changed))
        before = now
    return "\n".join(lines if later else lines[:1])


def _shape(root: StructLayout) -> str:
    if root.section is None:
        return ""
    return "optional fields" if isinstance(root.section, OptionalBuffer) else "flexible"


def _new_formats(spec: MessageSpec, version: int) -> list[str]:
    """The fields whose records are of another format than in the version before."""
    found = []
    for field in (field for struct in (spec.root, *spec.structs) for field in struct.fields):
        before, now = (record_format_of(field.record_formats, each) for each in (version - 1, version))
        if now and now != before:
            found.append(f"{attribute_name(field.name)} of format {now}")
    return found


def _version_line(version: int, added: list[str], dropped: list[str], changed: list[str]) -> str:
    facts = [f"adds {', '.join(added)}"] if added else []
    if dropped:
        facts.append(f"drops {', '.join(dropped)}")
    facts += changed
    text = f"Version {version}: {'; '.join(facts) or 'the same fields'}"
    return textwrap.fill(text, 80, subsequent_indent="    ", break_long_words=False)


def _paths(struct: StructLayout, prefix: str) -> list[tuple[str, str]]:
    """Field paths and what matters of their types: nullability, tagged or not."""
    found = []
    for field in struct.fields:
        kind = field.type
        dimensions = 0
        nested = kind
        while isinstance(nested, Array):
            nested, dimensions = nested.element, dimensions + 1
        path = f"{prefix}{field.name}{'[]' * dimensions}"
        nullable = "nullable" if getattr(kind, "nullable", False) else "not nullable"
        found.append((path, nullable + (f", tag {field.tag}" if field.tag is not None else "")))
        if isinstance(nested, Nested):
            found += _paths(nested.struct, f"{path}.")
    return found
