import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwire_workbench.language.text_tree import TextTree, Value

KAFKA = Path(__file__).parents[3] / "message_specs" / "kafka" / "clients"


def plain(value: Value) -> Any:
    if value.kind == "object":
        return {entry.key: plain(entry.value) for entry in value.entries if entry.value}
    if value.kind == "list":
        return [plain(item) for item in value.items]
    return value.text if value.kind == "string" else json.loads(value.text)


def test_deep_nesting() -> None:
    tree = TextTree(40_000 * "[" + 40_000 * "}")
    assert {tree.token_at(offset) for offset in range(80_000)} == {(at, at + 1) for at in range(80_000)}


def test_text_tree_of_a_document_equals_json() -> None:
    text = '{ "a": [1, {"b": null}, []], "c\\n": "x\\"y", "d": { } }'
    assert plain(TextTree(text).root) == json.loads(text)


@pytest.mark.parametrize("name", ["FetchRequest", "ProduceRequest", "MetadataResponse"])
def test_text_tree_of_a_spec_equals_json(name: str) -> None:
    text = (KAFKA / f"{name}.json").read_text("utf-8")
    lines = (line for line in text.splitlines() if not line.strip().startswith("//"))
    assert plain(TextTree(text).root) == json.loads("\n".join(lines))


def test_values_have_character_positions() -> None:
    text = '{ "a": "b\\"c", "d": [ 1 ] }'
    found = {text[value.start : value.end] for value in TextTree(text).values()}
    assert found == {text, '"b\\"c"', "[ 1 ]", "1"}
    [content] = [value.content for value in TextTree(text).values() if value.kind == "string"]
    assert text[content.start : content.end] == 'b\\"c'


CURSORS = {
    "comma": ['{ "name"| ', '{ "name": "Foo"| }', '{ "a": [ 1 | ] }', '{ "a": { } | }'],
    "key": ["{ |", '{ "name": "Foo", |'],
    "value": ["|", '{ "a": [ | ] }'],
}


@pytest.mark.parametrize(
    ("text", "role", "key", "written"),
    [
        *((text, role, None, "") for role, texts in CURSORS.items() for text in texts),
        ('{ "n|', "key", None, '"n'),
        ('{ "n|am" }', "key", None, '"nam"'),
        ("{ n| }", "key", None, "n"),
        ('{ "name": |', "value", "name", ""),
        ('{ "name": "F|', "value", "name", '"F'),
        ('{ "name": "F|oo", "x": 1 }', "value", "name", '"Foo"'),
        ('{ "a": tr| }', "value", "a", "tr"),
        ('{ "a": [ "x", "y|" ] }', "value", None, '"y"'),
        ('{ "a": { "b": | } }', "value", "b", ""),
        ('{ "a": 1 // no|w\n}', "nothing", None, "// now"),
        ('{ /* a "b|" */ }', "nothing", None, '/* a "b" */'),
        ('{ "a": "b|, "c": 1', "value", "a", '"b'),  # the unclosed string ends at the cursor
        ('{ "a" "b|"', "key", None, '"b"'),
    ],
)
def test_context_of_the_cursor(text: str, role: str, key: str | None, written: str) -> None:
    offset = text.index("|")
    bare = text.replace("|", "", 1)
    slot = TextTree(bare).slot(offset)
    found = bare[slot.written.start : slot.written.end]
    assert (slot.role, slot.entry.key if slot.entry else None, found) == (role, key, written)


@given(st.text(alphabet='{}[],:"\\/*ab1 \n'), st.integers(0, 50))
def test_any_text_has_a_tree(text: str, offset: int) -> None:
    tree = TextTree(text)
    slot = tree.slot(min(offset, len(text)))
    assert 0 <= slot.written.start <= slot.written.end <= len(text)
    for value in tree.values():
        assert 0 <= value.start <= value.end <= len(text)
    tree.value_at(offset)
    tree.entry_at(offset)


def test_deeply_nested_text_needs_no_recursion() -> None:
    tree = TextTree('{"a":' * 20_000)
    assert tree.slot(100_000).role == "value"
    assert sum(1 for _ in tree.values()) == 20_000
