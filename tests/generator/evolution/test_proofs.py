"""Test samples, and check the findings of `breaking` on random pairs of specs.

For each breaking change, the proof must be bytes that the other spec can't decode or decodes differently. If there is
no breaking change, both specs must encode a value to the same bytes.
"""

import json
from collections.abc import Mapping
from struct import error as StructError
from typing import Any, Final

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from independent_encoder import encode as independent_encode

from tagwire.errors import DecodeError
from tagwire.interpreter.reader import decode
from tagwire.interpreter.writer import encode
from tagwire.layout import Array, Fixed, Layout, Nested, Sized, Type
from tagwire.limits import DEFAULT_LIMITS
from tagwire.message.field_table import layout_of
from tagwire_generator.evolution import Proof, compare_messages
from tagwire_generator.evolution.proofs import as_json, converted, samples, without_classes
from tagwire_generator.message_classes import message_class
from tagwire_generator.model import MessageSpec
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.spec import read_spec

OPTIONS = SpecOptions(tag_gaps=True, allow_struct_arrays=True)
TYPES = ("bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "string", "bytes", "uuid")
DEFAULTS = {
    "int8": ("0", "5"),
    "int32": ("0", "-1"),
    "string": ("", "x"),
    "bool": ("false", "true"),
    "float64": ("0.5", "-1"),
}
NAMES = "ABCD"

Json = dict[str, Any]


@st.composite
def json_field(draw: st.DrawFn, depth: int) -> Json:
    """Draw a field as JSON, except for its name. If it has a `tag`, it is tagged in all versions that allow tags."""
    kind = draw(st.sampled_from(("S", "[]S", *TYPES, "records", "[]int32", "[]string") if depth else TYPES))
    field: Json = {"type": kind, "tag": draw(st.one_of(st.none(), st.integers(0, 3)))}
    if kind.endswith("S"):
        field["fields"] = draw(json_fields(0))
    if kind.startswith("[]") or kind in ("string", "bytes", "records", "S"):
        field["nullable"] = draw(st.booleans())
    if kind in DEFAULTS:
        field["default"] = draw(st.sampled_from(DEFAULTS[kind]))
    elif field.get("nullable") and draw(st.booleans()):
        field["default"] = "null"
    return field


@st.composite
def json_fields(draw: st.DrawFn, depth: int) -> dict[str, Json]:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    return {name: draw(json_field(depth)) for name in names}


@st.composite
def changed(draw: st.DrawFn, fields: dict[str, Json], depth: int = 1) -> dict[str, Json]:
    """Draw a copy of the fields after up to two random edits, such as adding, renaming or moving a field."""
    items = list(fields.items())
    for _ in range(draw(st.integers(0, 2))):
        if not items:
            break
        index = draw(st.integers(0, len(items) - 1))
        name, field = items[index]
        match draw(st.sampled_from(("drop", "add", "move", "rename", "retype", "null", "tag", "default", "inside"))):
            case "drop" if len(items) > 1:
                del items[index]
            case "add":
                items.insert(index, (draw(st.sampled_from(NAMES)), draw(json_field(depth))))
            case "move":
                items.insert(draw(st.integers(0, len(items) - 1)), items.pop(index))
            case "rename":
                items[index] = (draw(st.sampled_from("ABCDEF")), field)
            case "retype":
                items[index] = (name, draw(json_field(depth)))
            case "null" if "nullable" in field:
                items[index] = (name, {**field, "nullable": not field["nullable"], "default": None})
            case "tag":
                items[index] = (name, {**field, "tag": draw(st.one_of(st.none(), st.integers(0, 3)))})
            case "default" if field["type"] in DEFAULTS:
                items[index] = (name, {**field, "default": draw(st.sampled_from(DEFAULTS[field["type"]]))})
            case "inside" if "fields" in field:
                items[index] = (name, {**field, "fields": draw(changed(field["fields"], 0))})
            case _:
                pass
    return dict(items)


@st.composite
def spec_pairs(draw: st.DrawFn) -> tuple[Json, Json]:
    """Draw an old and a new spec of one dialect, as JSON. In most pairs, both encode messages to the same bytes."""
    draft = draw(st.booleans())
    sections = draw(st.sampled_from([(False, False), (True, True), (True, True), (False, True), (True, False)]))
    old = draw(json_fields(1))
    new = draw(st.one_of(changed(old), changed(old), json_fields(1)))
    specs = []
    for fields, has_section in zip((old, new), sections, strict=True):
        names = iter(f"S{number}" for number in range(9))
        members = _members(fields, has_section=has_section, draft=draft, names=names)
        head: Json = {"type": "data", "name": "Sample", "validVersions": "0"}
        head["versionsWithOptional" if draft else "flexibleVersions"] = "0+" if has_section else "none"
        specs.append(head | members)
    return specs[0], specs[1]


def _members(fields: Mapping[str, Json], *, has_section: bool, draft: bool, names: Any) -> Json:
    plain: list[Json] = []
    optional: list[Json] = []
    tags: set[int] = set()
    for name, field in fields.items():
        tag = field["tag"] if has_section and field["type"] != "records" and field["tag"] not in tags else None
        is_nullable = field.get("nullable") and not (tag is not None and draft and field["type"] == "S")
        member: Json = {"name": name, "type": field["type"]}
        if field.get("default") is not None and (field["default"] != "null" or is_nullable):
            member["default"] = field["default"]
        if "fields" in field:
            member["type"] = field["type"].replace("S", next(names))
            member |= _members(field["fields"], has_section=has_section, draft=draft, names=names)
        if tag is not None and draft:
            optional.append(member | {"tag": tag, "nullable": bool(is_nullable)})
        else:
            ranges = {"versions": "0+", **({"nullableVersions": "0+"} if is_nullable else {})}
            plain.append(member | ranges | ({} if tag is None else {"tag": tag, "taggedVersions": "0+"}))
        tags |= set() if tag is None else {tag}
    return {"fields": plain} | ({"optionalFields": optional} if optional else {})


def read(spec: Json) -> MessageSpec:
    result = read_spec(json.dumps(spec), file="Sample.json", options=OPTIONS)
    assume(result.message is not None)
    assert result.message is not None
    return result.message


def layout(spec: MessageSpec) -> Layout:
    return without_classes(layout_of(message_class(spec), 0))


@st.composite
def values(draw: st.DrawFn, kind: Type) -> Any:
    if getattr(kind, "nullable", False) and draw(st.booleans()):
        return None
    if isinstance(kind, Array):
        return tuple(draw(st.lists(values(kind.element), max_size=2)))
    if isinstance(kind, Nested):
        return {field.name: draw(values(field.type)) for field in kind.struct.fields}
    assert isinstance(kind, Fixed | Sized)
    wire = kind.wire
    if isinstance(kind, Fixed) and wire.family == "integer":
        return draw(st.sampled_from((0, 1, 5, wire.low, wire.high)))
    texts = {
        "boolean": st.booleans(),
        "floating": st.sampled_from((0.0, 1.5)),
        "uuid": st.uuids(),
        "text": st.sampled_from(("", "x", "yz")),
        "binary": st.sampled_from((b"", b"\xff\x00")),
    }
    return draw(texts[wire.family])


@pytest.mark.thorough
@settings(max_examples=400)
@given(spec_pairs(), st.data())
def test_without_a_wire_finding_both_sides_have_the_same_bytes(pair: tuple[Json, Json], data: st.DataObject) -> None:
    old_spec, new_spec = map(read, pair)
    rules = {(finding.rule, finding.severity) for finding in compare_messages(old_spec, new_spec)}
    if any(severity == "wire" for _, severity in rules):
        return
    old, new = layout(old_spec), layout(new_spec)
    value = data.draw(values(Nested(old.root)))
    meant = converted(value, old.root, new.root, is_forward=True)
    # `back` is the value after conversion to the new spec and back, with defaults for fields that the new spec lacks.
    back = converted(meant, new.root, old.root, is_forward=False)
    if ("TW920", "semantic") in rules:
        # A field's type was replaced by a type with the same bytes. Nothing is compared here, because the value may be
        # out of range for one of the types.
        return
    data_of_new = encode(new, meant)
    assert encode(old, back) == data_of_new
    read_by_old, _ = decode(old, data_of_new, whole=True, strict=True, limits=DEFAULT_LIMITS)
    assert as_json(read_by_old, Nested(old.root)) == as_json(back, Nested(old.root))


_HEAD: Final[Json] = {"type": "data", "name": "Sample", "validVersions": "0"}
_A: Final[Json] = {"name": "A", "type": "bool", "versions": "0+"}
_B: Final[Json] = {"name": "B", "type": "int16", "versions": "0+"}
_ONE_BYTE_OF_TAGS: Final[Json] = _HEAD | {"versionsWithOptional": "0+", "fields": [_A, _B]}
_INT16_INSTEAD: Final[Json] = _HEAD | {"versionsWithOptional": "none", "fields": [_A | {"type": "int16"}, _B]}
"""For a 0 or 1 in A, the second spec has the same bytes as the first, in which the number of tags comes before A."""
_TRUE: Final[Json] = _HEAD | {"flexibleVersions": "none", "fields": [_A | {"default": "true"}]}
_SYMMETRIC: Final[list[Json]] = [_A, _B, _A | {"name": "C"}]
_TRUE_IN_A_STRUCT: Final[Json] = _TRUE | {"fields": [{**_B, "type": "S0", "fields": _TRUE["fields"]}]}


@pytest.mark.thorough
@settings(max_examples=400)
@given(spec_pairs())
@example((_INT16_INSTEAD, _ONE_BYTE_OF_TAGS))
@example((_TRUE, _TRUE_IN_A_STRUCT))
@example((_TRUE | {"fields": _SYMMETRIC}, _TRUE | {"fields": _SYMMETRIC[::-1]}))
def test_each_wire_finding_is_proven(pair: tuple[Json, Json]) -> None:
    old, new = map(read, pair)
    for finding in compare_messages(old, new):
        if finding.severity == "wire":
            assert finding.proof is not None, finding
            check(finding.proof, pair, (old, new))


def check(proof: Proof, pair: tuple[Json, Json], specs: tuple[MessageSpec, MessageSpec]) -> None:
    """Check a proof independently: encode `proof.value` again, and decode its bytes with the other spec."""
    assert proof.old_bytes != proof.new_bytes or proof.old_bytes is None
    sides = zip(pair, (proof.old_bytes, proof.new_bytes), strict=True)
    assert any(_is_bytes_of(spec, proof.value, data) for spec, data in sides), "made by another encoder"
    reader, data = (specs[0], proof.new_bytes) if proof.reader == "old" else (specs[1], proof.old_bytes)
    assert data is not None
    side = layout(reader)
    try:
        value, _ = decode(side, data, whole=True, strict=True, limits=DEFAULT_LIMITS)
    except DecodeError as error:
        assert str(error) == proof.error
    else:
        assert not proof.error
        assert as_json(value, Nested(side.root)) == proof.reads
        written = proof.old_bytes if proof.reader == "old" else proof.new_bytes
        assert written is None or written != encode(side, value), "the reader has what was meant"


def _is_bytes_of(spec: Json, value: Any, data: bytes | None) -> bool:
    try:
        return data is not None and independent_encode(spec, 0, value) == data
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError, StructError):
        return False


