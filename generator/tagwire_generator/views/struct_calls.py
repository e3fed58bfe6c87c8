"""Describe two kinds of data class methods for templates: union properties, and methods that find elements by key."""

from collections.abc import Callable
from dataclasses import dataclass

from tagwire_generator.model import FieldSpec, MessageSpec, StructSpec
from tagwire_generator.model.defaults import is_key_type, map_keys
from tagwire_generator.model.spec_names import attribute_name, snake_case
from tagwire_generator.views.imports import ModuleImports

Annotate = Callable[[FieldSpec], str]
"""A function that returns the type annotation of a field. The annotation never includes None."""


@dataclass(frozen=True)
class UnionView:
    """Template data for a union's property, which returns the name and the value of the alternative that is set."""

    name: str
    annotation: str
    alternatives: tuple[str, ...]
    """The names of the union's attributes. At most one of them may be set."""
    arguments: str
    """The names of the union and of its alternatives, as Python code."""
    doc: str


@dataclass(frozen=True)
class KeyedView:
    """Template data for a method that finds an array element by its key."""

    name: str
    annotation: str
    arguments: str
    """The names of the array and of its elements' key attributes, as Python code."""
    doc: str


def union_views(struct: StructSpec, annotate: Annotate, type_imports: ModuleImports) -> tuple[UnionView, ...]:
    """Return a UnionView for each union of a struct, ordered by their first alternatives."""
    unions: dict[str, list[FieldSpec]] = {}
    for field in struct.fields:
        if field.union:
            unions.setdefault(attribute_name(field.union), []).append(field)
    views = []
    for name, fields in unions.items():
        literal = type_imports.use("typing", "Literal")
        names = tuple(attribute_name(field.name) for field in fields)
        pairs = [f'tuple[{literal}["{each}"], {annotate(field)}]' for each, field in zip(names, fields, strict=True)]
        quoted = ", ".join(f'"{each}"' for each in names)
        views.append(
            UnionView(
                name=name,
                annotation=" | ".join([*pairs, "None"]),
                alternatives=names,
                arguments=f'"{name}", ({quoted})',
                doc="The alternative that is set, with its name; None where it is one that only newer specs know.",
            )
        )
    return tuple(views)


def which_types(unions: tuple[UnionView, ...], type_imports: ModuleImports) -> tuple[str, str] | None:
    """Return the parameter type and the result type of the generated method `which`, or None if there are no unions."""
    if not unions:
        return None
    literal = type_imports.use("typing", "Literal")
    alternatives = [name for union in unions for name in union.alternatives]
    return (
        f"{literal}[{', '.join(repr(union.name) for union in unions)}]",
        f"{literal}[{', '.join(map(repr, alternatives))}] | None",
    )


def keyed_views(
    spec: MessageSpec, struct: StructSpec, annotate: Annotate, imports: ModuleImports
) -> tuple[KeyedView, ...]:
    """Return a KeyedView for each array of the struct whose elements can be found by key."""
    taken = {attribute_name(field.name) for field in struct.fields}
    views = []
    for field in struct.fields:
        if field.type.dimensions != 1 or field.struct is None:
            continue
        keys = map_keys(spec.struct(field.struct))
        name = f"{snake_case(field.name)}_by_key"
        if not keys or name in taken or not all(map(is_key_type, keys)):
            continue
        types = [annotate(key) + (" | None" if key.nullable_versions else "") for key in keys]
        names = [attribute_name(key.name) for key in keys]
        key_type = types[0] if len(keys) == 1 else f"tuple[{', '.join(types)}]"
        quoted = ", ".join(f'"{each}"' for each in names) + "," * (len(names) == 1)
        views.append(
            KeyedView(
                name=name,
                annotation=f"{imports.use('collections.abc', 'Mapping')}[{key_type}, {field.struct}]",
                arguments=f'"{attribute_name(field.name)}", ({quoted})',
                doc=f"`{attribute_name(field.name)}` by {' and '.join(names)}.",
            )
        )
    return tuple(views)


def named_type(field: FieldSpec) -> str:
    """Return a field's type. If the field has a semantic type or an enum, its name follows after a space."""
    meaning = field.meaning or (field.enum.name if field.enum is not None else "")
    return f"{field.type} {meaning}".rstrip()


def value_facts(field: FieldSpec) -> list[str]:
    """Return notes about a field's values for its docstring, such as `required`."""
    facts = ["required"] if field.required else []
    if field.union:
        facts.append(f"an alternative of {attribute_name(field.union)}")
    return [*facts, "unique by key"] if field.unique else facts
