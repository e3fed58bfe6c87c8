"""Test unions, required fields and unique keys in a small protocol. The expected bytes are computed by hand.

The bytes follow docs/spec-language.md. An int32 takes four bytes. In version 0, a string follows an int16 length. From
version 1 on, lengths and counts are unsigned varints of n + 1, and each struct ends with a tag section: the number of
tagged fields, then the tag, size and data of each field.
"""

import copy
import importlib
import json
import pickle
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from build_package import build_package
from coded_ways import check_bytes, check_drawn, check_json, decoded, rejection
from parcel_specs import PARCEL

import tagwire
import tagwire.arrow
from tagwire.message import fresh
from tagwire.message.engines import python_serializer
from tagwire_generator.reading.spec import read_spec
from tagwire_generator.views.message_view import message_view


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    build_package(tmp_path_factory.mktemp("parcels"), "parcel_messages", [PARCEL])
    return importlib.import_module("parcel_messages.parcel")


def parcel(package: Any, **fields: Any) -> Any:
    return package.Parcel(**{"id": 1, "depot": "", "sender": package.Person(name=""), **fields})


HEAD = {0: "00000001", 1: "00000001 0264", 2: "00000001 0264"}
"""The first bytes of a parcel in each version: the id 1 and, from version 1 on, the depot "d"."""
STOPS = {
    0: "00000002 000161 0005 000162 0000",  # count 2: city "a", 5 minutes; city "b", 0 minutes
    1: "03 0261 0005 00 0262 0000 00",
    2: "03 0261 07 0005 00 0262 00 0000 00",  # version 2 adds the field gates, with the values 7 and 0
}
SENDER = {0: "", 1: "", 2: "026e 00"}  # version 2 adds the struct sender: name "n", no tagged fields
GOLDEN = {
    (0, ""): "",
    (1, "text"): "01 00 03 036869",  # one tagged field: tag 0, 3 bytes, "hi"
    # One tagged field: tag 1, 6 bytes. Its value is a struct: 01 (not null), 9 grams, and no tagged fields.
    (1, "goods"): "01 01 06 01 00000009 00",
    (2, "text"): "01 00 03 036869",
    (2, "goods"): "01 01 06 01 00000009 00",
    (2, "flowers"): "01 02 03 02 0272",  # one tagged field: tag 2, 3 bytes: count 1, "r"
    (2, "unknown"): "01 09 01 ff",  # one tagged field: tag 9, which this spec does not define
}


def golden(package: Any, version: int, chosen: str) -> tuple[Any, bytes]:
    values: dict[str, dict[str, Any]] = {
        "text": {"text": "hi"},
        "goods": {"goods": package.Goods(grams=9)},
        "flowers": {"flowers": ("r",)},
        "unknown": {"unknown_tags": {9: b"\xff"}},
        "": {},
    }
    gates = {"gate": 7} if version == 2 else {}
    stops = (package.Stop(city="a", minutes=5, **gates), package.Stop(city="b"))
    fields = values[chosen] | ({"depot": "d"} if version else {})
    if version == 2:
        fields["sender"] = package.Person(name="n")
    text = HEAD[version] + STOPS[version] + SENDER[version] + GOLDEN[version, chosen]
    return parcel(package, stops=stops, **fields), bytes.fromhex(text)


def rejection_of(package: Any, value: Any, version: int) -> tagwire.EncodeError:
    """Return the error that encoding `value` raises. All methods for encoding and JSON must raise the same error."""
    python = python_serializer(package.Parcel, version)
    calls = [value.encode, value.encoded_size, value.to_json, value.to_json_text]
    found = []
    for call in (*[partial(call, version) for call in calls], partial(python.encode, value)):
        with pytest.raises(tagwire.EncodeError) as error:
            call()
        found.append(error.value)
    assert len({str(error) for error in found}) == 1
    return found[0]


@pytest.mark.parametrize(("version", "chosen"), GOLDEN)
def test_golden_bytes(package: Any, version: int, chosen: str) -> None:
    value, data = golden(package, version, chosen)
    check_bytes(value, version, data)
    check_json(value, version, "lossless")  # the style kafka has no unknown tags
    assert value.which("content") == (chosen if chosen in ("text", "goods", "flowers") else None)


