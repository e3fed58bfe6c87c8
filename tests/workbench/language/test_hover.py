import pytest

from tagwire_generator.model import MessageSpec
from tagwire_generator.problems import RULES
from tagwire_generator.reading.spec import read_spec
from tagwire_workbench.language.hover import field_example, hover, register_hover, rule_text

SPEC = """{
  "name": "FindShelfRequest", "type": "request", "apiKey": 12, "validVersions": "0-1", "flexibleVersions": "1+",
  "fields": [
    { "name": "Library", "type": "string", "versions": "0", "about": "Where the shelf is." },
    { "name": "Books", "type": "[]Book", "versions": "0+", "fields": [
      { "name": "Id", "type": "int32", "versions": "0+" },
      { "name": "Cover", "type": "Picture", "versions": "1+", "nullableVersions": "1+", "default": "null" }
    ] },
    { "name": "Trace", "type": "string", "taggedVersions": "1+", "tag": 0 }
  ],
  "commonStructs": [
    { "name": "Picture", "versions": "1+", "fields": [ { "name": "Data", "type": "bytes", "versions": "1+" } ] }
  ]
}
"""


@pytest.fixture(scope="module")
def message() -> MessageSpec:
    result = read_spec(SPEC)
    assert result.message is not None, result.problems
    return result.message


def shown(needle: str, message: MessageSpec | None = None, *, inside: int = 1, text: str = SPEC) -> str:
    found = hover(text, text.index(needle) + inside, message)
    return found.text if found is not None else ""


@pytest.mark.parametrize(
    ("needle", "expected"),
    [
        ('"validVersions"', ["**validVersions**: the existing versions", "Required"]),
        ('"nullableVersions"', ["**nullableVersions**: the versions that allow null"]),
        ('"FindShelfRequest"', ["**FindShelfRequest**: `request`", "- apiKey: `12`", "- validVersions: `0-1`"]),
        ('"Library"', ["**Library**: `string`, field of FindShelfRequest", "Where the shelf is.", "- versions: `0`"]),
        ('"Id"', ["**Id**: `int32`, field of Book"]),
        ('"Data"', ["**Data**: `bytes`, field of Picture"]),
        ('"[]Book"', ["**Book**: struct", "- Id: `int32` 0+", "- Cover: `Picture` 1+"]),
        ('"Picture"', ["**Picture**: struct", "- versions: `1+`", "- Data: `bytes` 1+"]),
        ('"int32"', ["**int32**: 4 bytes, from -2147483648 to 2147483647"]),
        ('"bytes"', ["**bytes**: a length, int32 or compact, then bytes"]),
        ('"request"', ["**type**: the kind of message"]),
    ],
)
def test_hover_texts(needle: str, expected: list[str]) -> None:
    found = shown(needle)
    assert [line for line in expected if line not in found] == [], found


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        # Version 0 is not flexible, so the length is an int16.
        ('"Library"', 'Version 0 writes `"a"` as `00 01 61`'),
        # A compact count (1 + 1), then the element: the int32 1, a cover, and an empty tag section. The cover is the
        # marker 1, a compact length (1 + 1), the byte 01, and an empty tag section.
        ('"Books"', 'Version 1 writes `[{"id": 1, "cover": {"data": "AQ=="}}]` as `02 00 00 00 01 01 02 01 00 00`'),
        ('"Id"', "Version 1 writes `1` as `00 00 00 01`"),
        # The bytes of a tagged field are its tag (0), its size (2), a compact length (1 + 1), and the letter a.
        ('"Trace"', 'Version 1 writes `"a"` as `00 02 02 61`'),
    ],
)
def test_an_example_of_its_bytes(message: MessageSpec, field: str, expected: str) -> None:
    assert expected in shown(field, message)
    assert "writes" not in shown(field), "there is none while the spec has errors"


def test_examples_of_sensitive_fields_and_of_fields_in_arrays_of_arrays() -> None:
    text = SPEC.replace('"about": "Where', '"sensitive": true, "about": "Where')
    assert "as `00 01 61`" in shown('"Library"', read_spec(text).message, text=text)
    text = SPEC.replace("[]Book", "[][]Book").replace('"apiKey"', '"dialect": "tagwire", "apiKey"')
    assert "`1` as `00 00 00 01`" in shown('"Id"', read_spec(text).message, text=text)


def test_no_example_for_fields_without_versions(message: MessageSpec) -> None:
    assert field_example(message, "Book", "Nothing") is None
    assert field_example(message, "Nowhere", "Id") is None


def test_hover_works_in_incomplete_text() -> None:
    broken = SPEC[: SPEC.index('"[]Book"')]
    assert "field of FindShelfRequest" in shown('"Books"', text=broken)
    assert shown("{", text=broken, inside=0) == ""
    assert hover("", 0) is None


COLOURS = """{ "name": "Colour", "type": "register", "keys": "int8", "about": "What a cover looks like.", "entries": [
  { "key": 1, "name": "red", "description": "like blood" }, { "key": "0x02", "name": "blue" } ] }"""


def test_a_register_shows_its_entries() -> None:
    text = '{ "dialect": "tagwire", "fields": [ { "name": "A", "type": "int8", "enum": "Colour" } ] }'
    found = register_hover(text, text.index("Colour"), COLOURS)
    assert found is not None and text[found.span.start : found.span.end] == "Colour"
    assert "What a cover looks like." in found.text
    assert found.text.endswith("- 1 `red` like blood\n- 0x02 `blue`")
    assert register_hover(text, text.index("Colour"), "{") is None
    many = "".join(f'{{ "key": {number}, "name": "n{number}" }},' for number in range(50))
    long = register_hover(text, text.index("Colour"), f'{{ "name": "Colour", "entries": [ {many} ] }}')
    assert long is not None and long.text.endswith("- 39 `n39`\n- ... 10 more")


def test_broken_rule_is_explained_first() -> None:
    found = hover(SPEC, SPEC.index('"Library"') + 1, None, ["TW608", "TW608"])
    assert found is not None
    assert found.text.startswith("**TW608** (error): a tag is used twice")
    assert found.text.count("**TW608**") == 1
    assert "// bad" in found.text and "// good" in found.text and "**Library**" in found.text


@pytest.mark.parametrize("rule", [*RULES, "TW901", "TL01"])
def test_every_rule_has_a_text(rule: str) -> None:
    assert rule_text(rule).startswith(f"**{rule}** (")


def test_unknown_rule_has_no_text() -> None:
    assert rule_text("TW999") == ""
