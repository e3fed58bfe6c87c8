import json
from pathlib import Path
from typing import Any

import pytest

from tagwire.errors import SpecError
from tagwire_generator.reading.spec import read_spec
from tagwire_generator.syntax.canonical import canonical_text, normal_form, plain_tree
from tagwire_generator.syntax.parse import parse

TESTS = Path(__file__).parents[2]
MESSAGE_SPECS = TESTS.parent / "message_specs"
KAFKA_SPECS = sorted((MESSAGE_SPECS / "kafka").rglob("*.json"))
CASES = (TESTS / "data" / "kafka_cases" / "test_specs").glob("*.json")
DRAFTS = (MESSAGE_SPECS / "drafts").rglob("*.json")
# tagwire doesn't write record format specs.
OTHER_SPECS = sorted(path for path in (*DRAFTS, *CASES) if '"type": "format"' not in path.read_text())


def canonical(text: str) -> str:
    root = parse(text, file="Foo.json").root
    assert root is not None
    return canonical_text(plain_tree(root))


def model(text: str) -> Any:
    result = read_spec(text, file="Foo.json", component="")
    assert [problem for problem in result.problems if problem.severity == "error"] == []
    return result.message


def message(**keys: Any) -> dict[str, Any]:
    return {"type": "data", "name": "Foo", "validVersions": "0-3", "flexibleVersions": "0+", **keys}


def field(**keys: Any) -> dict[str, Any]:
    return {"name": "Bar", "type": "int32", "versions": "0+", **keys}


LENIENT = """
// A spec that says everything in the way that tools do not.
{ "dialect": "tagwire", "fields": [
    { "versions": "0-32767", "type": " [] []  Bar ", "name": "Bars", "mapKey": false, /* of the first version */
      "fields": [
        { "type": "int32", "name": "Count", "versions": 0, "mapKey": "true", "about": "How many." },
        { "type": "bool", "name": "Open", "versions": "2-2", "default": "TRUE", "ignorable": 1, "about": true },
        { "type": "string", "name": "Rack", "taggedVersions": "1+", "tag": "0", "nullableVersions": "1+",
          "default": "null", "entityType": "unknown" },
        { "type": "Empty", "name": "Empty", "versions": "0+", "fields": [] }
      ] },
    { "name": "Limit", "type": "int32", "versions": "1-3", "default": "0x7fffffff", "about": 1.50 },
    { "name": "Data", "type": "bytes", "versions": "0+", "default": "", "zeroCopy": true, "nullableVersions": "none" },
    { "name": "Shared", "type": "Common", "versions": "0+", "flexibleVersions": null, "default": null },
    { "recordFormats": { "2-32767": "v2", "0-1": "v1" }, "name": "Batches", "type": "records", "versions": "0+" }
  ],
  "commonStructs": { "name": "Common", "versions": "0+" },
  "listeners": "broker", "validVersions": "0-3", "name": "FooRequest", "type": "request", "apiKey": "7",
  "flexibleVersions": "1+", "deprecatedVersions": "0", "latestVersionUnstable": false,
  "headerVersions": { "1+": 2, "0": "1" }
}
"""

CANONICAL = """\
{
  "dialect": "tagwire",
  "apiKey": 7,
  "type": "request",
  "name": "FooRequest",
  "validVersions": "0-3",
  "deprecatedVersions": "0",
  "flexibleVersions": "1+",
  "listeners": ["broker"],
  "headerVersions": { "0": "1", "1+": "2" },
  "fields": [
    { "name": "Bars", "type": "[][]Bar", "versions": "0+", "fields": [
      { "name": "Count", "type": "int32", "versions": "0", "mapKey": true, "about": "How many." },
      { "name": "Open", "type": "bool", "versions": "2", "default": "true", "ignorable": true, "about": "true" },
      { "name": "Rack", "type": "string", "versions": "1+", "nullableVersions": "1+", "tag": 0,
        "taggedVersions": "1+", "default": "null" },
      { "name": "Empty", "type": "Empty", "versions": "0+", "fields": [] }
    ] },
    { "name": "Limit", "type": "int32", "versions": "1-3", "default": "2147483647", "about": "1.50" },
    { "name": "Data", "type": "bytes", "versions": "0+", "zeroCopy": true },
    { "name": "Shared", "type": "Common", "versions": "0+" },
    { "name": "Batches", "type": "records", "versions": "0+", "recordFormats": { "0-1": "v1", "2+": "v2" } }
  ],
  "commonStructs": [
    { "name": "Common", "versions": "0+", "fields": [] }
  ]
}
"""

DRAFT = """
{ "type": "data", "name": "Foo", "validVersions": "0-1", "versionsWithOptional": "1+",
  "fields": [ { "name": "Bars", "type": "[]Bar", "versions": "0+",
    "fields": [ { "name": "Count", "type": "int32", "versions": "0+" } ],
    "optionalFields": [ { "name": "Rack", "type": "string", "tag": 65535, "nullable": true } ] } ],
  "optionalFields": [ { "name": "Host", "type": "string", "tag": "0xA", "nullable": false }, ],
}
"""

CANONICAL_DRAFT = """\
{
  "type": "data",
  "name": "Foo",
  "validVersions": "0-1",
  "versionsWithOptional": "1+",
  "optionalFields": [
    { "name": "Host", "type": "string", "tag": "0x000a" }
  ],
  "fields": [
    { "name": "Bars", "type": "[]Bar", "versions": "0+", "optionalFields": [
      { "name": "Rack", "type": "string", "nullable": true, "tag": "0xffff" }
    ], "fields": [
      { "name": "Count", "type": "int32", "versions": "0+" }
    ] }
  ]
}
"""