ONE_ALTERNATIVE = "the union content can have only one alternative"
BROKEN_JSON = [
    ({"stops": [{"city": "a", "gate": 0, "minutes": 1}] * 2}, "stops[1]", "the same key as element 0"),
    ({"text": "x", "flowers": ["r"]}, "flowers", f"is given together with text, but {ONE_ALTERNATIVE}"),
    ({}, "", "no alternative of the union content is given; give one of the keys text, goods, flowers"),
]


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize(("change", "path", "words"), BROKEN_JSON)
def test_json_that_breaks_a_rule(package: Any, change: Any, path: str, words: str) -> None:
    obj = {**golden(package, 2, "text")[0].to_json(2), **change}
    if not change:
        del obj["text"]
    for read, form in ((package.Parcel.from_json, obj), (package.Parcel.from_json_text, json.dumps(obj))):
        with pytest.raises(tagwire.EncodeError, match=words) as rejected:
            read(form, 2)
        assert rejected.value.path == path


def test_match_statement_on_a_union(package: Any) -> None:
    def kinds(value: Any) -> str:
        match value.content:
            case ("text", text):
                return f"text {text}"
            case ("goods", package.Goods(grams=grams)):
                return f"{grams} grams"
            case ("flowers", [first, *_]):
                return f"flowers, {first} first"
            case other:
                return "something newer" if other is None else str(other)

    expected = ["text hi", "9 grams", "flowers, r first", "something newer"]
    assert [kinds(golden(package, 2, each)[0]) for each in ("text", "goods", "flowers", "unknown")] == expected


def test_a_union_can_be_set(package: Any) -> None:
    value = parcel(package, text="hi")
    value.content = ("goods", package.Goods(grams=1))
    assert (value.text, value.which("content")) == (None, "goods")
    value.content = None
    assert value.goods is None is value.content
    with pytest.raises(tagwire.EncodeError, match="content: expected one of text, goods, flowers, got 'depot'"):
        value.content = ("depot", "x")


def test_constructor_rejects_two_alternatives(package: Any) -> None:
    for _ in range(3):  # Python code creates the first object, the active engine the others
        with pytest.raises(tagwire.EncodeError) as error:
            parcel(package, text="hi", flowers=["r"])
        assert (error.value.path, error.value.message_name) == ("flowers", "Parcel")
        reason = f"is set, but so is text, and {ONE_ALTERNATIVE}; set one of them to None"
        assert str(error.value) == f"Parcel: flowers: {reason}"
        with pytest.raises(tagwire.EncodeError):
            parcel(package, text="hi").replace(flowers=())


def test_several_alternatives_are_rejected_where_they_are_written(package: Any) -> None:
    value = parcel(package, text="hi")
    value.flowers = ("r",)
    error = rejection_of(package, value, 2)
    assert error.path == "flowers" and "is set, but so is text" in error.reason
    with pytest.raises(tagwire.EncodeError):
        value.which("content")
    assert [(loss.path, loss.ignorable) for loss in value.losses(2)] == [("flowers", False)]


def test_no_alternative_is_rejected_where_the_version_has_some(package: Any) -> None:
    value = parcel(package)
    found = rejection_of(package, value, 1).reason
    assert found == "no alternative of the union content is set; set one of text, goods"
    assert "set one of text, goods, flowers" in rejection_of(package, value, 2).reason
    assert value.encode(0) == bytes.fromhex("00000001 00000000")
    assert [loss.path for loss in value.losses(1)] == ["content"]
    assert str(value.supported_versions()) == "0"
    with pytest.raises(tagwire.EncodeError, match="v1: content: this version can represent neither"):
        parcel(package, flowers=["r"]).for_version(1)


def test_bytes_with_two_alternatives_are_rejected_at_the_second(package: Any) -> None:
    _, data = golden(package, 2, "text")
    at = len(data) - 6  # the offset of the tag count
    two = data[:at] + bytes.fromhex("02 00 03 036869 01 06 01 00000009 00")
    error = rejection(package.Parcel, two, 2)
    assert (error.path, error.offset) == ("goods", at + 6)
    assert (error.found, error.expected) == ("goods and text", "one alternative of the union content")
    lenient = package.Parcel.decode(two, 2, strict=False)
    assert (lenient.text, lenient.goods.grams) == ("hi", 9)
    traced = tagwire.trace(package.Parcel, two, 2)
    assert traced.error is not None and traced.error.offset == at + 6


def test_bytes_without_an_alternative_are_rejected_at_the_section(package: Any) -> None:
    _, data = golden(package, 2, "text")
    at = len(data) - 6
    error = rejection(package.Parcel, data[:at] + b"\x00", 2)
    assert (error.path, error.offset) == ("", at)
    assert (error.found, error.expected) == ("no alternative of the union content", "one of text, goods, flowers")
    null = rejection(package.Parcel, data[:at] + bytes.fromhex("01 00 01 00"), 2)
    assert null.found == error.found, "a null alternative counts as missing"


