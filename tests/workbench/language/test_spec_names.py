import pytest

from tagwire_workbench.language.editing import renamable
from tagwire_workbench.language.spec_names import Symbol, definition, outline, references

SPEC = """{ "name": "Foo", "type": "data", "validVersions": "0-1", "flexibleVersions": "1+",
  "fields": [
    { "name": "A", "type": "[]Inner", "versions": "0+", "fields": [
      { "name": "Pic", "type": "Picture", "versions": "0+" } ] },
    { "name": "Pic", "type": " [] Picture ", "versions": "0+" } ],
  "commonStructs": [
    { "name": "Picture", "versions": "0+", "fields": [ { "name": "Size", "type": "int8", "versions": "0+" } ] } ] }
"""
FORMAT = """{ "type": "format", "name": "Foo", "format": "foo", "discriminator": "Magic", "fields": [
    { "name": "Length", "type": "int32", "lengthOf": "rest" },
    { "name": "Magic", "type": "int8", "equals": 9 },
    { "name": "Flags", "type": "int16", "bits": [ { "name": "HasStamp", "bits": 0 } ] },
    { "name": "Stamp", "type": "int64", "when": { "field": "Flags.HasStamp" } },
    { "name": "Count", "type": "int32", "countOf": "Items" },
    { "name": "Items", "type": "[]Item", "ascending": "Key", "fields": [
      { "name": "Key", "type": "int32" },
      { "name": "Size", "type": "varint", "deltaOf": "Key" },
      { "name": "Value", "type": "bytes", "length": "varint" },
      { "name": "Odd", "type": "int8", "when": { "field": "Flags.HasStamp" } } ] } ] }
"""


def at(text: str, needle: str, inside: int = 1) -> int:
    return text.index(needle) + inside


def lines(text: str, offsets: list[int]) -> list[int]:
    return [text.count("\n", 0, offset) + 1 for offset in offsets]


@pytest.mark.parametrize(
    ("text", "needle", "declared", "named"),
    [
        (SPEC, '"Picture"', 7, [7, 4, 5]),
        (SPEC, '" [] Picture "', 7, [7, 4, 5]),
        (SPEC, '"[]Inner"', 3, [3]),
        (SPEC, '"Size"', 7, [7]),
        (FORMAT, '"Flags"', 4, [4, 5, 11]),
        (FORMAT, '"Flags.HasStamp"', 4, [4, 5, 11]),
        (FORMAT, '"Items"', 7, [7, 6]),
        (FORMAT, '"Key"', 8, [8, 7, 9]),
        (FORMAT, '"Magic"', 3, [3, 1]),
        (FORMAT, '"[]Item"', 7, [7]),
    ],
)
def test_definitions_and_references(text: str, needle: str, declared: int, named: list[int]) -> None:
    found = definition(text, at(text, needle))
    assert found is not None and lines(text, [found.start]) == [declared]
    assert lines(text, [span.start for span in references(text, at(text, needle))]) == named


@pytest.mark.parametrize("needle", ['"Foo"', '"type"', '"0-1"', '"int8"', "["])
def test_names_without_a_definition(needle: str) -> None:
    assert definition(SPEC, at(SPEC, needle)) is None
    assert renamable(SPEC, at(SPEC, needle)) is None


def test_fields_of_other_structs_with_the_same_name_are_not_references() -> None:
    assert len(references(SPEC, at(SPEC, '"Pic"'))) == 1


def names(symbols: list[Symbol]) -> list[object]:
    return [(each.name, each.detail, names(list(each.children))) for each in symbols]


def test_the_outline() -> None:
    [message] = outline(SPEC)
    assert (message.name, message.detail, message.kind) == ("Foo", "data 0-1", "message")
    assert names(list(message.children)) == [
        ("A", "[]Inner 0+", [("Pic", "Picture 0+", [])]),
        ("Pic", " [] Picture  0+", []),
        ("Picture", "0+", [("Size", "int8 0+", [])]),
    ]
    register = '{ "name": "Keys", "type": "register", "entries": [ { "key": 7, "name": "a.b" } ] }'
    assert names(outline(register)) == [("Keys", "register", [("a.b", "7", [])])]
    assert outline("") == [] and outline("[1]") == []
    assert names(outline('{ "name": "Foo", "fields": [ { "name": "A", "ty')) == [("Foo", "", [("A", "", [])])]
