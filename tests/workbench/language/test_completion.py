import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwire.wire.types import KAFKA_TYPES, WIRE_TYPES
from tagwire_generator.syntax.spec_schema import key_kinds, schema
from tagwire_workbench.language.completion import Offer, completions

HEAD = '{ "name": "Foo", "type": "request", "validVersions": "0-3", "flexibleVersions": "1+", '
FORMAT = '{ "type": "format", "name": "Foo", "fields": [ { "name": "A" }, '


def offers(text: str, *, is_extended: bool = False) -> list[Offer]:
    return completions(text.replace("|", "", 1), text.index("|"), is_extended=is_extended)


def labels(text: str) -> list[str]:
    return [offer.label for offer in offers(text)]


def after(text: str, label: str) -> str:
    bare = text.replace("|", "", 1)
    [offer] = [each for each in offers(text) if each.label == label]
    cut = len(offer.text) - offer.after_cursor
    return f"{bare[: offer.span.start]}{offer.text[:cut]}|{offer.text[cut:]}{bare[offer.span.end :]}"


@pytest.mark.parametrize(
    ("before", "label", "expected"),
    [
        ("{ | }", "name", '{ "name": "|" }'),
        ('{ "na|" }', "name", '{ "name": "|" }'),
        ("{ na| }", "name", '{ "name": "|" }'),
        ('{ "na|', "name", '{ "name": "|"'),
        ('{ "na|": "Foo" }', "name", '{ "name"|: "Foo" }'),
        ("{ | }", "apiKey", '{ "apiKey": | }'),
        ("{ | }", "fields", '{ "fields": [|] }'),
        ('{ "type": "request", | }', "headerVersions", '{ "type": "request", "headerVersions": {|} }'),
        ('{ "fields": [ { | } ] }', "ignorable", '{ "fields": [ { "ignorable": true| } ] }'),
        ('{ "fields": [ { "type": | } ] }', "[]int8", '{ "fields": [ { "type": "[]int8"| } ] }'),
        ('{ "fields": [ { "ignorable": | } ] }', "True", '{ "fields": [ { "ignorable": true| } ] }'),
        ('{ "type": "re|" }', "response", '{ "type": "response"| }'),
        ('{ "type": "re|, "name": "Foo" }', "response", '{ "type": "response"|, "name": "Foo" }'),
    ],
)
def test_text_inserted_by_suggestions(before: str, label: str, expected: str) -> None:
    assert after(before, label) == expected


def test_keys_are_those_of_the_schema_that_are_not_there_yet() -> None:
    found = offers('{ "name": "Foo", "fields": [ { "name": "A", | } ] }')
    everything = set(key_kinds("field"))
    assert {offer.label for offer in found} <= everything - {"name"}
    descriptions = schema()["$defs"]["field"]["properties"]
    assert all(offer.description == descriptions[offer.label]["description"] for offer in found)
    assert [offer.label for offer in found if offer.detail] == ["type"], "what is required comes first, and says so"
    assert found[0].label == "type"


@pytest.mark.parametrize(
    ("text", "has", "missing"),
    [
        (HEAD + "| }", ["listeners", "apiKey", "commonStructs"], ["fallback", "versionsWithOptional", "name"]),
        (HEAD.replace("request", "response") + "| }", ["fallback", "headerVersions"], ["listeners"]),
        ('{ "versionsWithOptional": "1+", | }', ["optionalFields"], ["flexibleVersions"]),
        ('{ "versionsWithOptional": "1+", "fields": [ { | } ] }', ["optionalFields"], ["tag", "taggedVersions"]),
        ('{ "versionsWithOptional": "1+", "optionalFields": [ { | } ] }', ["tag", "nullable"], ["versions"]),
        ('{ "flexibleVersions": "1+", "fields": [ { | } ] }', ["tag", "taggedVersions"], ["optionalFields"]),
        ('{ "type": "format", | }', ["format", "discriminator", "claims"], ["apiKey"]),
        ('{ "type": "format", "fields": [ { | } ] }', ["lengthOf", "when", "bits"], ["versions"]),
        ('{ "type": "format", "fields": [ { "when": { | } } ] }', ["field", "equals"], ["name"]),
        ('{ "type": "format", "fields": [ { "bits": [ { | } ] } ] }', ["values"], ["type"]),
        ('{ "type": "register", | }', ["keys", "entries", "suffix"], ["fields"]),
        ('{ "type": "register", "entries": [ { | } ] }', ["key", "codec", "retriable"], ["type"]),
        ('{ "commonStructs": [ { | } ] }', ["name", "versions", "fields"], ["type"]),
        ('{ "fallback": { | } }', ["version", "errorCode"], ["name"]),
        ('{ "fields": { | } }', ["name", "type"], ["apiKey"]),  # a single field instead of a list is allowed
        ('{ "fields": [ { "name": "A", "type": "[]S", "fields": [ { | ', ["versions"], ["apiKey"]),
    ],
)
def test_completion_offers_the_keys_of_the_position(text: str, has: list[str], missing: list[str]) -> None:
    found = labels(text)
    assert set(has) <= set(found)
    assert not set(missing) & set(found)