def test_an_old_reader_keeps_an_alternative_that_it_does_not_know(package: Any) -> None:
    _, data = golden(package, 2, "unknown")
    value = package.Parcel.decode(data, 2)
    assert value.content is None is value.which("content") and value.unknown_tags == {9: b"\xff"}
    assert value.encode(2) == data


def test_json_has_only_the_alternative_that_is_set(package: Any) -> None:
    for style in ("lossless", "kafka"):
        form = golden(package, 2, "goods")[0].to_json(2, style=style)
        assert form["goods"] == {"grams": 9} and not {"text", "flowers"} & {*form}


def test_constructor_rejects_missing_required_fields(package: Any) -> None:
    for _ in range(3):  # Python code creates the first object, the active engine the others
        with pytest.raises(TypeError, match=r"__init__\(\) missing 1 required keyword-only argument: 'name'"):
            package.Person()
        assert package.Person(name="n").name == "n"
    with pytest.raises(TypeError, match="missing 2 required keyword-only arguments: 'depot' and 'sender'"):
        package.Parcel(id=1)


def test_a_fresh_object_has_the_defaults_of_required_fields(package: Any) -> None:
    assert fresh(package.Person) == package.Person(name="")
    parcel_object = fresh(package.Parcel)
    assert parcel_object == parcel(package, id=0)
    assert parcel_object.sender is not fresh(package.Parcel).sender
    text = Path(str(package.__file__)).with_name("serializers").joinpath("parcel.py").read_text(encoding="utf-8")
    assert "fresh(Person)" in text and "._fresh" not in text, "generated code calls what its door has"


def test_copies_and_pickles_of_required_fields(package: Any) -> None:
    person = package.Person(name="")
    assert repr(person) == "Person(name='')", "the call that makes it"
    assert all(each == person for each in (person.replace(), copy.copy(person), copy.deepcopy(person)))
    assert pickle.loads(pickle.dumps(person)) == person
    assert person.replace(name="m").name == "m"
    value, _ = golden(package, 2, "goods")
    assert copy.deepcopy(value) == value == pickle.loads(pickle.dumps(value))
    assert eval(repr(value), vars(package)) == value


def test_versions_without_a_required_field_have_its_default(package: Any) -> None:
    value, data = golden(package, 0, "")
    decoded = package.Parcel.decode(data, 0)
    assert (decoded.depot, decoded.sender) == ("", package.Person(name=""))
    assert package.Parcel.decode(data, 0).sender is not decoded.sender
    form = value.to_json(0)
    assert set(form) == {"id", "stops"}
    assert package.Parcel.from_json(form, 0) == value == package.Parcel.from_json_text(json.dumps(form), 0)
    assert rejection_of(package, value.replace(depot="d"), 0).path == "depot"
    assert value.replace(sender=package.Person(name="n")).encode(0) == data, "ignorable"


@pytest.mark.parametrize("default", [{}, {"default": "AAAAAAAAAAAAAAAAAAAAAQ"}])
def test_versions_without_a_required_uuid_have_its_default(tmp_path: Path, default: dict[str, str]) -> None:
    field = {"name": "Id", "type": "uuid", "versions": "1+", "required": True, **default}
    name = f"required_uuid_{len(default)}"
    cls = build_package(tmp_path, name, [PARCEL | {"fields": [field], "flexibleVersions": "none"}]).registry["Parcel"]
    value = cls(id=UUID(int=len(default)))
    check_bytes(value, 1, value.id.bytes)
    assert decoded(cls, b"", 0) == [value] * 3 and value.encode(0) == b""


def test_json_without_a_required_field_is_rejected(package: Any) -> None:
    form = golden(package, 2, "text")[0].to_json(2)
    for key in ("id", "depot", "sender"):
        broken = {name: form[name] for name in form if name != key}
        for read, text in ((package.Parcel.from_json, broken), (package.Parcel.from_json_text, json.dumps(broken))):
            with pytest.raises(tagwire.EncodeError, match=f"the key '{key}' is missing"):
                read(text, 2)


def test_elements_by_their_keys(package: Any) -> None:
    value, _ = golden(package, 2, "text")
    assert value.stops_by_key()[("a", 7)].minutes == 5
    twins = value.replace(stops=value.stops * 2)
    with pytest.raises(tagwire.EncodeError, match=r"stops\[2\]: has the key of an element before it, city, gate"):
        twins.stops_by_key()


