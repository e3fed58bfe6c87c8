"""Messages as JSON values: Kafka's own JSON form, and a lossless one.

Kafka's form is the output of its generated JSON converters. A struct is an object, whose keys are the spec's names with
a lower-case first letter. It has the fields of the version, but tagged fields only if they differ from the default. A
uuid is 22 characters of URL-safe base64, bytes are standard base64, NaN and infinities are strings. The lossless style
keeps what Kafka's form loses: records are base64 (Kafka prints ""), unknown tagged fields are under `_unknownTags`, and
a NaN other than the usual one keeps its bits (`NaN:7ff8000000000001`).

With the native engine, C code converts in both directions (`_native/engine/json.pxi`), but leaves rare and invalid
values to this module.

Reading accepts fields of other versions, so it uses the classes' `FIELDS` and not the layout. If such a field has a
value that the version can't represent, encoding fails.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar
from uuid import UUID

from tagwire.errors import EncodeError, UnsupportedVersionError
from tagwire.interpreter.cursor import dotted
from tagwire.interpreter.value_walk import Keys, differs, key_text
from tagwire.message.engines import native_engine
from tagwire.message.field_table import FieldRow, keys_in_version, layout_of
from tagwire.message.json_text import is_lossless_style
from tagwire.message.struct_class import Struct, made_of
from tagwire.sensitive import HIDDEN, hides, without_frames
from tagwire.text_format import got, shown, suggestion, whole_number
from tagwire.wire.types import WIRE_TYPES, WireType
from tagwire.wire.unknown_tags import NO_TAGS
from tagwire.wire.varint import UVARINT_MAX
from tagwire.wire.wire_type import Unfit

if TYPE_CHECKING:
    from tagwire.message.base import Message

M = TypeVar("M", bound="Message")

UNKNOWN_TAGS: Final = "_unknownTags"
_KINDS: Final = (
    (int, "int64"),
    ((bytes, bytearray, memoryview), "bytes"),
    (float, "float64"),
    (UUID, "uuid"),
)


def to_json(message: "Message", version: int, style: str = "lossless") -> dict[str, Any]:
    """Return the JSON form of `message` in a version; `style` is "lossless" or "kafka".

    Raises EncodeError for a value that the version can't represent, and UnsupportedVersionError for an unknown version.
    """
    layout = layout_of(type(message), version)
    is_lossless = is_lossless_style(style, layout)
    native = native_engine()
    if native is not None:
        members: dict[str, Any] | None = native.to_json(message, version, is_lossless)
        if members is not None:
            return members
    from tagwire.interpreter.writer import encoded_size

    encoded_size(layout, message)  # raises EncodeError for invalid values, so `_Writer` needs no checks
    return _Writer(is_lossless=is_lossless).struct(type(message), message, layout.version)


def field_to_json(row: FieldRow, value: Any, version: int | None) -> Any:
    """Return the value of a field, or of elements of an array, in lossless JSON with all tagged fields.

    `version` is the version of the struct that has the field.
    """
    return _Writer(all_fields=True).value(_kind(row), value, row.struct_version(version))


class _Writer:
    """Converts values to JSON. With `all_fields`, objects also have the tagged fields that are at their defaults."""

    def __init__(self, *, is_lossless: bool = True, all_fields: bool = False) -> None:
        self.is_lossless = is_lossless
        self.all_fields = all_fields
        self.fields: dict[tuple[type[Struct], int | None], list[tuple[Any, ...]]] = {}

    def struct(self, cls: type[Struct], value: Any, version: int | None) -> dict[str, Any]:
        fields = self.fields.get((cls, version))
        if fields is None:
            fields = self.fields[cls, version] = [
                (
                    row,
                    row.json_name,
                    _kind(row),
                    row.struct_version(version),
                    self.all_fields or version not in row.tagged,
                )
                for row in cls.FIELDS
                if version in row.versions
            ]
        out: dict[str, Any] = {}
        for row, json_name, kind, inner, is_needed in fields:
            field = getattr(value, row.name)
            if is_needed or differs(field, row.fresh_value()):
                out[json_name] = self.value(kind, field, inner)
        if self.is_lossless and value.unknown_tags:
            out[UNKNOWN_TAGS] = json_tags(value.unknown_tags)
        return out

    def value(self, kind: WireType | type[Struct], value: Any, version: int | None) -> Any:
        if value is None:
            return None
        if isinstance(value, tuple | list):
            return [self.value(kind, element, version) for element in value]
        if isinstance(kind, type):
            return self.struct(kind, value, version)
        if kind.name == "records" and not self.is_lossless:
            return ""
        return kind.to_json(value, is_lossless=self.is_lossless)


def _kind(row: FieldRow) -> WireType | type[Struct]:
    """Return the wire type of the field's values or array elements, or their class if they are structs."""
    return row.wire if row.struct is None else row.struct