@pytest.mark.parametrize(
    ("given", "expected"), [(LENIENT, CANONICAL), (DRAFT, CANONICAL_DRAFT)], ids=["released", "draft"]
)
def test_lenient_forms_have_one_text_and_the_same_meaning(given: str, expected: str) -> None:
    assert canonical(given) == expected
    assert canonical(expected) == expected
    assert model(expected) == model(given)


def test_each_lenient_form_is_noted() -> None:
    notes: list[str] = []
    root = parse(LENIENT, file="Foo.json").root
    assert root is not None
    normal_form(plain_tree(root), notes.append)
    assert notes == [
        'message: apiKey given as "7", read as 7',
        'message: listeners given as "broker", read as a list of one item',
        'Bars.Count: versions given as 0, read as "0"',
        'Bars.Count: mapKey given as "true", read as true',
        "Bars.Open: ignorable given as 1, read as true",
        'Bars.Open: about given as true, read as "true"',
        'Bars.Rack: tag given as "0", read as 0',
        "Bars.Rack has no versions; using its taggedVersions 1+",
        "Shared: default given as null, which is the same as leaving it out",
        "Shared: flexibleVersions given as null, which is the same as leaving it out",
        'message: commonStructs given as {"name": "Common", "versions": "0+"}, read as a list of one item',
    ]


DEFAULTS = [
    ("int8", "-0128", "-128"), ("int32", "0xff", "255"), ("int64", 5, "5"), ("uint16", "+7", "7"),
    ("bool", False, "false"), ("bool", "True", "true"), ("float64", 0.5, "0.5"), ("float64", "1e3", "1e3"),
    ("string", "0xff", "0xff"), ("string", "null", "null"), ("string", 10, "10"), ("[]int32", "null", "null"),
    ("uuid", "H3KKO4NTRPaCWtEmm3vW7A", "H3KKO4NTRPaCWtEmm3vW7A"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "given", "expected"), DEFAULTS)
def test_a_default_is_text(kind: str, given: object, expected: str) -> None:
    form = normal_form(message(fields=[field(type=kind, default=given)]))
    assert form["fields"][0]["default"] == expected


@pytest.mark.parametrize("given", ["", None])
def test_empty_default_is_omitted(given: object) -> None:
    assert "default" not in normal_form(message(fields=[field(default=given)]))["fields"][0]


def test_fields_are_written_unless_the_message_is_removed() -> None:
    assert normal_form(message())["fields"] == []
    assert normal_form({"type": "struct", "name": "Point"})["fields"] == []
    assert "fields" not in normal_form({"type": "request", "name": "FooRequest", "apiKey": 4, "validVersions": "none"})


@pytest.mark.parametrize(("given", "expected"), [({"0": "0", "1+": 1}, {"0": 0, "1+": 1}), ({}, None)])
def test_versions_of_an_imported_struct_are_numbers(given: dict[str, Any], expected: dict[str, int] | None) -> None:
    form = normal_form(message(imports=[{"name": "Point", "structVersions": given}]))
    assert form["imports"][0].get("structVersions") == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (message(bogus=1), "message: a message can't have the key 'bogus'"),
        (message(fields=[field(bogus=1)]), "Bar: a field can't have the key 'bogus'"),
        (message(commonStructs=[{"name": "Baz", "tag": 0}]), "Baz: a struct can't have the key 'tag'"),
    ],
)
def test_no_key_is_lost_silently(spec: dict[str, Any], expected: str) -> None:
    with pytest.raises(SpecError, match=expected):
        canonical_text(spec)


@pytest.mark.parametrize(("room", "lines"), [(13, 1), (14, 2)])
def test_field_is_on_one_line_where_it_fits(room: int, lines: int) -> None:
    long = field(type="string", tag=0, taggedVersions="0+", default="x" * room)
    text = canonical_text(message(fields=[long, field(name="Baz")])).splitlines()
    assert len(text[6]) == 120 if lines == 1 else text[6].endswith('"taggedVersions": "0+",')
    assert len(text) == 9 + lines


def test_long_text_is_on_a_line_of_its_own() -> None:
    text = canonical_text(message(fields=[field(about="y" * 200), field(name="Baz")])).splitlines()
    assert text[6:8] == ['    { "name": "Bar", "type": "int32", "versions": "0+",', f'      "about": "{"y" * 200}" }},']


def test_unprintable_characters_are_escaped() -> None:
    text = canonical_text(message(fields=[field(about="né\u2028w \ud800"), field(name="Baz", about="né")]))
    assert r'"about": "n\u00e9\u2028w \ud800"' in text
    assert '"about": "né"' in text
    assert json.loads(text)["fields"][0]["about"] == "né\u2028w \ud800"


@pytest.mark.parametrize("path", OTHER_SPECS, ids=lambda path: path.stem)
def test_canonical_form_keeps_the_meaning(path: Path) -> None:
    text = path.read_text()
    assert model(canonical(text)) == model(text)
    assert canonical(canonical(text)) == canonical(text)


def test_the_specs_of_kafka_are_in_canonical_form() -> None:
    assert len(KAFKA_SPECS) == 291
    assert [path for path in KAFKA_SPECS if canonical(path.read_text()) != path.read_text()] == []
