"""Values and bytes: the wire types and the functions that encode and decode them, independent of layouts.

Generated code imports from this package and from `tagwire.message`: the functions that straight-line serializers
call, and the defaults that data classes share.
"""

from __future__ import annotations

from tagwire.lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tagwire.wire.number_arrays import EMPTY, fixed_array
    from tagwire.wire.optional_fields import OptionalFieldsBuffer
    from tagwire.wire.rules import breaks_union, has_twins
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
    from tagwire.wire.tagged_fields import put_tags, read_tags, tag_header
    from tagwire.wire.types import WIRE_TYPES
    from tagwire.wire.unknown_tags import NO_TAGS, WITHOUT_TAGS
    from tagwire.wire.uuids import DEFAULT_UUID, uuid_or_default
    from tagwire.wire.value_arrays import (
        booleans,
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

_MODULES = {
    "tagwire.wire.number_arrays": (
        "EMPTY",
        "fixed_array",
    ),
    "tagwire.wire.optional_fields": ("OptionalFieldsBuffer",),
    "tagwire.wire.rules": ("breaks_union", "has_twins"),
    "tagwire.wire.scalars": (
        "BOOLEANS",
        "BOOLEAN_BYTES",
        "EMPTIES",
        "UnreadableBytes",
        "UnwritableValue",
        "check_null_length",
        "empty_object",
        "is_subclass",
        "put_binary",
        "put_compact_binary",
        "put_compact_count",
        "put_compact_string",
        "put_count",
        "put_nullable_binary",
        "put_nullable_compact_binary",
        "put_nullable_compact_string",
        "put_nullable_string",
        "put_string",
        "required",
        "string_length",
        "uuid_bytes",
        "uuid_of",
        "uvarint",
    ),
    "tagwire.wire.tagged_fields": (
        "put_tags",
        "read_tags",
        "tag_header",
    ),
    "tagwire.wire.types": ("WIRE_TYPES",),
    "tagwire.wire.unknown_tags": ("NO_TAGS", "WITHOUT_TAGS"),
    "tagwire.wire.uuids": (
        "DEFAULT_UUID",
        "uuid_or_default",
    ),
    "tagwire.wire.value_arrays": (
        "booleans",
        "put_binaries",
        "put_booleans",
        "put_compact_binaries",
        "put_compact_strings",
        "put_each",
        "put_strings",
        "put_uuids",
        "read_arrays",
        "read_binaries",
        "read_compact_arrays",
        "read_compact_binaries",
        "read_compact_strings",
        "read_strings",
        "read_uuids",
    ),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
