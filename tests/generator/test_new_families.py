"""Check that a newly added type works in every kind of field, or is rejected with an error that names it.

These tests add one type with a fixed width, and one with a length prefix. The expected bytes are computed by hand.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import jinja2
import pytest
from build_package import build_package
from change_specs import field, read, spec
from coded_ways import check_bytes, check_drawn, check_json
from hypothesis import strategies as st

import tagwire
from tagwire import arrow
from tagwire.message.engines import native_obstacle
from tagwire.testing.strategies import BY_FAMILY
from tagwire.wire.types import WIRE_TYPES
from tagwire.wire.wire_type import Deviation, Unfit, WireType
from tagwire_generator.editing.spec_edit import format_spec
from tagwire_generator.evolution import compare_messages
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.resources import folder
from tagwire_generator.reading.spec import read_spec
from tagwire_generator.views.message_view import message_view


class FixedType(WireType):
    """A type for fixed-width bytes, shown as hexadecimal in JSON and specs."""

    __slots__ = ()
    family = "fixed"
    annotation = "bytes"
    text_form = "hexadecimal digits"
    default: ClassVar[Any] = property(lambda self: bytes(self.width))
    arrow_format: ClassVar[Any] = property(lambda self: f"w:{self.width}")
    samples: ClassVar[Any] = property(lambda self: (b"\1" * self.width, b"\xff" * self.width))

    def raw_of(self, value: Any) -> bytes:
        if not isinstance(value, bytes) or len(value) != self.width:
            raise Unfit("is not as long")
        return value

    def to_json(self, value: Any, *, is_lossless: bool = True) -> str:
        return str(value.hex())

    def from_json(self, value: Any) -> bytes:
        try:
            return self.raw_of(bytes.fromhex(value))
        except (TypeError, ValueError):
            raise Unfit(f"expected {self.name}", value) from None

    def from_text(self, text: str) -> bytes:
        return self.from_json(text)

    def holds(self, value: object) -> bool:
        return isinstance(value, bytes) and len(value) == self.width


class DigitsType(WireType):
    """A type for ints of any size, written as a length and decimal digits. It has no Arrow columns or spec defaults."""

    __slots__ = ()
    family = "digits"
    annotation = "int"
    length = "int32"
    default = 0
    samples = (12, 0)

    def value_of(self, raw: Any) -> int:
        text = bytes(raw).decode("ascii", "replace")
        if not text.isdigit():
            raise Deviation(repr(text), "decimal digits", 0)
        return int(text)

    def raw_of(self, value: Any) -> bytes:
        if not isinstance(value, int) or value < 0:
            raise Unfit(f"expected {self.name}", value)
        return b"%d" % value

    def from_json(self, value: Any) -> int:
        self.raw_of(value)
        return int(value)


FIXED = FixedType("fixed16", "16s", 16)
DIGITS = DigitsType("digits")
GIVEN = "000102030405060708090a0b0c0d0e0f"


def fields_of(kind: str) -> list[dict[str, Any]]:
    """Return fields of versions 0 and 1 that use the type `kind`, such as a removed field, an array, a tagged field."""
    fields: list[dict[str, Any]] = [
        {"name": "Plain", "type": kind, "versions": "0+"},
        {"name": "Number", "type": "int16", "versions": "0+"},
        {"name": "Gone", "type": kind, "versions": "0", "ignorable": True},
        {"name": "Many", "type": f"[]{kind}", "versions": "0+"},
        {"name": "Tagged", "type": kind, "versions": "1+", "taggedVersions": "1+", "tag": 0},
        {"name": "ManyTagged", "type": f"[]{kind}", "versions": "1+", "taggedVersions": "1+", "tag": 1},
    ]
    if kind == "fixed16":
        return [*fields, {"name": "Given", "type": kind, "versions": "0+", "default": GIVEN}]
    return [*fields, {"name": "OrNone", "type": kind, "versions": "0+", "nullableVersions": "0+", "default": "null"}]


def spec_of(kind: str) -> dict[str, Any]:
    head = {"dialect": "tagwire", "type": "data", "name": f"{kind.title()}Message", "validVersions": "0-1"}
    return {**head, "flexibleVersions": "1+", "fields": fields_of(kind)}


A, B, C = b"\xaa" * 16, bytes(range(16)), b"\xcc" * 16
BYTES = {
    # Version 0 has the fields plain, number, gone, many (int32 count 2) and given.
    ("fixed16", 0): A + b"\0\7" + C + b"\0\0\0\2" + A + C + B,
    # Version 1 has the fields plain, number, many (compact count 3) and given, followed by two tagged fields: tagged
    # (tag 0, 16 bytes) and many_tagged (tag 1, 17 bytes, compact count 2, one element).
    ("fixed16", 1): A + b"\0\7" + b"\3" + A + C + B + b"\2" + b"\0\x10" + C + b"\1\x11\2" + A,
    # Version 0 has the fields plain, number, gone, many (int32 count 2) and or_none. Each value of the new type is an
    # int32 length and ASCII digits; or_none is null (length -1).
    ("digits", 0): bytes.fromhex("00000003 313233  0007  00000001 39  00000002 00000001 35 00000002 3432  ffffffff"),
    # Version 1 has the fields plain, number, many (compact count 3) and or_none (null, as the compact length 0),
    # followed by two tagged fields. All lengths are compact.
    ("digits", 1): bytes.fromhex("04 313233  0007  03 02 35 03 3432  00  02  00 02 02 39  01 03 02 02 37"),
}
VALUES: dict[tuple[str, int], dict[str, Any]] = {
    ("fixed16", 0): {"plain": A, "number": 7, "gone": C, "many": (A, C)},
    ("fixed16", 1): {"plain": A, "number": 7, "many": (A, C), "tagged": C, "many_tagged": (A,)},
    ("digits", 0): {"plain": 123, "number": 7, "gone": 9, "many": (5, 42)},
    ("digits", 1): {"plain": 123, "number": 7, "many": (5, 42), "tagged": 9, "many_tagged": (7,)},
}
KINDS = ("fixed16", "digits")
CASES = list(BYTES)


@pytest.fixture(scope="module", autouse=True)
def rows() -> Iterator[None]:
    WIRE_TYPES.update({"fixed16": FIXED, "digits": DIGITS})
    BY_FAMILY.update(
        fixed=lambda wire: st.binary(min_size=wire.width, max_size=wire.width),
        digits=lambda wire: st.integers(0, 10**30),
    )
    yield
    del WIRE_TYPES["fixed16"], WIRE_TYPES["digits"], BY_FAMILY["fixed"], BY_FAMILY["digits"]


@pytest.fixture(scope="module")
def package(rows: None, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return build_package(tmp_path_factory.mktemp("families"), "family_messages", map(spec_of, KINDS))


def message_of(package: ModuleType, kind: str) -> Any:
    return getattr(package, f"{kind.title()}Message")


@pytest.mark.parametrize(("kind", "version"), CASES)
def test_bytes(package: ModuleType, kind: str, version: int) -> None:
    check_bytes(message_of(package, kind)(**VALUES[kind, version]), version, BYTES[kind, version])


@pytest.mark.parametrize(("kind", "version"), CASES)
def test_engine_explains_why_it_does_not_support_a_version(package: ModuleType, kind: str, version: int) -> None:
    obstacle = native_obstacle(message_of(package, kind), version)
    assert obstacle == ("" if tagwire.engine() == "python" else f"native code does not support the wire type {kind}")


@pytest.mark.parametrize(("kind", "version"), CASES)
def test_json(package: ModuleType, kind: str, version: int) -> None:
    cls = message_of(package, kind)
    message = cls(**VALUES[kind, version])
    form = message.to_json(version)
    assert form["plain"] == (A.hex() if kind == "fixed16" else 123)
    check_json(message, version)
    with pytest.raises(tagwire.EncodeError, match=rf"many\[0\]: expected {kind}"):
        cls.from_json({**form, "many": ["x"]}, version)


def test_native_json_reader_and_a_field_of_another_version(tmp_path: Path) -> None:
    """Check that the native JSON reader doesn't require a field that the message's version lacks."""
    name, later = "LaterMessage", {"name": "Later", "type": "fixed16", "versions": "1+", "ignorable": True}
    given = {"dialect": "tagwire", "type": "data", "name": name, "validVersions": "0-1", "flexibleVersions": "none"}
    fields = [{"name": "Number", "type": "int16", "versions": "0+"}, later]
    cls = build_package(tmp_path, "later_messages", [{**given, "fields": fields}]).LaterMessage
    assert native_obstacle(cls, 0) == ""
    assert cls.from_json({"number": 3}, 0) == cls(number=3) == cls.from_json_text('{"number": 3}', 0)
    assert cls(number=3).to_json_text(0) == '{"number": 3}'


@pytest.mark.parametrize(("kind", "value"), [("fixed16", A[:15]), ("fixed16", A + A), ("fixed16", 1), ("digits", -1)])
def test_values_that_a_type_cannot_have(package: ModuleType, kind: str, value: Any) -> None:
    for name, odd in (("plain", value), ("many", (value,))):
        with pytest.raises(tagwire.EncodeError, match=f"{name}.*expected {kind}"):
            message_of(package, kind)(**{name: odd}).encode(0)


def test_bytes_that_deviate(package: ModuleType) -> None:
    data = BYTES["digits", 0].replace(b"123", b"1x3")
    with pytest.raises(tagwire.DecodeError, match="plain at byte 4: found '1x3', expected decimal digits"):
        package.DigitsMessage.decode(data, 0)
    assert package.DigitsMessage.decode(data, 0, strict=False).plain == 0


@pytest.mark.parametrize(("kind", "version"), CASES)
def test_explain(package: ModuleType, kind: str, version: int) -> None:
    cls, data = message_of(package, kind), BYTES[kind, version]
    found = tagwire.trace(cls, data, version)
    [plain] = [node.value for part in found.parts for node in part.walk() if node.path == "plain"]
    assert plain == VALUES[kind, version]["plain"]
    assert json.dumps(found.to_json()) and kind in tagwire.annotate(found)
    assert tagwire.guess(package.registry, data) is not None


@pytest.mark.parametrize(("kind", "version"), CASES)
def test_engines_agree(package: ModuleType, kind: str, version: int) -> None:
    check_drawn(message_of(package, kind), version, examples=20)


def test_arrow_columns(package: ModuleType) -> None:
    pa = pytest.importorskip("pyarrow")
    cls = package.Fixed16Message
    assert str(arrow.schema(cls, [0, 1])).count("fixed_size_binary[16]") == 6
    for version in (0, 1):
        data = pa.array([BYTES["fixed16", version]] * 2)
        columns = pa.array(arrow.decode_column(data, cls, version))
        assert columns[1].as_py()["plain"] == A and columns[1].as_py()["many"] == [A, C]
        assert pa.array(arrow.encode_column(columns, cls, version)).to_pylist() == data.to_pylist()


def test_type_without_arrow_columns_is_rejected_by_name(package: ModuleType) -> None:
    with pytest.raises(tagwire.SchemaError, match="plain has type digits, which Arrow can't represent"):
        arrow.schema(package.DigitsMessage, [0])
    assert arrow.schema(package.DigitsMessage, [0], fields=["number"])


def test_spark(package: ModuleType) -> None:
    pytest.importorskip("pyspark")
    from tagwire_spark.columns.codec import decoding
    from tagwire_spark.errors import PipelineError

    decoder = decoding(package.Fixed16Message, 0, None, None)
    assert decoder.schema["plain"].dataType.simpleString() == "binary"
    with pytest.raises(PipelineError, match="plain has type digits, which Arrow can't represent"):
        decoding(package.DigitsMessage, 0, None, None)


def test_arrow_type_without_a_spark_type() -> None:
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyspark")
    from tagwire_spark.columns.arrow_types import spark_type
    from tagwire_spark.errors import PipelineError

    inner = pa.list_(pa.struct([("fine", pa.int64()), ("odd", pa.uint64())]))
    for type, path in ((pa.struct([("many", inner)]), "many.odd"), (pa.uint64(), "the column")):
        with pytest.raises(PipelineError, match=f"{path} has the Arrow type uint64, which Spark does not have"):
            spark_type(type)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", ["int64", "uuid", "string", "bytes", "fixed16", "digits"])
def test_breaking(kind: str, other: str) -> None:
    old, new = (read(spec(field("B") + "," + field("A", type))) for type in (kind, other))
    assert [each.rule for each in compare_messages(old, new)] == ([] if kind == other else ["TW903"])
    assert [each.rule for each in compare_messages(read(spec(field("B"))), old)] == ["TW904"]


@pytest.mark.parametrize("kind", KINDS)
def test_specs(kind: str) -> None:
    text = format_spec(json.dumps(spec_of(kind)), file="X.json", options=SpecOptions())
    assert f'"type": "[]{kind}"' in text and format_spec(text, file="X.json", options=SpecOptions()) == text
    rejected = json.dumps(spec_of(kind)).replace('"versions": "0+"}', '"versions": "0+", "default": "?"}', 1)
    [problem] = read_spec(rejected, file="X.json", options=SpecOptions()).problems
    words = "hexadecimal digits" if kind == "fixed16" else "remove `default`"
    assert problem.rule == "TW506" and words in problem.message


@pytest.mark.parametrize("kind", KINDS)
def test_views_of_templates(kind: str) -> None:
    message = read_spec(json.dumps(spec_of(kind)), file="X.json", options=SpecOptions()).message
    assert message is not None
    view = message_view(message, "p", "X.json")
    found = {(row.type, row.family) for row in view.rows if row.name in ("Plain", "Many")}
    assert found == {(each, WIRE_TYPES[kind].family) for each in (kind, f"[]{kind}")}
    assert isinstance(json.loads(view.rows[0].default), str | int)


def test_wireshark_shows_bytes_of_an_unknown_type() -> None:
    templates = folder("templates") / "targets" / "wireshark"
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(templates), trim_blocks=True, lstrip_blocks=True)
    page = environment.get_template("message.lua.jinja")
    fields = [{"name": f"F{kind}", "type": f"[]{kind}", "versions": "0+"} for kind in WIRE_TYPES if kind != "records"]
    text = json.dumps({**spec_of("digits"), "fields": [*fields, {"name": "R", "type": "records", "versions": "0+"}]})
    message = read_spec(text, file="X.json", options=SpecOptions()).message
    assert message is not None
    printed = page.render(view=message_view(message, "p", "X.json"))
    makers = dict(re.findall(r'^    { "\w+", "(\w+)", "(\w+)" },$', printed, re.MULTILINE))
    same = {f"F{kind}": kind for kind in WIRE_TYPES if "int" in kind or kind in ("bool", "string", "bytes")}
    others = {"Ffloat32": "float", "Ffloat64": "double", "Fuuid": "guid"}
    assert makers == same | others | dict.fromkeys(("Ffixed16", "Fdigits", "R"), "bytes")


def test_run_time_schemas() -> None:
    schema = tagwire.Schema(tagwire.Field("a", "fixed16"), tagwire.Field("b", "[]digits"))
    assert schema.encode({"b": [12]}) == bytes(16) + b"\0\0\0\1" + b"\0\0\0\x0212"
    assert schema.decode(A + bytes(4)) == {"a": A, "b": ()}
