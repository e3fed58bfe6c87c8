"""The view of a serializer module. A template generates a class for each version, and functions for each struct."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from tagwire.layout import OptionalBuffer, StructLayout, nested_struct
from tagwire.message import Message
from tagwire.message.field_table import layout_of
from tagwire_generator.views.docstrings import StructNames, has_binary
from tagwire_generator.views.expressions import Expressions
from tagwire_generator.views.read_steps import ReadStep, read_steps
from tagwire_generator.views.write_steps import WriteStep, write_steps

__all__ = ["FunctionView", "SerializerModuleView", "VersionView", "serializer_view"]


@dataclass(frozen=True)
class FunctionView:
    """Template data for the functions that read and write a struct. Versions with equal layouts may share functions."""

    name: str
    struct: str
    doc: str
    raw: str
    """A comma and the parameter `raw`, or "" if the struct doesn't contain bytes."""
    read: tuple[ReadStep, ...]
    write: tuple[WriteStep, ...]


@dataclass(frozen=True)
class VersionView:
    """Template data for a version's serializer class. A class with a `base` inherits the base's methods."""

    number: int
    name: str
    base: str
    doc: str
    read: tuple[ReadStep, ...] = ()
    write: tuple[WriteStep, ...] = ()


@dataclass(frozen=True)
class SerializerModuleView:
    """Template data for the module of a message's serializers."""

    source: str
    message: str
    data_class: str
    """The name of the message's data class in this module."""
    imports: list[list[str]]
    constants: list[tuple[str, str]]
    functions: tuple[FunctionView, ...]
    versions: tuple[VersionView, ...]


def serializer_view(
    cls: type[Message], module: str, source: str, shared: Mapping[str, str] | None = None
) -> SerializerModuleView:
    """Return the view of a message's serializer module.

    `module` is the module of the message's data classes. `shared` maps shared structs to their modules.
    """
    serializers = frozenset(f"{cls.NAME}V{version}" for version in cls.VERSIONS)
    names = StructNames(cls.NAME, module, serializers, shared)
    expressions = Expressions(names)
    layouts = {version: layout_of(cls, version).root for version in cls.VERSIONS}
    for version, root in layouts.items():
        for field in root.fields:
            nested = nested_struct(field.type)
            if nested is not None:
                names.add(nested, version)
    functions = tuple(_function(struct, names.name(struct), expressions) for struct, _ in names.functions)
    versions = tuple(_versions(cls.NAME, layouts, expressions))
    data_class = expressions.data_class(cls)
    expressions.use("tagwire.message", "Serializer")
    expressions.use("tagwire.wire", "empty_object")
    expressions.use("typing", "Any")
    return SerializerModuleView(
        source=source,
        message=cls.NAME,
        data_class=data_class,
        imports=expressions.import_groups,
        constants=sorted(expressions.constants.items()),
        functions=functions,
        versions=versions,
    )


def _function(struct: StructLayout, name: str, expressions: Expressions) -> FunctionView:
    expressions.use("collections.abc", "Iterable")
    return FunctionView(
        name=name,
        struct=expressions.data_class(struct.cls),
        doc=_wrapped(_fields_doc(struct)),
        raw="raw: Any, " if has_binary(struct) else "",
        read=read_steps(struct, expressions),
        write=write_steps(struct, expressions),
    )


def _versions(message: str, layouts: dict[int, StructLayout], expressions: Expressions) -> list[VersionView]:
    views: list[VersionView] = []
    bodies: dict[StructLayout, VersionView] = {}
    for number, root in layouts.items():
        same = bodies.get(root)
        name = f"{message}V{number}"
        if same is not None:
            views.append(VersionView(number, name, same.name, f"The same fields and bytes as version {same.number}."))
            continue
        view = VersionView(
            number,
            name,
            "",
            _wrapped(f"Version {number}{_section_doc(root)}: {_fields_doc(root)}"),
            read_steps(root, expressions),
            write_steps(root, expressions),
        )
        views.append(view)
        bodies[root] = view
    return views


def _section_doc(root: StructLayout) -> str:
    if root.section is None:
        return ""
    return ", with optional fields" if isinstance(root.section, OptionalBuffer) else ", flexible"


def _fields_doc(struct: StructLayout) -> str:
    tagged = struct.section.fields if struct.section else ()
    items = [f"{item.name} {item.type}" for item in struct.items]
    tags = [f"tag {item.tag} {item.name} {item.type}" for item in tagged]
    in_wire_order = [*tags, *items] if isinstance(struct.section, OptionalBuffer) else [*items, *tags]
    return f"{', '.join(in_wire_order) or 'no fields'}."


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 110, subsequent_indent="    ", break_long_words=False)
