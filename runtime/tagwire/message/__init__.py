"""The building blocks of generated message classes.

Generated code relies on the names in `__all__` of this package and of `tagwire.wire`, and on `Registry` and
`require_level` of `tagwire`. If you add a name, raise `RUNTIME_LEVEL` (`tagwire.message.level`).
"""

from __future__ import annotations

from tagwire.lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tagwire.layout.parts import Bits, Compression, Condition, Order
    from tagwire.layout.structs import DEFAULT_STRUCT, fresh
    from tagwire.message.array_types import Array, ArrayOrNone
    from tagwire.message.base import Message
    from tagwire.message.declarations import computed_field, data_class, field
    from tagwire.message.enums import EnumType
    from tagwire.message.field_table import OptionalFields
    from tagwire.message.framing_table import Framing
    from tagwire.message.record_format import FormatStruct, RecordFormat
    from tagwire.message.register import KeyRange, Register
    from tagwire.message.serializer import Serializer
    from tagwire.message.struct_class import Struct
    from tagwire.versions import NONE, Versions

__all__ = [
    "DEFAULT_STRUCT",
    "NONE",
    "Array",
    "ArrayOrNone",
    "Bits",
    "Compression",
    "Condition",
    "EnumType",
    "FormatStruct",
    "Framing",
    "KeyRange",
    "Message",
    "OptionalFields",
    "Order",
    "RecordFormat",
    "Register",
    "Serializer",
    "Struct",
    "Versions",
    "computed_field",
    "data_class",
    "field",
    "fresh",
]

_MODULES = {
    "tagwire.layout.parts": ("Bits", "Compression", "Condition", "Order"),
    "tagwire.layout.structs": ("DEFAULT_STRUCT", "fresh"),
    "tagwire.message.array_types": ("Array", "ArrayOrNone"),
    "tagwire.message.base": ("Message",),
    "tagwire.message.struct_class": ("Struct",),
    "tagwire.message.declarations": ("computed_field", "data_class", "field"),
    "tagwire.message.enums": ("EnumType",),
    "tagwire.message.field_table": ("OptionalFields",),
    "tagwire.message.framing_table": ("Framing",),
    "tagwire.message.record_format": ("FormatStruct", "RecordFormat"),
    "tagwire.message.register": ("KeyRange", "Register"),
    "tagwire.message.serializer": ("Serializer",),
    "tagwire.versions": ("NONE", "Versions"),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
