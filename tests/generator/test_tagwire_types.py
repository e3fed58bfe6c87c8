"""Test all types of the tagwire dialect in every kind of field. The bytes are computed by hand, field by field."""

import importlib
import json
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from struct import pack
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from build_package import build_package
from coded_ways import check_bytes, check_drawn, check_json

import tagwire
from tagwire import EncodeError, arrow
from tagwire.interpreter.reader import LayoutReader
from tagwire.interpreter.writer import encode
from tagwire.message.engines import native_obstacle, python_serializer
from tagwire.message.field_table import layout_of
from tagwire_generator.editing.spec_edit import format_spec
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.spec import read_spec


def spec_of(name: str, *fields: dict[str, Any], flexible: str = "1+") -> dict[str, Any]:
    head = {"dialect": "tagwire", "type": "data", "name": name}
    return {**head, "validVersions": "0-1", "flexibleVersions": flexible, "fields": [*fields]}


NAN = float("nan")
TAGGED = {"versions": "1+", "taggedVersions": "1+", "tag": 0}
NULL = {"versions": "0+", "nullableVersions": "0+", "default": "null"}
NUMBERS = spec_of(
    "NumbersMessage",
    {"name": "Small", "type": "uint8", "versions": "0+", "default": "200"},
    {"name": "Large", "type": "uint64", "versions": "0+", "default": "0xffffffffffffffff"},
    {"name": "Ratio", "type": "float32", "versions": "0+", "default": "0.1"},
    {"name": "Smalls", "type": "[]uint8", "versions": "0+"},
    {"name": "Larges", "type": "[]uint64", "versions": "0+"},
    {"name": "Ratios", "type": "[]float32", "versions": "0+"},
    {"name": "TaggedSmall", "type": "uint8", **TAGGED},
    {"name": "TaggedLarge", "type": "uint64", **TAGGED, "tag": 1},
    {"name": "TaggedRatio", "type": "float32", **TAGGED, "tag": 2},
)
VALUES = spec_of(
    "ValuesMessage",
    {"name": "Digest", "type": "bytes[4]", "versions": "0+", "default": "3q2+7w=="},
    {"name": "Digests", "type": "[]bytes[2]", "versions": "0+"},
    {"name": "Stamp", "type": "int64", "versions": "0+", "semantic": "timestamp_ms"},
    {"name": "Took", "type": "int64", "versions": "0+", "semantic": "duration_us"},
    {"name": "Price", "type": "bytes", "versions": "0+", "semantic": "decimal", "precision": 10, "scale": 2},
    {"name": "Fee", "type": "bytes[4]", "versions": "0+", "semantic": "decimal", "precision": 9, "scale": 3},
    {"name": "TaggedDigest", "type": "bytes[4]", **TAGGED},
    {"name": "Stamps", "type": "[]int64", "versions": "0+", "semantic": "timestamp_s"},
)
NULLS = spec_of(
    "NullsMessage",
    {"name": "Tiny", "type": "int8", **NULL},
    {"name": "Big", "type": "int64", **NULL},
    {"name": "Huge", "type": "uint64", **NULL},
    {"name": "Flag", "type": "bool", **NULL},
    {"name": "Ratio", "type": "float32", **NULL},
    {"name": "Id", "type": "uuid", "versions": "0+", "nullableVersions": "0+"},
    {"name": "Four", "type": "bytes[4]", "versions": "0+", "nullableVersions": "0+"},
    {"name": "Later", "type": "int16", "versions": "0+", "nullableVersions": "1+"},
    {"name": "Tagged", "type": "int32", **TAGGED, "nullableVersions": "1+", "default": "null"},
    {"name": "Stamp", "type": "int64", **NULL, "semantic": "timestamp_us"},
)
FLOATS = spec_of(
    "FloatsMessage",
    {"name": "Zero", "type": "float64", **TAGGED},
    {"name": "Nan", "type": "float64", **TAGGED, "tag": 1, "default": "NaN"},
    {"name": "Nothing", "type": "float64", **TAGGED, "tag": 2, "nullableVersions": "1+", "default": "null"},
    flexible="0+",
)
POINT = [{"name": "X", "type": "int8", "versions": "0+"}, {"name": "Y", "type": "int8", "versions": "0+"}]
GRIDS = spec_of(
    "GridsMessage",
    {"name": "Numbers", "type": "[][]int16", "versions": "0+"},
    {"name": "Texts", "type": "[][]string", "versions": "0+", "nullableVersions": "1+"},
    {"name": "Lines", "type": "[][]Point", "versions": "0+", "fields": POINT},
    {"name": "Cubes", "type": "[][][]bool", "versions": "0+"},
    {"name": "Tagged", "type": "[][]bytes[2]", **TAGGED},
)
SPECS = [NUMBERS, VALUES, NULLS, GRIDS, FLOATS]

