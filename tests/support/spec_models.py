"""Build fields, structs and messages of the spec model, with defaults for what a test does not need."""

from typing import Any

from tagwire.versions import HIGHEST, Versions
from tagwire_generator.model import FieldSpec, FieldType, MessageSpec, StructSpec

ALL = Versions(0, HIGHEST)


def field(name: str = "A", type: str = "int8", versions: Versions = ALL, **more: Any) -> FieldSpec:
    return FieldSpec(name=name, type=FieldType.parse(type), versions=versions, **more)


def struct(name: str, *fields: FieldSpec, **more: Any) -> StructSpec:
    return StructSpec(name=name, versions=ALL, fields=fields, **more)


def message(*fields: FieldSpec, **more: Any) -> MessageSpec:
    keys: dict[str, Any] = {
        "name": "Sample",
        "kind": "data",
        "valid_versions": Versions(0, 3),
        "flexible_versions": ALL,
        **more,
    }
    return MessageSpec(fields=fields, **keys)
