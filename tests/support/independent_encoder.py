"""A second encoder of the wire format for tests. It shares no code with tagwire.

The encoder implements KIP-482 as released, its draft, and Kafka's protocol guide. Its inputs are canonical specs as
returned by `json.load`, and values in the lossless JSON form. The encoder does not validate its inputs.

`encode(spec, version, value)` returns the bytes. For versions without reference bytes, `full_value(spec, version)`
returns a value with every field set, and `bare_value(spec, version)` returns a value with no field set.
"""

import base64
import struct
import uuid
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple

Spec = dict[str, Any]
Value = dict[str, Any]

_SIGNED = {"int8": ">b", "int16": ">h", "int32": ">i", "int64": ">q"}
INTEGERS = _SIGNED | {f"u{name}": code.upper() for name, code in _SIGNED.items()}
FLOATS = {"float32": ">f", "float64": ">d"}
ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"


class Context(NamedTuple):
    """The version to encode, and the rules for all structs of this version."""

    version: int
    structs: dict[str, Spec]
    """The common structs of the spec by name."""
    flexible: bool
    """Whether lengths are varints and each struct ends with a tag section."""
    leading: bool
    """Whether each struct begins with an optional field buffer (draft dialect)."""
    length: Callable[[int], bytes]
    """The function that encodes a length in an optional field buffer."""


def encode(spec: Spec, version: int, value: Value, *, length_varint: str = "zigzag") -> bytes:
    """Encode a message. `length_varint` applies to the draft dialect, and is "zigzag" or "unsigned"."""
    context = context_of(spec, version, zigzag if length_varint == "zigzag" else unsigned)
    return struct_bytes(context, spec.get("optionalFields", []), spec["fields"], value)


def context_of(spec: Spec, version: int, length: Callable[[int], bytes] = lambda size: b"") -> Context:
    common = spec.get("commonStructs", [])
    return Context(
        version,
        {entry["name"]: entry for entry in common},
        flexible=within(version, spec.get("flexibleVersions", "none")),
        leading=within(version, spec.get("versionsWithOptional", "none")),
        length=length,
    )


def within(version: int, versions: str) -> bool:
    if versions == "none":
        return False
    low, _, high = versions.replace("+", "-32767").partition("-")
    return int(low) <= version <= int(high or low)


def zigzag(number: int) -> bytes:
    return unsigned(number << 1 ^ number >> 31)


def unsigned(number: int) -> bytes:
    if number < 0x80:
        return bytes([number])
    return bytes([number & 0x7F | 0x80]) + unsigned(number >> 7)


def json_key(field: Spec) -> str:
    name: str = field["name"]
    return name[0].lower() + name[1:]


def struct_bytes(context: Context, optional: list[Spec], fields: list[Spec], value: Value) -> bytes:
    plain = [field for field in fields if within(context.version, field["versions"]) and not tagged(context, field)]
    known = [field for field in fields if tagged(context, field)] if context.flexible else optional
    chosen = [field for field in known if is_set(context, field, value)]
    tags = {int(str(field["tag"]), 0): tag_bytes(context, field, value) for field in chosen}
    unknown = {int(tag): base64.b64decode(data) for tag, data in value.get("_unknownTags", {}).items()}
    assert not tags.keys() & unknown.keys(), "a known tag is listed as unknown"
    assert not (tags | unknown) or context.flexible or context.leading, f"version {context.version} has no tags"
    surplus = value.keys() - {json_key(field) for field in plain + known} - {"_unknownTags"}
    assert not surplus, f"version {context.version} has no {surplus}"

    body = b"".join(field_bytes(context, field, field_value(field, value)) for field in plain)
    section = sorted((tags | unknown).items())
    if context.leading:
        entries = (context.length(len(data)) + struct.pack(">H", tag) + data for tag, data in section)
        return b"".join(entries) + b"\0" + body
    if context.flexible:
        entries = (unsigned(tag) + unsigned(len(data)) + data for tag, data in section)
        return body + unsigned(len(section)) + b"".join(entries)
    return body


def tagged(context: Context, field: Spec) -> bool:
    return within(context.version, field.get("taggedVersions", "none"))


def field_bytes(context: Context, field: Spec, value: Any, null: bytes = b"\xff") -> bytes:
    """Encode a field. A nullable struct starts with a marker byte, `null` or 1."""
    if is_struct(field) and within(context.version, field.get("nullableVersions", "none")):
        return null if value is None else b"\x01" + value_bytes(context, field, field["type"], value)
    return value_bytes(context, field, field["type"], value)


def tag_bytes(context: Context, field: Spec, value: Value) -> bytes:
    """Encode a tagged or optional field. In these fields, the marker of a nullable struct is a varint."""
    return field_bytes(context, field, field_value(field, value), null=b"\x00")