def hidden_json(struct: Struct, members: dict[str, Any]) -> dict[str, Any]:
    """Replace the sensitive values in `members`, a struct's JSON form, with HIDDEN. Modifies and returns `members`."""
    for row in struct.FIELDS:
        value = getattr(struct, row.name)
        if row.json_name not in members or value is None:
            continue
        if row.sensitive:
            members[row.json_name] = HIDDEN
        elif isinstance(value, Struct):
            hidden_json(value, members[row.json_name])
        elif row.struct is not None:
            for element, inner in zip(value, members[row.json_name], strict=True):
                hidden_json(element, inner)
    return members


def json_value(value: Any) -> Any:
    """Convert a primitive value to lossless JSON: a bool, int, string or None."""
    if value is None or isinstance(value, bool | str):
        return value
    name = next((name for kinds, name in _KINDS if isinstance(value, kinds)), "")
    return WIRE_TYPES[name].to_json(value) if name else str(value)


def json_tags(tags: Mapping[int, bytes]) -> dict[str, str]:
    """Return unknown tagged fields as JSON: a dict from tags to base64 strings, in tag order."""
    return {str(tag): json_value(data) for tag, data in sorted(tags.items())}


def from_json(cls: type[M], obj: Any, version: int) -> M:
    """Make a message of the given version from JSON in either style.

    All untagged fields of the version are required; fields of other versions are accepted. Raises EncodeError, with the
    field's path, for invalid values, and UnsupportedVersionError for an unknown version.
    """
    if version not in cls.VERSIONS:
        raise UnsupportedVersionError(cls.NAME, version, cls.VERSIONS)
    native = native_engine()
    if native is not None:
        found: M | None = native.from_json(cls, obj, version)
        if found is not None:
            return found
    return _read(cls, obj, int(version))


def partial_from_json(cls: type[M], obj: Any) -> M:
    """Make a message from JSON that may contain fields of any version. Missing fields get their defaults.

    The message may have values that no version can represent; `encode` detects them. Raises EncodeError, with the
    field's path, for invalid values.
    """
    return _read(cls, obj, None)


@without_frames
def _read(cls: type[M], obj: Any, version: int | None) -> M:
    message: M = _Reader(cls.NAME, version).struct(cls, obj, version)
    return message


@without_frames
def field_from_json(
    message: "type[Message]", path: str, row: FieldRow, value: Any, version: int | None, *, holder: int | None
) -> Any:
    """Parse the JSON value of one field, or of an array element if the path ends in [] (or in [][], and so on).

    `version` is the version of the message, `holder` the version of the struct that contains the field; both may be
    None. Raises EncodeError for an invalid value.
    """
    reader = _Reader(message.NAME, version)
    reader.path.append(path)
    holder = holder if holder in row.versions else None
    if path.endswith("[]"):
        return reader.value(row, row.type[len(path) - len(path.rstrip("[]")) :], value, holder)
    return reader.field(row, value, holder)


def no_field(cls: type[Struct], key: object, shown_key: str) -> str:
    """Return the error message for a JSON key that `cls` doesn't have."""
    case = " JSON keys are in camelCase" if any(key == row.name for row in cls.FIELDS) else ""
    return f"{cls.__name__} has no field {shown_key}; {suggestion(key, [row.json_name for row in cls.FIELDS])}{case}"


def _has_sensitive(struct: type[Struct]) -> bool:
    return any(row.sensitive or (row.struct is not None and _has_sensitive(row.struct)) for row in struct.FIELDS)


