import pytest
from editor_specs import FORMAT, SPEC, at, lines

from tagwire_workbench.language.editing import renamable
from tagwire_workbench.language.spec_names import Symbol, outline, references


@pytest.mark.parametrize(("text", "needle", "named"), [
    (SPEC, '"Picture"', [7, 4, 5]), (SPEC, '" [] Picture "', [7, 4, 5]), (SPEC, '"[]Inner"', [3]),
    (SPEC, '"Size"', [7]), (FORMAT, '"Flags"', [4, 5, 11]), (FORMAT, '"Flags.HasStamp"', [4, 5, 11]),
    (FORMAT, '"Items"', [7, 6]), (FORMAT, '"Key"', [8, 7, 9]), (FORMAT, '"Magic"', [3, 1]),
    (FORMAT, '"[]Item"', [7]),
])  # fmt: skip
def test_definitions_and_references(text: str, needle: str, named: list[int]) -> None:
    assert lines(text, [span.start for span in references(text, at(text, needle))]) == named


@pytest.mark.parametrize("needle", ['"Foo"', '"type"', '"0-1"', '"int8"', "["])
def test_names_without_a_definition(needle: str) -> None:
    assert references(SPEC, at(SPEC, needle)) == []
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
