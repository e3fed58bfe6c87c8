"""Compare the generated code with the independent encoder, for every type in every kind of field.

Some combinations don't occur in Kafka's specs, such as arrays of booleans, tagged UUIDs, and nullable arrays of bytes.
"""

from pathlib import Path
from typing import Any

import pytest
from build_package import build_package
from coded_ways import check_bytes
from independent_encoder import encode, full_value

import tagwire
from tagwire.message.engines import python_serializer
from tagwire.wire.types import KAFKA_TYPES, WIRE_TYPES

pytestmark = pytest.mark.slow  # slow because black formats about 30,000 lines

DEFAULTS = {
    "string": 'a "quoted"\\ text\n',
    "bool": "true",
    "float32": "-0.5",
    "float64": "-0.5",
    "uuid": "AAAAAAAAAAAAAAAAAAAAAQ",
}
ALIKE = {"int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64"}
"""Types that are not tested inside structs, because they differ from int32 only in size or sign."""


def spec_of(kind: str) -> dict[str, Any]:
    """Return a spec that uses the wire type `kind` in all allowed ways, such as nullable, tagged and array fields."""
    wire = WIRE_TYPES[kind]
    fields: list[dict[str, Any]] = [
        {"name": "Plain", "type": kind, "versions": "0+"},
        {"name": "Later", "type": kind, "versions": "1+", "ignorable": True},
        {"name": "Gone", "type": kind, "versions": "0-1"},
    ]
    if wire.family != "binary":
        fields.append({"name": "Given", "type": kind, "versions": "1+", "default": DEFAULTS.get(kind, "7")})
    if not wire.is_fixed:
        fields.append({"name": "Nullable", "type": kind, "versions": "0+", "nullableVersions": "1+"})
        fields.append({"name": "Null", "type": kind, "versions": "0+", "nullableVersions": "0+", "default": "null"})
    if kind != "records":
        fields.append({"name": "Many", "type": f"[]{kind}", "versions": "0+"})
        fields.append({"name": "ManyOrNone", "type": f"[]{kind}", "versions": "0+", "nullableVersions": "1+"})
        fields.append({"name": "Tagged", "type": kind, "versions": "2+", "taggedVersions": "2+", "tag": 0})
        fields.append({"name": "TaggedMany", "type": f"[]{kind}", "versions": "2+", "taggedVersions": "2+", "tag": 1})
        # This field becomes tagged in version 3. Kafka's messages have no such field.
        fields.append({"name": "Moved", "type": kind, "versions": "1+", "taggedVersions": "3+", "tag": 2})
    dialect = {} if kind in KAFKA_TYPES else {"dialect": "tagwire"}
    return (
        dialect
        | {"type": "data", "name": f"{kind.title()}Corners", "validVersions": "0-3", "flexibleVersions": "2+"}
        | {"fields": [*fields, *(structs(fields) if kind not in ALIKE else [])]}
    )


