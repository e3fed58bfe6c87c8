"""The spec model, which represents what specs mean, independent of their dialect and spelling.

The classes are immutable and validate themselves when they are created, so no invalid object can exist.
"""

from tagwire_generator.model.defaults import STRUCT_DEFAULT, implicit_default
from tagwire_generator.model.field_spec import ENTITY_TYPES, FieldSpec
from tagwire_generator.model.field_type import FieldType
from tagwire_generator.model.message_rules import KINDS
from tagwire_generator.model.message_spec import Fallback, MessageSpec, MessageSummary
from tagwire_generator.model.struct_spec import StructSpec
from tagwire_generator.problems import InvalidSpec

__all__ = [
    "ENTITY_TYPES",
    "KINDS",
    "STRUCT_DEFAULT",
    "Fallback",
    "FieldSpec",
    "FieldType",
    "InvalidSpec",
    "MessageSpec",
    "MessageSummary",
    "StructSpec",
    "implicit_default",
]