@pytest.mark.parametrize(
    ("version", "offset", "key"), [(0, 13, "city 'a'"), (1, 12, "city 'a'"), (2, 13, "city 'a', gate 7")]
)
def test_elements_with_equal_keys_are_rejected(package: Any, version: int, offset: int, key: str) -> None:
    value, data = golden(package, version, {0: "", 1: "text", 2: "text"}[version])
    first = value.stops[0]
    error = rejection_of(package, value.replace(stops=(first, first)), version)
    assert error.path == "stops[1]"
    assert error.reason == f"has {key}, the same key as element 0; keys must be unique"
    one, two = {0: ("000161", "000162"), 1: ("0261", "0262"), 2: ("0261 07", "0262 00")}[version]
    rejected = rejection(package.Parcel, data.replace(bytes.fromhex(two), bytes.fromhex(one)), version)
    assert (rejected.path, rejected.offset) == ("stops[1]", offset)
    assert rejected.found == f"{key}, the same key as element 0"
    form = value.to_json(version)
    form["stops"][1] = form["stops"][0]
    with pytest.raises(tagwire.EncodeError, match=f"has {key}, the same key as element 0"):
        package.Parcel.from_json(form, version)


def test_key_fields_missing_from_a_version_are_ignored(package: Any) -> None:
    """Version 1 has no `gate`, which is part of the unique key: two stops that differ only in `gate` are duplicates."""
    stops = (package.Stop(city="a", gate=1), package.Stop(city="a", gate=2))
    value = parcel(package, text="", stops=stops)
    assert package.Parcel.decode(value.encode(2), 2).stops == stops
    with pytest.raises(tagwire.EncodeError):
        value.encode(1)


@pytest.mark.parametrize("version", range(3))
def test_engines_agree(package: Any, version: int) -> None:
    check_drawn(package.Parcel, version)


def test_a_rewrite_keeps_the_rules(package: Any) -> None:
    value, data = golden(package, 2, "text")
    texts = tagwire.select(package.Parcel, "text")
    assert texts.read(data, 2) == ["hi"]
    assert package.Parcel.decode(texts.rewrite(data, 2, str.upper), 2) == value.replace(text="HI")
    with pytest.raises(tagwire.EncodeError, match="no alternative of the union content"):
        texts.rewrite(data, 2, lambda _: None)
    with pytest.raises(tagwire.EncodeError, match="flowers and text") as error:
        tagwire.select(package.Parcel, "flowers").rewrite(data, 2, lambda _: ("r",))
    assert error.value.path == "flowers"
    cities = tagwire.select(package.Parcel, "stops[].city", "stops[].gate")
    with pytest.raises(tagwire.EncodeError, match="city 'c', gate 0, the same key as element 0"):
        cities.rewrite(data, 2, lambda city, gate: ("c", 0))


def test_a_trace_shows_the_alternative(package: Any) -> None:
    _, data = golden(package, 2, "goods")
    traced = tagwire.trace(package.Parcel, data, 2)
    assert traced.error is None and traced.canonical
    assert "goods.grams" in [node.path for node in traced.root.walk()]


def test_columns_keep_the_rules(package: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    pairs = [golden(package, 2, chosen) for chosen in ("text", "goods", "flowers")]
    array = pa.array(tagwire.arrow.decode_column(pa.array([data for _, data in pairs]), package.Parcel, 2))
    assert array.field("text").to_pylist() == ["hi", None, None]
    assert array.field("goods").to_pylist() == [None, {"grams": 9, "unknown_tags": []}, None]
    assert array.field("flowers").to_pylist() == [None, None, ["r"]]
    encoded = pa.array(tagwire.arrow.encode_column(array, package.Parcel, 2))
    assert encoded.to_pylist() == [data for _, data in pairs]
    none = pairs[0][1][:-6] + b"\x00"
    found = pa.array(tagwire.arrow.decode_column(pa.array([none]), package.Parcel, 2, errors="null"))
    assert found.to_pylist() == [None]
    with pytest.raises(tagwire.DecodeError, match="no alternative of the union content"):
        tagwire.arrow.decode_column(pa.array([none]), package.Parcel, 2)


def test_targets_name_the_rules(package: Any) -> None:
    spec = read_spec(json.dumps(PARCEL), file="Parcel.json").message
    assert spec is not None
    view = message_view(spec, "parcel_messages", "Parcel.json")
    rules = {row.path: row.rules for row in view.rows if row.rules}
    assert rules == {
        **dict.fromkeys(("id", "depot", "sender", "sender.name"), ("required",)),
        "stops": ("unique by key",),
        **dict.fromkeys(("text", "goods", "flowers"), ("an alternative of content",)),
    }
    assert [field.union for field in view.wire[2].struct.tagged] == ["content"] * 3
