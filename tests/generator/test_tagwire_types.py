"""The types of the tagwire dialect in a protocol of one's own, through every use.

Bytes are written out by hand, field by field; nothing of tagwire made them.
"""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from build_package import build_package
from hypothesis import HealthCheck, given, settings

import tagwire
from tagwire import arrow
from tagwire.interpreter.reader import decode
from tagwire.interpreter.writer import encode
from tagwire.limits import DEFAULT_LIMITS
from tagwire.message.engines import native_obstacle, python_serializer
from tagwire.testing import messages
from tagwire_generator.editing.formatting import format_spec
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.spec import read_spec

NUMBERS: dict[str, Any] = {
    "dialect": "tagwire",
    "type": "data",
    "name": "NumbersMessage",
    "validVersions": "0-1",
    "flexibleVersions": "1+",
    "fields": [
        {"name": "Small", "type": "uint8", "versions": "0+", "default": "200"},
        {"name": "Large", "type": "uint64", "versions": "0+", "default": "0xffffffffffffffff"},
        {"name": "Ratio", "type": "float32", "versions": "0+", "default": "0.1"},
        {"name": "Smalls", "type": "[]uint8", "versions": "0+"},
        {"name": "Larges", "type": "[]uint64", "versions": "0+"},
        {"name": "Ratios", "type": "[]float32", "versions": "0+"},
        {"name": "TaggedSmall", "type": "uint8", "versions": "1+", "taggedVersions": "1+", "tag": 0},
        {"name": "TaggedLarge", "type": "uint64", "versions": "1+", "taggedVersions": "1+", "tag": 1},
        {"name": "TaggedRatio", "type": "float32", "versions": "1+", "taggedVersions": "1+", "tag": 2},
    ],
}
SPECS = [NUMBERS]

# By message and version: the JSON form in Python's own values, and the bytes.
GOLDEN: dict[tuple[str, int], tuple[dict[str, Any], str]] = {
    # a byte, eight bytes, -1.5 (sign 1, exponent 127, fraction .1), then int32 counts: 255 and 0, 2^63, 0.5
    ("NumbersMessage", 0): (
        {"small": 255, "large": 2**63, "ratio": -1.5, "smalls": (255, 0), "larges": (2**63,), "ratios": (0.5,)},
        "ff  8000000000000000  bfc00000  00000002 ff 00  00000001 8000000000000000  00000001 3f000000",
    ),
    # the same with compact counts, n + 1; then three tagged fields, each tag, size and value
    ("NumbersMessage", 1): (
        {"small": 255, "large": 2**63, "ratio": -1.5, "smalls": (255, 0), "larges": (2**63,), "ratios": (0.5,)}
        | {"tagged_small": 128, "tagged_large": 2**64 - 1, "tagged_ratio": float("inf")},
        "ff  8000000000000000  bfc00000  03 ff 00  02 8000000000000000  02 3f000000"
        "  03  00 01 80  01 08 ffffffffffffffff  02 04 7f800000",
    ),
}
PLACES = list(GOLDEN)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return build_package(tmp_path_factory.mktemp("types"), "typed_messages", SPECS)


def sample(package: ModuleType, name: str, version: int) -> tuple[Any, Any, bytes]:
    """The class, the message and its bytes."""
    cls = getattr(package, name)
    values, text = GOLDEN[name, version]
    return cls, cls(**values), bytes.fromhex(text)


@pytest.mark.parametrize(("name", "version"), PLACES)
def test_bytes(package: ModuleType, name: str, version: int) -> None:
    cls, message, data = sample(package, name, version)
    assert message.encode(version).hex() == data.hex() and message.encoded_size(version) == len(data)
    layout = cls.serializer(version).layout()
    serializer = python_serializer(cls, version)
    assert encode(layout, message) == data == serializer.encode(message)
    assert cls.decode(data, version) == message
    assert decode(layout, data, whole=True, strict=True, limits=DEFAULT_LIMITS)[0] == message
    assert serializer.read(data, data, 0) == (message, len(data)), "the straight-line code itself"
    assert native_obstacle(cls, version) == "" or tagwire.engine() == "python"


@pytest.mark.parametrize(("name", "version"), PLACES)
def test_what_is_cut_off_or_has_a_byte_more_is_refused(package: ModuleType, name: str, version: int) -> None:
    cls, _, data = sample(package, name, version)
    pure = python_serializer(cls, version)
    for odd in (*(data[:size] for size in range(len(data))), data + b"\0"):
        with pytest.raises(tagwire.DecodeError) as refused:
            cls.decode(odd, version)
        with pytest.raises(tagwire.DecodeError) as by_pure_code:
            pure.decode(odd)
        assert str(refused.value) == str(by_pure_code.value)