def dict_layout(*fields: dict[str, Any], flexible: str = "0+") -> Layout:
    spec = {"dialect": "tagwire", "type": "data", "name": "Parcel", "validVersions": "0", "flexibleVersions": flexible}
    found = read_spec(json.dumps(spec | {"fields": [{"versions": "0+"} | each for each in fields]}))
    assert found.message is not None, found.problems
    return without_classes(layout_of(message_class(found.message), 0))


def alternative(tag: int) -> dict[str, Any]:
    nulls = {"nullableVersions": "0+", "default": "null", "taggedVersions": "0+"}
    return {"name": "ABC"[tag], "type": "string", "tag": tag, "union": "U"} | nulls


NESTED = {"name": "S", "type": "[]S", "fields": [{"versions": "0+"} | alternative(tag) for tag in range(2)]}
WEIGHT = {"name": "Weight", "type": "int32"}


@pytest.mark.parametrize(("fields", "names"), [
    ([WEIGHT], ()), ([WEIGHT], ("weight",)),
    (map(alternative, range(3)), ()), (map(alternative, range(3)), ("b",)),
    ([NESTED], ()), ([NESTED], ("s", "b")),
])  # fmt: skip
def test_samples_are_valid_messages(fields: Any, names: tuple[str, ...]) -> None:
    struct = dict_layout(*fields)
    found = [*samples(struct, names, ())]
    assert len(found) > 1
    for value in found[:1] if names else found:  # if there are `names`, only the first message is sure to be valid
        again, _ = decode(struct, encode(struct, value), whole=True, strict=True, limits=DEFAULT_LIMITS)
        assert {key: again[key] for key in value} == value


