"""What generated message classes are made of, and the first of the two doors that generated code imports through.

Generated data classes take their base classes and field tables from here, generated serializers their base class.
The other door is `tagwire.wire`. Generated code counts on the names in `__all__` of these two packages, and on
`Registry` and `require_level` of `tagwire`; a name that joins them raises `RUNTIME_LEVEL` (`tagwire.message.level`).
"""

from __future__ import annotations

from tagwire.lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tagwire.layout.parts import Bits, Compression, Condition, Order
    from tagwire.layout.structs import DEFAULT_STRUCT, fresh
    from tagwire.message.base import Message, Struct
    from tagwire.message.binding import constructor
    from tagwire.message.enums import EnumType
    from tagwire.message.field_table import FieldRow, OptionalFields
    from tagwire.message.framing_table import Framing
    from tagwire.message.record_format import RecordFormat
    from tagwire.message.register import KeyRange, Register
    from tagwire.message.serializer import Serializer
    from tagwire.versions import NONE, Versions

__all__ = [
    "DEFAULT_STRUCT",
    "NONE",
    "Bits",
    "Compression",
    "Condition",
    "EnumType",
    "FieldRow",
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
    "constructor",
    "fresh",
]

_MODULES = {
    "tagwire.layout.parts": ("Bits", "Compression", "Condition", "Order"),
    "tagwire.layout.structs": ("DEFAULT_STRUCT", "fresh"),
    "tagwire.message.base": ("Message", "Struct"),
    "tagwire.message.binding": ("constructor",),
    "tagwire.message.enums": ("EnumType",),
    "tagwire.message.field_table": ("FieldRow", "OptionalFields"),
    "tagwire.message.framing_table": ("Framing",),
    "tagwire.message.record_format": ("RecordFormat",),
    "tagwire.message.register": ("KeyRange", "Register"),
    "tagwire.message.serializer": ("Serializer",),
    "tagwire.versions": ("NONE", "Versions"),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
