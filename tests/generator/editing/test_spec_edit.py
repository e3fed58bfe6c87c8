import itertools
from typing import Any

import pytest

from tagwire.errors import SpecError
from tagwire_generator.editing.spec_edit import SpecEdit
from tagwire_generator.syntax.canonical import plain_tree
from tagwire_generator.syntax.parse import Items, parse
from tagwire_generator.syntax.spec_text import TOKEN

ENTRY = {"name": "N", "tag": 1}


def items_of(edit: SpecEdit) -> Items:
    items = edit.root.get("fields")
    assert isinstance(items, Items)
    return items


def inserted(text: str, index: int) -> str:
    edit = SpecEdit(text, file="R.json")
    edit.insert(items_of(edit), index, ENTRY)
    return edit.result()


def tree(text: str) -> Any:
    root = parse(text, file="R.json").root
    assert root is not None, text
    return plain_tree(root)


LINED = """{ "fields": [ // of the list
    // of A
    { "name": "A" }, // behind A
    /* of B,
       at length */
    { "name": "B" } /* behind B */ // and more
    // of the end
  ]
}"""

TABBED = '{\n\t"fields": [\n\t\t{\n\t\t\t"name": "A"\n\t\t}\n\t]\n}'
WINDOWS = '{ "fields": [\r\n  { "name": "A" }\r\n] }'
COMMA = '{ "fields": [\n  { "name": "A" },\n] }'
SET = [
    (LINED, 0, LINED.replace("of the list\n", 'of the list\n    { "name": "N", "tag": 1 },\n')),
    (LINED, 1, LINED.replace("behind A\n", 'behind A\n    { "name": "N", "tag": 1 },\n')),
    (LINED, 2, LINED.replace('"B" }', '"B" },').replace("and more\n", 'and more\n    { "name": "N", "tag": 1 }\n')),
    ('{"fields":[{"name":"A"},{"name":"B"}]}', 0, '{"fields":[{"name":"N","tag":1}, {"name":"A"},{"name":"B"}]}'),
    ('{"fields":[{"name":"A"},{"name":"B"}]}', 1, '{"fields":[{"name":"A"}, {"name":"N","tag":1},{"name":"B"}]}'),
    ('{"fields":[{"name":"A"}]}', 1, '{"fields":[{"name":"A"}, {"name":"N","tag":1}]}'),
    ('{ "fields": [] }', 0, '{ "fields": [\n  { "name": "N", "tag": 1 }\n] }'),
    ('{ "fields": [ // none\n] }', 0, '{ "fields": [ // none\n  { "name": "N", "tag": 1 }\n] }'),
    (TABBED, 1, TABBED.replace("\n\t]", ',\n\t\t{\n\t\t\t"name": "N",\n\t\t\t"tag": 1\n\t\t}\n\t]')),
    (WINDOWS, 1, WINDOWS.replace("\r\n]", ',\r\n  { "name": "N", "tag": 1 }\r\n]')),
    (COMMA, 1, COMMA.replace("\n]", '\n  { "name": "N", "tag": 1 },\n]')),
    ('{ "fields": [\n  { "name": "A" } ] }', 1, '{ "fields": [\n  { "name": "A" },\n  { "name": "N", "tag": 1 } ] }'),
]


@pytest.mark.parametrize(("text", "index", "expected"), SET)
def test_an_entry_is_set_like_its_neighbour(text: str, index: int, expected: str) -> None:
    assert inserted(text, index) == expected


GAPS = ("", " ", "\n  ", " // c, }\n", " /* c ] */ ", "\n// [\n  ")
"""Whitespace and comments between two tokens."""
PAIRS = [(GAPS[a], GAPS[b], GAPS[(a + b) % len(GAPS)]) for a, b in itertools.product(range(len(GAPS)), repeat=2)]
"""Gaps for three places: each pair from GAPS, and a third gap that depends on it. All triples would be too many."""


@pytest.mark.parametrize("gaps", PAIRS)
@pytest.mark.parametrize("comma", ["", ","])
def test_only_text_is_added_whatever_is_between_tokens(gaps: tuple[str, ...], comma: str) -> None:
    a, b, c = gaps
    text = f'{{ "s": "}} // \\"x",{a}"fields": [{a}{{ "name": "A" }}{b},{a}{{{b}"name": "B"{c}}}{c}{comma}{b}]{a}}}'
    before = tree(text)
    for index in (0, 1, 2):
        after = inserted(text, index)
        expected = [*before["fields"][:index], ENTRY, *before["fields"][index:]]
        assert tree(after) == before | {"fields": expected}, after
        rest = iter(after)
        assert all(letter in rest for letter in text), f"something is gone: {after}"
        assert comments(after) == comments(text)


def comments(text: str) -> list[str]:
    return [found[0] for found in TOKEN.finditer(text) if found.lastgroup == "comment"]


def test_a_value_is_replaced_and_a_list_added() -> None:
    text = '{\n  "versions": "0-1" /* old */, "fields": [] // none\n}'
    edit = SpecEdit(text, file="R.json")
    edit.replace(edit.root, "versions", "0-2")
    edit.add_list(edit.root, "optionalFields", ENTRY)
    assert edit.result() == (
        '{\n  "versions": "0-2" /* old */, "fields": [], // none\n'
        '  "optionalFields": [\n    { "name": "N", "tag": 1 }\n  ]\n}'
    )


@pytest.mark.parametrize("start", ['{ "versions": "0-1"', '{ "a":    "x", "versions": "0-1"'])
def test_edits_that_damage_the_text_raise(start: str) -> None:
    edit = SpecEdit(f'{start}, "fields": [] }}', file="R.json")
    edit.replace(edit.root, "versions", "0-2")
    edit.replace(edit.root, "versions", "0-3")  # this value is not in the text
    with pytest.raises(
        SpecError, match=r"^R\.json: the spec's formatting can't be preserved; run `tagwire fmt` first$"
    ):
        edit.result()