POINT = {"name": "Place", "type": "Point", "fields": [{"name": "X", "type": "int32", "versions": "0+"}]}
NOTE = {"name": "Note", "type": "string", "versions": "0+", "nullableVersions": "0+"}
COLOUR = {"name": "Colour", "type": "string", "default": "red"}


@pytest.mark.parametrize(("old", "new", "before", "after"), [
    ([WEIGHT], [WEIGHT, COLOUR], {"weight": 5}, {"weight": 5, "colour": "red"}),
    ([WEIGHT, COLOUR], [WEIGHT], {"weight": 5, "colour": "blue"}, {"weight": 5}),
    ([POINT], [POINT, WEIGHT], {"place": {"x": 3}}, {"place": {"x": 3}, "weight": 0}),
    ([{"name": "Place", "type": "int32"}], [POINT], {"place": 3}, {"place": {"x": 3}}),
    ([NOTE], [{"name": "Note", "type": "S", "fields": [NOTE]}], {"note": None}, {"note": {"note": None}}),
    ([POINT], [{"name": "Place", "type": "int32"}], {"place": {"x": 3}}, {"place": 3}),
])  # fmt: skip
def test_a_value_is_carried_to_the_layout_after_a_change(
    old: Any, new: Any, before: dict[str, Any], after: dict[str, Any]
) -> None:
    source, target = (dict_layout(*fields, flexible="none").root for fields in (old, new))
    assert converted(before, source, target, is_forward=True) == after
    assert converted(before, source, target, is_forward=False) == after