class _Reader:
    def __init__(self, message_name: str, version: int | None) -> None:
        self.message_name = message_name
        self.version = version
        self.path: list[str | int] = []
        self.is_hidden = False

    def shown(self, value: Any) -> str:
        """Shorten a value for an error message, or return a placeholder for a sensitive value."""
        return HIDDEN if self.is_hidden else shown(value)

    def got(self, value: Any, struct: type[Struct] | None = None) -> str:
        """Describe a value of the wrong type.

        The value is hidden if a struct with sensitive fields was expected.
        """
        return HIDDEN if self.is_hidden or (hides() and struct and _has_sensitive(struct)) else got(value)

    def fail(self, reason: str) -> NoReturn:
        raise EncodeError(reason, message_name=self.message_name, version=self.version, path=dotted(self.path))

    def struct(self, cls: type[Struct], obj: Any, version: int | None) -> Any:
        if not isinstance(obj, Mapping):
            self.fail(f"expected a JSON object, got {self.got(obj, cls)}")
        keys = {row.json_name: row for row in cls.FIELDS}
        for key in obj:
            if key not in keys and key != UNKNOWN_TAGS:
                self.fail(no_field(cls, key, self.shown(key)))
        fields: dict[str, Any] = {}
        for key, row in keys.items():
            holder = version if version in row.versions else None
            self.path.append(row.name)
            if key in obj:
                fields[row.name] = self.field(row, obj[key], holder)
            elif holder is not None and holder not in row.tagged:
                needed = [
                    f"{name} ({row.type})"
                    for name, row in keys.items()
                    if version in row.versions and version not in row.tagged
                ]
                self.fail(
                    f"the key {key!r} is missing; in this version, {cls.__name__} requires the keys {', '.join(needed)}"
                )
            self.path.pop()
        tags = self.unknown_tags(obj.get(UNKNOWN_TAGS))
        if version is not None:
            self.unions(cls, fields, tags, version)
        return made_of(cls, {**fields, "unknown_tags": tags})

    def unions(self, cls: type[Struct], fields: dict[str, Any], tags: Mapping[int, bytes], version: int) -> None:
        """Raise EncodeError unless exactly one alternative of each union is set.

        A union may be empty if it has no alternatives in this version, or if there are unknown tags, because one of
        them may be a newer alternative.
        """
        for union, names in cls._unions.items():  # pyright: ignore[reportPrivateUsage]
            present = [name for name in names if fields.get(name) is not None]
            if len(present) > 1:
                self.path.append(present[1])
                self.fail(
                    f"is given together with {present[0]}, but the union {union} can have only one alternative; "
                    "remove one of them"
                )
            known = [row.json_name for row in cls.FIELDS if row.name in names and version in row.tagged]
            if known and not present and not tags:
                self.fail(f"no alternative of the union {union} is given; give one of the keys {', '.join(known)}")

    def unknown_tags(self, obj: Any) -> Mapping[int, bytes]:
        if obj is None:
            return NO_TAGS
        self.path.append("unknown_tags")
        if not isinstance(obj, Mapping):
            self.fail(f"expected a JSON object that maps tags to base64 strings, got {self.got(obj)}")
        tags: dict[int, bytes] = {}
        for key, text in obj.items():
            tag = whole_number(key) if isinstance(key, str) else None
            if tag is None or tag > UVARINT_MAX or str(tag) != key:  # rejects "07", which would overwrite tag 7
                self.fail(f"expected a tag (a decimal string, 0 to {UVARINT_MAX}), got {self.got(key)}")
            tags[tag] = self.primitive(WIRE_TYPES["bytes"], text)
        self.path.pop()
        return tags

    def field(self, row: FieldRow, value: Any, version: int | None) -> Any:
        if value is None:
            if not (row.nullable if version is None else version in row.nullable):
                self.fail("is null, but it is not nullable in this version")
            return None
        around, self.is_hidden = self.is_hidden, self.is_hidden or (row.sensitive and hides())
        result = self.value(row, row.type, value, version)
        self.is_hidden = around  # not in a `finally`: after an error, the error text must still hide the value
        return result

    def shown_key(self, row: FieldRow) -> Callable[[str, Any], str]:
        """Return a function that formats an array element's key fields for an error, but hides sensitive values."""
        fields = row.struct.FIELDS if row.struct is not None and hides() else ()
        secret = {field.name for field in fields if field.sensitive}
        return lambda name, value: HIDDEN if name in secret else self.shown(value)

    def own_keys(self, row: FieldRow, elements: list[Any], version: int) -> None:
        keys = Keys(keys_in_version(row, version))
        for index, element in enumerate(elements):
            twin = keys.twin(index, element)
            if twin is not None:
                key = key_text(keys.names, element, self.shown_key(row))
                self.path.append(index)
                self.fail(f"has {key}, the same key as element {twin}; keys must be unique")

    def value(self, row: FieldRow, type_name: str, value: Any, version: int | None) -> Any:
        if type_name.startswith("[]"):
            if not isinstance(value, list | tuple):
                self.fail(f"expected a JSON array, got {self.got(value, row.struct)}")
            elements = []
            for index, element in enumerate(value):
                self.path.append(index)
                elements.append(self.value(row, type_name[2:], element, version))
                self.path.pop()
            if row.unique and version is not None:
                self.own_keys(row, elements, version)
            return tuple(elements)
        if row.struct is not None:
            return self.struct(row.struct, value, row.struct_version(version))
        return self.primitive(row.wire, value)

    def primitive(self, wire: WireType, value: Any) -> Any:
        try:
            return wire.from_json(value)
        except Unfit as unfit:
            reason = unfit.message_with(self.got)
        self.fail(reason)