def value_bytes(context: Context, field: Spec, kind: str, value: Any) -> bytes:
    if value is None:
        return sized(context, field, kind, -1, b"")
    if kind == "bool":
        return struct.pack(">?", value)
    if kind in INTEGERS:
        return struct.pack(INTEGERS[kind], value)
    if kind in FLOATS:
        return struct.pack(FLOATS[kind], float(value))
    if kind == "uuid":
        return base64.urlsafe_b64decode(value + "==")
    if kind in ("string", "bytes", "records"):
        data = value.encode() if kind == "string" else base64.b64decode(value)
        return sized(context, field, kind, len(data), data)
    if kind.startswith("[]"):
        elements = (value_bytes(context, field, kind[2:], item) for item in value)
        return sized(context, field, kind, len(value), b"".join(elements))
    optional, fields = members(context, field)
    return struct_bytes(context, optional, fields, value)


def sized(context: Context, field: Spec, kind: str, length: int, data: bytes) -> bytes:
    """Encode a length or count (-1 for null) and the data. In flexible versions, the length is compact."""
    if context.flexible and within(context.version, field.get("flexibleVersions", "0+")):
        return unsigned(length + 1) + data
    return struct.pack(">h" if kind == "string" else ">i", length) + data


def members(context: Context, field: Spec) -> tuple[list[Spec], list[Spec]]:
    """Return the optional fields and the ordinary fields of the struct that is the type of `field`."""
    declared = field if "fields" in field else context.structs[field["type"].removeprefix("[]")]
    return declared.get("optionalFields", []), declared["fields"]


def is_struct(field: Spec) -> bool:
    return bool(field["type"][0].isupper())


def field_value(field: Spec, value: Value) -> Any:
    return value.get(json_key(field), default_of(field))


def is_set(context: Context, field: Spec, value: Value) -> bool:
    """Return whether a field's value differs from its default. A struct differs if any of its fields differs."""
    content, default = field_value(field, value), default_of(field)
    if content is None or default is None:
        return bool(content is not default)
    if field["type"] in FLOATS:
        return float(content) != float(default)
    if not is_struct(field):
        return bool(content != default)
    optional, fields = members(context, field)
    return bool(content.get("_unknownTags")) or any(is_set(context, part, content) for part in optional + fields)


def default_of(field: Spec) -> Any:
    """Return a field's default as JSON: the spec's default, or a zero or empty value."""
    kind, text = field["type"], field.get("default")
    if kind == "records" or text == "null":
        return None
    if kind == "bool":
        return text == "true"
    if kind in INTEGERS:
        return int(text or "0", 0)
    if kind in FLOATS:
        return float(text or "0")
    if kind == "uuid":
        return text or ZERO_UUID
    if kind.startswith("[]"):
        return []
    return (text or "") if kind in ("string", "bytes") else {}


def full_value(spec: Spec, version: int) -> Value:
    """Return a value in which every field of the version has a value other than its default.

    All values except booleans are distinct. Integers count up from a number that needs all bytes. Arrays have two
    elements.
    """
    return full_struct(context_of(spec, version), spec.get("optionalFields", []), spec["fields"], count(1))


def full_struct(context: Context, optional: list[Spec], fields: list[Spec], numbers: Iterator[int]) -> Value:
    present = [field for field in fields if within(context.version, field["versions"])]
    chosen = (optional if context.leading else []) + present
    return {json_key(field): full_field(context, field, field["type"], numbers) for field in chosen}


def full_field(context: Context, field: Spec, kind: str, numbers: Iterator[int]) -> Any:
    if kind.startswith("[]"):
        return [full_field(context, field, kind[2:], numbers) for _ in range(2)]
    if kind[0].isupper():
        optional, fields = members(context, field)
        return full_struct(context, optional, fields, numbers)
    number = next(numbers)
    if kind in INTEGERS:
        width = struct.calcsize(INTEGERS[kind])
        value: Any = number % 127 if width == 1 else (1 << 8 * width - 4) + number
        return value if value != default_of({**field, "type": kind}) else 127
    return {
        "bool": default_of({**field, "type": kind}) is False,
        "float32": number + 0.5,
        "float64": number + 0.5,
        "uuid": base64.urlsafe_b64encode(uuid.UUID(int=(1 << 124) + number).bytes).decode().rstrip("="),
        "string": f"text {number}",
        "bytes": base64.b64encode(f"bytes {number}".encode()).decode(),
        "records": base64.b64encode(f"records {number}".encode()).decode(),
    }[kind]


def bare_value(spec: Spec, version: int) -> Value:
    """Return a value in which every field of the version has its default. Tagged and optional fields are omitted."""
    return bare_struct(context_of(spec, version), spec["fields"])


def bare_struct(context: Context, fields: list[Spec]) -> Value:
    present = [field for field in fields if within(context.version, field["versions"]) and not tagged(context, field)]
    return {json_key(field): bare_field(context, field) for field in present}


def bare_field(context: Context, field: Spec) -> Any:
    default = default_of(field)
    return bare_struct(context, members(context, field)[1]) if default == {} else default