# Maps (message, version) to the field values and the expected bytes.
GOLDEN: dict[tuple[str, int], tuple[dict[str, Any], str]] = {
    # `small` is 255, `large` is 2^63, and `ratio` is -1.5 (sign bit 1, exponent 127, binary fraction 0.1). Three arrays
    # follow, each after an int32 count.
    ("NumbersMessage", 0): (
        {"small": 255, "large": 2**63, "ratio": -1.5, "smalls": (255, 0), "larges": (2**63,), "ratios": (0.5,)},
        "ff  8000000000000000  bfc00000  00000002 ff 00  00000001 8000000000000000  00000001 3f000000",
    ),
    # The fields are digest (4 bytes), digests (count 2, 2 bytes each), stamp (2023-11-14T22:13:20.5Z), took (-1.5 s),
    # price (12.34: 0x04d2 after an int32 length), fee (-1 unit in 4 bytes), and stamps (count 1).
    ("ValuesMessage", 0): (
        {"digest": b"\1\2\3\4", "digests": (b"ab", b"cd"), "stamp": 1700000000500, "took": -1500000}
        | {"price": b"\4\xd2", "fee": b"\xff\xff\xff\xff", "stamps": (1,)},
        "01020304  00000002 6162 6364  0000018bcfe569f4  ffffffffffe91ca0  00000002 04d2  ffffffff"
        "  00000001 0000000000000001",
    ),
    # Version 1 has the same fields with compact lengths and counts, then one tagged field: tag 0, 4 bytes, the digest.
    ("ValuesMessage", 1): (
        {"digest": b"\1\2\3\4", "digests": (b"ab",), "stamp": -1, "took": 1, "price": b"\0", "fee": b"\0\0\0\1"}
        | {"stamps": (), "tagged_digest": b"\xaa\xbb\xcc\xdd"},
        "01020304  02 6162  ffffffffffffffff  0000000000000001  02 00  00000001  01  01  00 04 aabbccdd",
    ),
    # A marker byte precedes each nullable value: 01 (value present) or ff (null). `later` is not nullable in version 0.
    ("NullsMessage", 0): (
        {"tiny": -2, "big": None, "huge": 1, "flag": True, "ratio": 1.0, "id": None, "four": b"abcd"}
        | {"later": 3, "stamp": 1},
        "01 fe  ff  01 0000000000000001  01 01  01 3f800000  ff  01 61626364  0003  01 0000000000000001",
    ),
    # Version 1 adds a tagged field: tag 0, 4 bytes, value 0. It has no marker byte: if it is null, it is omitted.
    ("NullsMessage", 1): (
        {"tiny": None, "big": 7, "huge": None, "flag": None, "ratio": None, "four": None, "id": UUID(int=1)}
        | {"later": None, "stamp": None, "tagged": 0},
        "ff  01 0000000000000007  ff  ff  ff  01 00000000000000000000000000000001  ff  ff  ff  01 00 04 00000000",
    ),
    # Nested arrays have int32 counts. `numbers` contains an array of two integers and an empty array, `texts` an array
    # of one string, `lines` an array of two structs, and `cubes` an array of an array of one bool.
    ("GridsMessage", 0): (
        {"numbers": ((1, -1), ()), "texts": (("a",),), "lines": (({"x": 1, "y": 2}, {"x": 3, "y": 4}),)}
        | {"cubes": (((True,),),)},
        "00000002 00000002 0001 ffff 00000000  00000001 00000001 0001 61  00000001 00000002 0102 0304"
        "  00000001 00000001 00000001 01",
    ),
    # Version 1 has compact counts (0 for a null array), a tag section per struct, and a tagged field: tag 0, 6 bytes.
    ("GridsMessage", 1): (
        {"numbers": ((5,),), "texts": None, "lines": ((), ({"x": 1, "y": 2},)), "cubes": ()}
        | {"tagged": ((b"ab", b"cd"),)},
        "02 02 0005  00  03 01 02 01 02 00  01  01  00 06 02 03 6162 6364",
    ),
    # Version 1 has compact counts (n + 1), then three tagged fields, each with its tag, size and value.
    ("NumbersMessage", 1): (
        {"small": 255, "large": 2**63, "ratio": -1.5, "smalls": (255, 0), "larges": (2**63,), "ratios": (0.5,)}
        | {"tagged_small": 128, "tagged_large": 2**64 - 1, "tagged_ratio": float("inf")},
        "ff  8000000000000000  bfc00000  03 ff 00  02 8000000000000000  02 3f000000"
        "  03  00 01 80  01 08 ffffffffffffffff  02 04 7f800000",
    ),
}
CASES = list(GOLDEN)


