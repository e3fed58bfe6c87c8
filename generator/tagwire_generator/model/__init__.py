"""The spec model: the meaning of a spec, independent of its dialect and spelling.

Immutable classes check themselves when they are built, so an invalid one can't exist. They know versions and wire
types, but no Python names and layouts, which are made from them. This module is the table of contents.
"""

from tagwire_generator.model.defaults import STRUCT_DEFAULT, Default, StructDefault, implicit_default
from tagwire_generator.model.field_spec import ENTITY_TYPES, FieldSpec
from tagwire_generator.model.field_type import FieldType
from tagwire_generator.model.message_rules import KINDS, Kind
from tagwire_generator.model.message_spec import Dialect, Fallback, MessageSpec, MessageSummary
from tagwire_generator.model.struct_spec import StructSpec
from tagwire_generator.model.violations import InvalidSpec, Violation

__all__ = [
    "ENTITY_TYPES",
    "KINDS",
    "STRUCT_DEFAULT",
    "Default",
    "Dialect",
    "Fallback",
    "FieldSpec",
    "FieldType",
    "InvalidSpec",
    "Kind",
    "MessageSpec",
    "MessageSummary",
    "StructDefault",
    "StructSpec",
    "Violation",
    "implicit_default",
]