@pytest.mark.parametrize(("name", "version"), PLACES)
def test_json(package: ModuleType, name: str, version: int) -> None:
    cls, message, _ = sample(package, name, version)
    for style in ("lossless", "kafka"):
        form = message.to_json(version, style=style)
        text = message.to_json_text(version, style=style)
        assert json.loads(text) == form
        assert cls.from_json(form, version) == message == cls.from_json_text(text, version)


@pytest.mark.parametrize(("name", "version"), PLACES)
def test_fresh_objects(package: ModuleType, name: str, version: int) -> None:
    cls, _, _ = sample(package, name, version)
    fresh = cls()
    assert cls.decode(fresh.encode(version), version) == fresh
    assert encode(cls.serializer(version).layout(), fresh) == fresh.encode(version)


@pytest.mark.parametrize(("name", "version"), PLACES)
def test_explain(package: ModuleType, name: str, version: int) -> None:
    cls, _, data = sample(package, name, version)
    found = tagwire.trace(cls, data, version)
    assert tagwire.parse_annotated(tagwire.annotate(found)) == data and json.dumps(found.to_json())
    for path, value in GOLDEN[name, version][0].items():
        nodes = [node for part in found.parts for node in part.walk() if node.path == path]
        assert isinstance(value, tuple) or [node.value for node in nodes if not node.type.startswith("tag")] == [value]


@pytest.mark.parametrize(("name", "version"), PLACES)
def test_strategies(package: ModuleType, name: str, version: int) -> None:
    cls, _, _ = sample(package, name, version)
    pure, layout = python_serializer(cls, version), cls.serializer(version).layout()

    @settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(messages(cls, version))
    def check(message: Any) -> None:
        data = message.encode(version)
        assert data == pure.encode(message) == encode(layout, message)
        assert cls.decode(data, version).encode(version) == data
        assert pure.decode(data).encode(version) == data

    check()


@pytest.mark.parametrize(("name", "version"), PLACES)
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


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: str(spec["name"]))
def test_plain_kafka_specs_have_none_of_these_types(spec: dict[str, Any]) -> None:
    plain = {key: value for key, value in spec.items() if key != "dialect"}
    result = read_spec(json.dumps(plain), file="X.json", options=SpecOptions())
    assert {problem.rule for problem in result.problems} == {"TW709"}
    assert len(result.problems) == len(spec["fields"])


# ---------------------------------------------------------------- numbers


def test_arrow_types_of_numbers(package: ModuleType) -> None:
    pa = pytest.importorskip("pyarrow")
    schema = pa.schema(arrow.schema(package.NumbersMessage, 0))
    kinds = [str(schema.field(name).type) for name in ("small", "large", "ratio")]
    assert kinds == ["uint8", "uint64", "float"]


def test_a_float32_is_the_nearest_one(package: ModuleType) -> None:
    cls = package.NumbersMessage
    nearest = 0.10000000149011612  # 0x3dcccccd
    assert cls().ratio == nearest
    for value in (0.1, nearest):
        assert cls.decode(cls(ratio=value).encode(0), 0).ratio == nearest


@pytest.mark.parametrize(
    ("field", "value"),
    [("small", 256), ("small", -1), ("large", -1), ("large", 2**64), ("large", 1.0), ("ratio", 1e39), ("ratio", "1")],
)
def test_numbers_out_of_range(package: ModuleType, field: str, value: Any) -> None:
    kind = {"small": "uint8", "large": "uint64", "ratio": "float32"}[field]
    message = package.NumbersMessage(**{field: value})
    for refuse in (lambda: message.encode(0), lambda: python_serializer(type(message), 0).encode(message)):
        with pytest.raises(tagwire.EncodeError, match=rf"{field}: .* is no {kind}"):
            refuse()
    form = package.NumbersMessage().to_json(0) | {field: value}
    for read, given_ in (
        (package.NumbersMessage.from_json, form),
        (package.NumbersMessage.from_json_text, json.dumps(form)),
    ):
        with pytest.raises(tagwire.EncodeError, match=field):
            read(given_, 0)


def test_columns_of_numbers_out_of_range(package: ModuleType) -> None:
    pa = pytest.importorskip("pyarrow")
    rows = pa.array([{"ratio": 3.5e38}], pa.struct([("ratio", pa.float64())]))
    with pytest.raises(tagwire.EncodeError, match="ratio"):
        arrow.encode_column(rows, package.NumbersMessage, 0)


@pytest.mark.parametrize(("type", "default"), [("uint8", "256"), ("uint64", "-1"), ("float32", "1e39")])
def test_defaults_out_of_range(tmp_path: Path, type: str, default: str) -> None:
    spec = {**NUMBERS, "fields": [{"name": "A", "type": type, "versions": "0+", "default": default}]}
    [problem] = read_spec(json.dumps(spec), file="X.json", options=SpecOptions()).problems
    assert problem.rule in ("TW503", "TW504") and type in problem.message