def rejects(message: Any, reason: str) -> None:
    """Check that both engines reject a message in version 0."""
    for encode_ in (lambda: message.encode(0), lambda: python_serializer(type(message), 0).encode(message)):
        with pytest.raises(tagwire.EncodeError, match=reason):
            encode_()


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return build_package(tmp_path_factory.mktemp("types"), "typed_messages", SPECS)


def sample(package: ModuleType, name: str, version: int) -> tuple[Any, Any, bytes]:
    cls = getattr(package, name)
    values, text = GOLDEN[name, version]
    return cls, cls(**converted(package, values)), bytes.fromhex(text)


def converted(package: ModuleType, values: Any) -> Any:
    """Return the field values, with each dict converted to a `Point`."""
    point = importlib.import_module(f"{package.__name__}.grids_message").Point

    def one(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(one, value))
        return point(**value) if isinstance(value, dict) else value

    return {name: one(value) for name, value in values.items()}


@pytest.mark.parametrize(("name", "version"), CASES)
def test_bytes(package: ModuleType, name: str, version: int) -> None:
    cls, message, data = sample(package, name, version)
    check_bytes(message, version, data)
    check_json(message, version)
    assert native_obstacle(cls, version) == "" or tagwire.engine() == "python"


@pytest.mark.parametrize(("name", "version"), CASES)
def test_fresh_objects(package: ModuleType, name: str, version: int) -> None:
    cls, _, _ = sample(package, name, version)
    fresh = cls()
    assert cls.decode(fresh.encode(version), version) == fresh
    assert encode(cls.serializer(version).layout(), fresh) == fresh.encode(version)


@pytest.mark.parametrize(("name", "version"), CASES)
def test_explain(package: ModuleType, name: str, version: int) -> None:
    cls, _, data = sample(package, name, version)
    found = tagwire.trace(cls, data, version)
    assert tagwire.parse_annotated(tagwire.annotate(found)) == data and json.dumps(found.to_json())
    for path, value in GOLDEN[name, version][0].items():
        nodes = [node for part in found.parts for node in part.walk() if node.path == path]
        assert isinstance(value, tuple) or [node.value for node in nodes if not node.type.startswith("tag")] == [value]


@pytest.mark.parametrize(("name", "version"), CASES)
def test_engines_agree(package: ModuleType, name: str, version: int) -> None:
    check_drawn(getattr(package, name), version)


@pytest.mark.parametrize(("name", "version"), CASES)
def test_arrow_columns(package: ModuleType, name: str, version: int) -> None:
    pa = pytest.importorskip("pyarrow")
    cls, _, data = sample(package, name, version)
    rows = pa.array([data, cls().encode(version)])
    columns = pa.array(arrow.decode_column(rows, cls, version))
    assert pa.array(arrow.encode_column(columns, cls, version)).to_pylist() == rows.to_pylist()
    wide = pa.array(arrow.decode_column(rows, cls, version, wide_unsigned=True))
    assert pa.array(arrow.encode_column(wide, cls, version)).to_pylist() == rows.to_pylist()


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: str(spec["name"]))
def test_canonical_text(spec: dict[str, Any]) -> None:
    text = format_spec(json.dumps(spec), file="X.json", options=SpecOptions())
    assert format_spec(text, file="X.json", options=SpecOptions()) == text


# The last spec, FLOATS, is not tested: its float types are also allowed in plain Kafka specs.
@pytest.mark.parametrize("spec", SPECS[:-1], ids=lambda spec: str(spec["name"]))
def test_plain_kafka_specs_reject_these_types(spec: dict[str, Any]) -> None:
    plain = {key: value for key, value in spec.items() if key != "dialect"}
    result = read_spec(json.dumps(plain))
    assert result.message is None and {problem.rule for problem in result.problems} <= {"TW709", "TW406"}
    assert len(result.problems) >= len(spec["fields"])


ARROW_TYPES = {
    "NumbersMessage": {"small": "uint8", "large": "uint64", "ratio": "float"},
    "ValuesMessage": {"digest": "fixed_size_binary[4]", "stamp": "timestamp[ms, tz=UTC]", "took": "duration[us]"}
    | {"price": "decimal128(10, 2)"},
}