def test_a_struct_is_offered_with_its_documentation() -> None:
    structs = '"commonStructs": [ { "name": "S", "about": "A shelf." } ]'
    found = offers(f'{{ {structs}, "fields": [ {{ "name": "A", "type": "|" }} ] }}')
    described = {offer.label: offer.description for offer in found if offer.description}
    assert described == {"S": "A shelf.", "[]S": "A shelf."}


def test_extensions_are_offered_where_they_may_be_used() -> None:
    text = '{ "dialect": "tagwire", | }'
    assert "deprecated" in labels(text)
    assert "deprecated" not in labels("{ | }")
    assert "deprecated" in [offer.label for offer in offers("{ | }", is_extended=True)]
    assert "deprecated" not in [offer.label for offer in offers(text.replace("tagwire", "kafka"), is_extended=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{ "type": "request", "listeners": [ | ] }', ["zkBroker", "broker", "controller"]),
        ('{ "fields": [ { "zeroCopy": | } ] }', ["True", "False"]),
        ('{ "type": "register", "keys": "|" }', schema()["$defs"]["keysType"]["enum"]),
        ('{ "type": "format", "fields": [ { "length": "|" } ] }', ["int16", "int32", "varint", "uvarint", "rest"]),
        (HEAD + '"fields": [ { "versions": "|" } ] }', ["0+", "3+", "2+", "1+", "none"]),
        (FORMAT + '{ "name": "B", "lengthOf": "|" } ] }', ["A"]),
        (FORMAT + '{ "name": "B", "when": { "field": "|" } } ] }', ["A", "B"]),
        (FORMAT + '{ "name": "C" } ], "discriminator": "|" }', ["A", "C"]),
        ('{ "fields": [ { "name": "|" } ] }', []),
        ('{ "unknown": | }', []),
        ('{ "name": "Foo" | }', []),
        ("|", []),
        ('// "|"', []),
    ],
)
def test_values(text: str, expected: list[str]) -> None:
    assert labels(text) == expected


def test_registers_of_the_set() -> None:
    text = '{ "dialect": "tagwire", "fields": [ { "name": "A", "type": "int8", "enum": "" } ] }'
    found = completions(text, text.index('""') + 1, registers=["Colour", "Shape"])
    assert [(offer.label, offer.text) for offer in found] == [("Colour", '"Colour"'), ("Shape", '"Shape"')]


def test_shared_structs_of_the_set() -> None:
    text = '{ "dialect": "tagwire", "imports": [ { "name": "" } ], "fields": [ { "name": "A", "type": "§" } ] }'
    found = completions(text, text.index('""') + 1, shared=["Point"])
    assert [(offer.label, offer.kind, offer.text) for offer in found] == [("Point", "struct", '"Point"')]
    assert {"Point", "[]Point"} <= set(labels(text.replace('""', '"Point"').replace("§", "|")))
    common = '{ "commonStructs": [ { "name": "" } ] }'
    assert completions(common, common.index('""') + 1, shared=["Point"]) == []


STRUCTS = """{ "fields": [
    { "name": "A", "type": "[]Inner", "fields": [ { "name": "X", "type": "int8" } ] },
    { "name": "B", "type": "§" } ],
  "commonStructs": [ { "name": "Shared", "versions": "0+" } ] }"""


def test_types_are_primitives_and_the_structs_that_may_be_used_here() -> None:
    found = labels(STRUCTS.replace("§", "|"))
    kafka = [name for name in WIRE_TYPES if name in KAFKA_TYPES]
    assert found[: len(kafka)] == kafka
    extended = labels(STRUCTS.replace("{", '{ "dialect": "tagwire",', 1).replace("§", "|"))
    assert extended[: len(WIRE_TYPES)] == list(WIRE_TYPES)
    assert {"Shared", "[]Shared", "[]bytes"} <= set(found)
    assert not {"Inner", "[]records", "varint"} & set(found), "an inline struct is its own field's alone"
    assert "Inner" in labels(STRUCTS.replace("[]Inner", "|Inner"))
    assert "uvarint" in labels(FORMAT + '{ "type": "|" } ] }')


def test_every_schema_key_is_suggested_somewhere() -> None:
    seen = set[str]()
    starts = ('"type": "request",', '"type": "response",', '"type": "format",', '"type": "register",')
    insides = ('"fields": [ {', '"commonStructs": [ {', '"optionalFields": [ {', '"entries": [ {', '"ranges": [ {', "")
    for start in starts:
        for dialect in ("", '"versionsWithOptional": "1+",'):
            for inside in insides:
                text = "{" + start + dialect + inside + "|"
                seen |= {offer.label for offer in offers(text, is_extended=True)} | {"type", "versionsWithOptional"}
    for definition in ("message", "struct", "field", "optionalField", "format", "formatField", "register", "entry"):
        missing = set(schema()["$defs"][definition]["properties"]) - seen
        assert not missing, definition


@given(st.text(alphabet='{}[],:"\\ tn', max_size=40), st.integers(0, 40))
def test_no_text_is_too_broken(text: str, offset: int) -> None:
    completions('{ "fields": [' + text, min(offset, len(text)) + 13)
