import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tagwire_generator.problems import render
from tagwire_generator.reading.spec import ReadResult, read_file, read_spec
from tagwire_generator.syntax.spec_schema import schema

pytestmark = pytest.mark.thorough

SPECS = sorted((Path(__file__).parents[3] / "message_specs").rglob("*.json"))
TEXTS = [path.read_text("utf-8") for path in SPECS[:: max(1, len(SPECS) // 40)]]
DRAFT = """{ "name": "Foo", "type": "request", "apiKey": 1, "validVersions": "0-9", "versionsWithOptional": "9+",
  "optionalFields": [ { "name": "Agent", "type": "string", "nullable": true, "tag": "0x0001", "default": "null" }, ],
  "commonStructs": [ { "name": "S", "versions": "0+", "reservedTags": [3], "fields": [] } ],
  "headerVersions": {"0-8": "1", "9+": 2}, "listeners": "broker", "latestVersionUnstable": true,
  "fields": [ { "name": "Foos", "type": "[]Foo2", "versions": "0+", "nullableVersions": "2+", "fields": [
      { "name": "Baz", "type": "int16", "versions": "0+", "default": -1, "mapKey": true } ],
      "optionalFields": [ { "name": "Bar", "type": "S", "tag": 2 } ] } ] }"""
PIECES = [
    *['"', "{", "}", "[", "]", ",", ":", "/*", "//", "*/", "\\", "\x00", "\r", "\ud800", "\ufeff", " ", "\n"],
    *["null", "true", "-1", "0.5", "1e999", "9" * 50, '""', '"none"', '"0+"', '"3-1"', '"0-40000"', '"Foo"', '"[]Foo"'],
    *['"fields": [],', '"optionalFields": [{}],', '"tag": 0,', '"taggedVersions": "0+",', '"default": "null",'],
    *['"reservedTags": [0, "0x1", {}],', '"headerVersions": {"x": []},', '"fallback": {"version": 0},'],
]


def check(result: ReadResult) -> None:
    """Check that problems have positions and print on one line, and that a spec is returned unless there are errors."""
    for problem in result.problems:
        assert problem.line >= 1 and problem.column >= 1
        assert problem.message.isprintable()
        assert render(problem).count("\n") in (0, 2)
    has_errors = any(problem.severity == "error" for problem in result.problems)
    assert (result.message is None and result.register is None) == has_errors


@given(st.text())
@example("{" * 5000)
@example('{"name": "\\')
def test_any_text(text: str) -> None:
    check(read_spec(text))


KEYS = st.sampled_from(
    sorted(
        {key for each in schema()["$defs"].values() for key in each.get("properties", {})} | {"version", "errorCode"}
    )
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["0+", "S", "int8"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, JSON))
@settings(max_examples=300)
def test_any_json_with_the_right_keys(value: dict[str, Any]) -> None:
    head = {"name": "Foo", "type": "response", "validVersions": "0-3"}
    check(read_spec(json.dumps({**head, **value})))


@given(st.data())
@settings(max_examples=400)
def test_damaged_specs(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([DRAFT, *TEXTS]))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 30)))
        piece = data.draw(
            st.sampled_from(PIECES) | st.builds(lambda at, t=text: t[at : at + 20], st.integers(0, len(text)))
        )
        text = text[:start] + piece + text[end:]
    check(read_spec(text))


@given(st.binary())
def test_any_bytes_in_a_file(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "Any.json"
    path.write_bytes(content)
    check(read_file(path))


def test_undamaged_specs_are_valid() -> None:
    assert len(TEXTS) >= 20
    for text in (DRAFT, *TEXTS):
        result = read_spec(text)
        assert result.message is not None or result.register is not None


NAMES = [
    *["", " ", "a b", "a\nb", "a'b", 'a"b', "../a", "a/b", "a\\b", "a.b", "C:"],
    *["__init__", "Ä", "\u202ename", "x" * 101, "a;b", "{a}"],
]


@pytest.mark.parametrize("name", NAMES)
def test_no_hostile_name_gets_through(name: str) -> None:
    def spec(message: str = "Foo", field: str = "A", struct: str = "S", common: str = "T") -> str:
        keys = {"name": message, "type": "data", "validVersions": "0", "flexibleVersions": "0+"}
        fields = [{"name": field, "type": f"[]{struct}", "versions": "0+", "fields": []}]
        return json.dumps(keys | {"fields": fields, "commonStructs": [{"name": common, "versions": "0+"}]})

    assert read_spec(spec()).message is not None
    for hostile in (spec(message=name), spec(field=name), spec(struct=name), spec(common=name)):
        result = read_spec(hostile)
        check(result)
        assert result.message is None


@pytest.mark.parametrize("name", ["class", "None", "self", "import", "Encode", "id"])
def test_python_keywords_may_be_field_names(name: str) -> None:
    text = '{"name": "Foo", "type": "data", "validVersions": "0", "flexibleVersions": "0+", "fields": [%s]}'
    result = read_spec(text % f'{{"name": "{name}", "type": "int8", "versions": "0+"}}')
    assert result.message is not None and result.message.fields[0].name == name


def head(**more: object) -> str:
    keys = {"name": "Foo", "type": "data", "validVersions": "0-32766", "flexibleVersions": "none", **more}
    return json.dumps(keys)


def field(name: str, type: str, versions: str = "0+", **more: object) -> dict[str, object]:
    return {"name": name, "type": type, "versions": versions, **more}


def chain(length: int, width: int) -> list[dict[str, object]]:
    return structs([*([field(f"F{k}", f"S{i + 1}") for k in range(width)] for i in range(length)), []])


def structs(members: Iterable[list[dict[str, object]]]) -> list[dict[str, object]]:
    return [{"name": f"S{i}", "versions": "0+", "fields": fields} for i, fields in enumerate(members)]


HEAVY = {
    "open braces": '{"a":' * 30_000,
    "open lists": "[" * 100_000,
    "slashes": "{" + "/" * 300_000,
    "half a comment": "/*" * 100_000,
    "one text": '{"name": "' + "x" * 500_000 + '"}',
    "one number": '{"name": ' + "9" * 500_000 + "}",
    "one key many times": "{" + '"name": "x", ' * 5_000 + '"a": 1}',
    "a long chain": head(fields=[field("A", "S0")], commonStructs=chain(800, 1)),
    "a wide chain": head(fields=[field("A", "S0")], commonStructs=chain(28, 6)),
    "many ranges": head(
        fields=[field(f"A{i}", f"[]S{i}", f"{i}-{i + 9}") for i in range(300)],
        commonStructs=structs([field("B", "int8", f"{i}-{i}")] for i in range(300)),
    ),
    "a long circle": head(
        fields=[field("A", "S0")],
        commonStructs=structs([field("A", f"S{(i + 1) % 500}")] for i in range(500)),
    ),
    "many reserved tags": head(reservedTags=list(range(10_000)), fields=[]),
}


@pytest.mark.parametrize("name", HEAVY)
def test_large_specs_take_bounded_time(name: str) -> None:
    start = time.process_time()
    check(read_spec(HEAVY[name]))
    assert time.process_time() - start < 10