@pytest.mark.parametrize("name", ARROW_TYPES)
def test_arrow_types(package: ModuleType, name: str) -> None:
    pa = pytest.importorskip("pyarrow")
    schema = pa.schema(arrow.schema(getattr(package, name), 0))
    assert {field: str(schema.field(field).type) for field in ARROW_TYPES[name]} == ARROW_TYPES[name]


def test_a_float32_is_the_nearest_one(package: ModuleType) -> None:
    cls = package.NumbersMessage
    nearest = 0.10000000149011612  # 0x3dcccccd, the float32 nearest to 0.1
    assert cls().ratio == nearest
    for value in (0.1, nearest):
        assert cls.decode(cls(ratio=value).encode(0), 0).ratio == nearest


@pytest.mark.parametrize(
    ("field", "value"),
    [("small", 256), ("small", -1), ("large", -1), ("large", 2**64), ("large", 1.0), ("ratio", 1e39), ("ratio", "1")],
)
def test_numbers_out_of_range(package: ModuleType, field: str, value: Any) -> None:
    kind = {"small": "uint8", "large": "uint64", "ratio": "float32"}[field]
    rejects(package.NumbersMessage(**{field: value}), f"{field}: expected {kind}")
    fresh = package.NumbersMessage()
    form = fresh.to_json(0) | {field: value}
    for read, written in ((type(fresh).from_json, form), (type(fresh).from_json_text, json.dumps(form))):
        with pytest.raises(tagwire.EncodeError, match=field):
            read(written, 0)


def test_columns_of_numbers_out_of_range(package: ModuleType) -> None:
    pa = pytest.importorskip("pyarrow")
    rows = pa.array([{"ratio": 3.5e38}], pa.struct([("ratio", pa.float64())]))
    with pytest.raises(tagwire.EncodeError, match="ratio"):
        arrow.encode_column(rows, package.NumbersMessage, 0)


@pytest.mark.parametrize("engine", ["native", "python"])
@pytest.mark.parametrize("value", [0.0, -0.0, NAN, -NAN, 1.5])
def test_floats_are_compared_by_their_bits(package: Any, value: float, engine: str) -> None:
    cls = package.FloatsMessage
    coders = {0: cls.serializer(0), 1: cls.serializer(1)}
    if engine == "python":
        coders = {version: python_serializer(cls, version) for version in (0, 1)}
    message = cls(zero=value, nan=value, nothing=value)
    data = coders[1].encode(message)
    assert coders[1].decode(data) == message and tagwire.trace(cls, data, 1).canonical
    absent = {name: pack(">d", value) == pack(">d", usual) for name, usual in (("zero", 0.0), ("nan", NAN))}
    assert len(data) == 1 + 10 * (3 - sum(absent.values())) and cls().encode(0) == b"\0" == cls().encode(1)
    fields = dict.fromkeys(absent, value)
    lost = [loss.path for loss in cls(**fields).losses(0)]
    assert lost == [name for name, is_absent in absent.items() if not is_absent]
    pa = pytest.importorskip("pyarrow")
    rows = pa.array([{"zero": value, "nan": value, "nothing": value}])
    assert pa.array(arrow.encode_column(rows, cls, 1)).to_pylist() == [data]
    for name, is_absent in absent.items():
        if not is_absent:
            with pytest.raises(EncodeError, match="can't represent"):
                coders[0].encode(cls(**{name: value}))


@pytest.mark.parametrize(
    ("tag", "value", "is_default"), [(0, 0.0, True), (0, -0.0, False), (1, NAN, True), (1, -NAN, False)]
)
def test_a_float_on_the_wire_is_canonical_unless_it_has_the_bits_of_the_default(
    package: Any, tag: int, value: float, is_default: bool
) -> None:
    data = bytes((1, tag, 8)) + pack(">d", value)
    reader = LayoutReader(layout_of(package.FloatsMessage, 1), data)
    reader.message(whole=True)
    assert reader.canonical is not is_default
    assert tagwire.trace(package.FloatsMessage, data, 1).canonical is not is_default


def test_columns_hold_times_and_decimals(package: ModuleType) -> None:
    pa = pytest.importorskip("pyarrow")
    _, _, data = sample(package, "ValuesMessage", 0)
    [row] = pa.array(arrow.decode_column(pa.array([data]), package.ValuesMessage, 0)).to_pylist()
    assert row["stamp"] == datetime(2023, 11, 14, 22, 13, 20, 500000, UTC)
    assert row["took"] == timedelta(seconds=-1.5)
    assert (row["price"], row["fee"]) == (Decimal("12.34"), Decimal("-0.001"))


