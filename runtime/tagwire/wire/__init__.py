"""Wire types, and the functions that encode and decode their values. This package does not depend on layouts.

Generated code imports from this package and from `tagwire.message`.
"""

from __future__ import annotations

from tagwire.lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tagwire.wire.arrays import (
        EMPTY,
        booleans,
        fixed_array,
        has_twins,
        put_binaries,
        put_booleans,
        put_compact_binaries,
        put_compact_strings,
        put_each,
        put_strings,
        put_uuids,
        read_arrays,
        read_binaries,
        read_compact_arrays,
        read_compact_binaries,
        read_compact_strings,
        read_strings,
        read_uuids,
    )
    from tagwire.wire.scalars import (
        BOOLEAN_BYTES,
        BOOLEANS,
        EMPTIES,
        UnreadableBytes,
        UnwritableValue,
        check_null_length,
        empty_object,
        is_subclass,
        put_binary,
        put_compact_binary,
        put_compact_count,
        put_compact_string,
        put_count,
        put_nullable_binary,
        put_nullable_compact_binary,
        put_nullable_compact_string,
        put_nullable_string,
        put_string,
        required,
        string_length,
        uuid_bytes,
        uuid_of,
        uvarint,
    )
    from tagwire.wire.tagged_fields import OptionalFieldsBuffer, breaks_union, put_tags, read_tags, tag_header
    from tagwire.wire.types import WIRE_TYPES
    from tagwire.wire.unknown_tags import NO_TAGS, WITHOUT_TAGS
    from tagwire.wire.uuids import DEFAULT_UUID, uuid_or_default

__all__ = [
    "BOOLEANS",
    "BOOLEAN_BYTES",
    "DEFAULT_UUID",
    "EMPTIES",
    "EMPTY",
    "NO_TAGS",
    "WIRE_TYPES",
    "WITHOUT_TAGS",
    "OptionalFieldsBuffer",
    "UnreadableBytes",
    "UnwritableValue",
    "booleans",
    "breaks_union",
    "check_null_length",
    "empty_object",
    "fixed_array",
    "has_twins",
    "is_subclass",
    "put_binaries",
    "put_binary",
    "put_booleans",
    "put_compact_binaries",
    "put_compact_binary",
    "put_compact_count",
    "put_compact_string",
    "put_compact_strings",
    "put_count",
    "put_each",
    "put_nullable_binary",
    "put_nullable_compact_binary",
    "put_nullable_compact_string",
    "put_nullable_string",
    "put_string",
    "put_strings",
    "put_tags",
    "put_uuids",
    "read_arrays",
    "read_binaries",
    "read_compact_arrays",
    "read_compact_binaries",
    "read_compact_strings",
    "read_strings",
    "read_tags",
    "read_uuids",
    "required",
    "string_length",
    "tag_header",
    "uuid_bytes",
    "uuid_of",
    "uuid_or_default",
    "uvarint",
]

_MODULES = ("unknown_tags", "uuids", "types", "scalars", "tagged_fields", "arrays")
"""The modules that define the names, those that load fastest first."""

__getattr__, __dir__ = lazy_names(__name__, {f"{__name__}.{module}": tuple(__all__) for module in _MODULES})
