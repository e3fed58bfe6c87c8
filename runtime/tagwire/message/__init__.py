"""The building blocks of generated message classes.

Generated code relies on the names in `__all__` of this package and of `tagwire.wire`, and on `Registry` and
`require_level` of `tagwire`. The runtime level is a version number for this set of names: if you change the set, raise
`RUNTIME_LEVEL` by one. A generated package contains the level of the runtime for which it was generated. If the
installed runtime has an incompatible level, importing the package raises an error.
"""

from __future__ import annotations

from tagwire.errors import TagwireError
from tagwire.lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tagwire.layout.parts import Bits, Compression, Condition, Order
    from tagwire.layout.structs import DEFAULT_STRUCT, fresh
    from tagwire.message.base import Message
    from tagwire.message.declarations import Array, ArrayOrNone, computed_field, data_class, field
    from tagwire.message.field_table import OptionalFields
    from tagwire.message.record_format import FormatStruct, Framing, RecordFormat
    from tagwire.message.register import EnumType, KeyRange, Register
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
    "tagwire.message.base": ("Message",),
    "tagwire.message.struct_class": ("Struct",),
    "tagwire.message.declarations": ("Array", "ArrayOrNone", "computed_field", "data_class", "field"),
    "tagwire.message.field_table": ("OptionalFields",),
    "tagwire.message.record_format": ("FormatStruct", "Framing", "RecordFormat"),
    "tagwire.message.register": ("EnumType", "KeyRange", "Register"),
    "tagwire.message.serializer": ("Serializer",),
    "tagwire.versions": ("NONE", "Versions"),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)

RUNTIME_LEVEL = 2
"""The level of this runtime."""
OLDEST_LEVEL = 2
"""The lowest runtime level for which a package may be generated. Older packages use names that were removed."""


class RuntimeLevelError(TagwireError, ImportError):
    """Raised when a generated package needs another version of the runtime."""


def require_level(level: int, package: str) -> None:
    """Raise RuntimeLevelError if the level of this runtime is too low or too high for `package`."""
    if OLDEST_LEVEL <= level <= RUNTIME_LEVEL:
        return
    remedy = f"generate {package} with the installed version"
    if level > RUNTIME_LEVEL:
        remedy = f"upgrade tagwire, or {remedy}"
    found = f"{package} was generated for runtime level {level}, but the installed tagwire has level {RUNTIME_LEVEL}"
    raise RuntimeLevelError(f"{found}; {remedy}")