def test_columns_reject_invalid_decimals(package: ModuleType) -> None:
    pa = pytest.importorskip("pyarrow")
    for price in (b"", b"\x7f" * 8):
        data = package.ValuesMessage(price=price).encode(0)
        with pytest.raises(tagwire.TagwireError, match=r"price: expected decimal\(10,2\)"):
            arrow.decode_column(pa.array([data]), package.ValuesMessage, 0)
    odd = pa.array([{"price": Decimal("1.234")}], pa.struct([("price", pa.decimal128(10, 3))]))
    with pytest.raises(tagwire.TagwireError, match=r"price: expected decimal"):
        arrow.encode_column(odd, package.ValuesMessage, 0)


def test_explain_shows_the_meaning_of_values(package: ModuleType) -> None:
    cls, _, data = sample(package, "ValuesMessage", 0)
    text = tagwire.annotate(tagwire.trace(cls, data, 0))
    for words in ("(2023-11-14T22:13:20.500Z)", "(-00:00:01.500000)", "(12.34)", "(-0.001)"):
        assert words in text


@pytest.mark.parametrize("value", [b"abc", b"abcde", "abcd", 4])
def test_bytes_of_another_size(package: ModuleType, value: Any) -> None:
    rejects(package.ValuesMessage(digest=value), "digest: expected 4 bytes")
    form = package.ValuesMessage().to_json(0) | {"digest": "YWJj"}
    with pytest.raises(tagwire.EncodeError, match="digest: expected 4 bytes, got str 'YWJj'"):
        package.ValuesMessage.from_json(form, 0)


def test_an_absent_tagged_number_is_null(package: ModuleType) -> None:
    cls = package.NullsMessage
    assert cls.decode(cls(later=1, id=UUID(int=0), four=b"abcd").encode(1), 1).tagged is None
    assert cls.from_json(cls().to_json(1) | {"tagged": None}, 1).tagged is None


@pytest.mark.parametrize("marker", [0, 2, 0x7F, 0x80, 0xFE])
def test_other_markers_are_rejected(package: ModuleType, marker: int) -> None:
    cls, _, data = sample(package, "NullsMessage", 0)
    with pytest.raises(tagwire.DecodeError, match="tiny at byte 0: found null marker"):
        cls.decode(bytes([marker]) + data[1:], 0)


def test_the_example_of_the_documentation(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "spec-language.md").read_text("utf-8")
    spec = next(
        json.loads(text) for text in re.findall(r"^```json\n(.*?)^```", page, re.M | re.S) if "SensorReading" in text
    )
    cls = build_package(tmp_path, "documented_types", [spec]).SensorReading
    call, data = re.search(r"`SensorReading\((.*?)\)` is encoded as\n`([0-9a-f ]+)`", page).groups()  # type: ignore[union-attr]
    assert cls(**eval(f"dict({call})")).encode(0) == bytes.fromhex(data)


@pytest.mark.parametrize("data", ["7fffffff", "00000002 7fffffff", "00000001 ffffffff", "00000001 00000001 00"])
def test_hostile_counts(package: ModuleType, data: str) -> None:
    cls = package.GridsMessage
    for decode_ in (partial(cls.decode, version=0), python_serializer(cls, 0).decode):
        with pytest.raises(tagwire.DecodeError, match="numbers"):
            decode_(bytes.fromhex(data))


def test_limits_count_the_elements_of_all_arrays(package: ModuleType) -> None:
    cls, _, data = sample(package, "GridsMessage", 0)
    count = 4 + 2 + 3 + 3
    for decode_ in (partial(cls.decode, version=0), python_serializer(cls, 0).decode):
        decode_(data, limits=tagwire.Limits(elements=count))
        with pytest.raises(tagwire.LimitError):
            decode_(data, limits=tagwire.Limits(elements=count - 1))


def test_null_elements_and_null_in_a_version_without_nulls_are_rejected(package: ModuleType) -> None:
    rejects(package.NullsMessage(later=None), "later")
    rejects(package.GridsMessage(numbers=((1,), None)), r"numbers\[1\]: is None")
    form = package.GridsMessage().to_json(0) | {"numbers": [[1], None]}
    with pytest.raises(tagwire.EncodeError, match=r"numbers\[1\]"):
        package.GridsMessage.from_json(form, 0)