def structs(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    tagged = {"versions": "2+", "taggedVersions": "2+"}
    tag = 3 if any(each.get("tag") == 2 for each in fields) else 0
    roles: list[tuple[str, str, dict[str, str | int]]] = [
        ("One", "One", {"versions": "0+"}),
        ("OneOrNone", "OneOrNone", {"versions": "0+", "nullableVersions": "0+", "default": "null"}),
        ("Elements", "[]Element", {"versions": "0+"}),
        ("TaggedOne", "TaggedOne", {**tagged, "tag": tag}),
        ("TaggedOneOrNone", "TaggedOneOrNone", {**tagged, "nullableVersions": "2+", "tag": tag + 1}),
        ("TaggedElements", "[]TaggedElement", {**tagged, "tag": tag + 2}),
    ]
    shared = [
        field | {"versions": "2+"} if "tag" not in field and field["versions"] == "0+" else field for field in fields
    ]
    found = []
    for name, kind, versions in roles:
        own = fields if versions["versions"] == "0+" else shared
        found.append({"name": name, "type": kind, **versions, "fields": own})
    return found


@pytest.fixture(scope="module")
def corners(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("corners")
    return build_package(folder, "corner_messages", [spec_of(kind) for kind in WIRE_TYPES])


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("kind", WIRE_TYPES)
def test_every_role_of_a_type(corners: Any, kind: str, version: int) -> None:
    spec = spec_of(kind)
    cls = corners.registry[spec["name"]]
    value = full_value(spec, version)
    message = cls.from_json(value, version)
    check_bytes(message, version, encode(spec, version, value))
    assert message.to_json(version) == value


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("kind", [kind for kind in WIRE_TYPES if kind != "records"])
def test_a_fresh_object_of_a_type(corners: Any, kind: str, version: int) -> None:
    cls = corners.registry[spec_of(kind)["name"]]
    fresh = cls()
    check_bytes(fresh, version, fresh.encode(version))


def test_fresh_records_are_null_and_rejected_where_they_may_not_be(corners: Any) -> None:
    with pytest.raises(tagwire.EncodeError, match="plain: is None"):
        corners.registry["RecordsCorners"]().encode(3)


IMPORTED = ["Any", "Array", "ArrayOrNone", "EMPTY", "Iterable", "UnreadableBytes", "Mapping", "Message", "NONE"]
CLASHING = [*IMPORTED, "UnwritableValue", "SERIALIZERS", "Serializer", "Struct", "UUID", "Versions"]


def test_structs_may_be_called_like_what_generated_code_imports(tmp_path: Path) -> None:
    types = {"Id": "uuid", "Numbers": "[]int32", "Texts": "[]string"}
    members = [{"name": name, "type": type, "versions": "0+"} for name, type in types.items()]
    fields = [{"name": f"F{name}", "type": f"[]{name}", "versions": "0+", "fields": members} for name in CLASHING]
    fields.append({"name": "Own", "type": "uuid", "versions": "1+", "default": DEFAULTS["uuid"]})
    spec = {"type": "data", "name": "Clash", "validVersions": "0-1", "flexibleVersions": "1+", "fields": fields}
    package = build_package(tmp_path, "clashing_messages", [spec])
    cls = package.registry["Clash"]
    for version in (0, 1):
        value = full_value(spec, version)
        data = encode(spec, version, value)
        assert cls.from_json(value, version).encode(version) == data
        assert python_serializer(cls, version).read(data, data, 0)[0] == cls.decode(data, version)


def test_fields_may_be_called_like_what_generated_code_writes(tmp_path: Path) -> None:
    names = ["Tuple", "Int", "Str", "Bytes", "Bool", "Float", "Self", "M", "Buf", "Pos", "Out", "Raw", "N", "Items"]
    names += ["Field", "DataClass", "Property", "Deprecated", "Array", "Struct", "Args", "Fields"]
    fields = [{"name": name, "type": "[]int8", "versions": "0+"} for name in names]
    spec = {"type": "data", "name": "Shadows", "validVersions": "0", "flexibleVersions": "0+", "fields": fields}
    cls = build_package(tmp_path, "shadowing_messages", [spec]).registry["Shadows"]
    message = cls(**{slot: [1] for slot in cls.__slots__ if slot != "unknown_tags"})
    assert cls.decode(message.encode(0), 0) == message
    assert "tuple_" in cls.__slots__ and "items" in cls.__slots__


@pytest.mark.parametrize("name", ["Message", "Struct", "UUID", "Any", "Versions", "Serializer", "Errors"])
def test_messages_may_be_called_like_what_generated_code_imports(tmp_path: Path, name: str) -> None:
    fields = [{"name": each, "type": type, "versions": "0+"} for each, type in (("Encode", "uuid"), ("Class", "int8"))]
    spec = {"type": "data", "name": name, "validVersions": "0", "flexibleVersions": "0+", "fields": fields}
    package = build_package(tmp_path, f"messages_named_{name.lower()}", [spec])
    cls = getattr(package, name)
    message = cls(class_=1)
    assert cls.decode(message.encode(0), 0) == message
    stub = Path(str(package.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
    assert ("errors = registry.errors" in stub) == (name != "Errors"), "the module is called errors then"
