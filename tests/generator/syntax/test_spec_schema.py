import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tagwire_generator.editing.spec_edit import format_spec
from tagwire_generator.model.field_spec import ENTITY_TYPES, FieldSpec
from tagwire_generator.model.message_rules import KINDS
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading import imports, keys, struct
from tagwire_generator.reading.keys import keys_of
from tagwire_generator.reading.register import registers_among
from tagwire_generator.reading.spec import FORMAT_KEYS, MESSAGE_KEYS, read_spec
from tagwire_generator.reading.struct import FIELD_KEYS, FORMAT_FIELD_KEYS, OPTIONAL_FIELD_KEYS
from tagwire_generator.syntax import canonical, spec_schema
from tagwire_generator.syntax.parse import parse
from tagwire_generator.syntax.spec_schema import schema

OURS = Path(__file__).parents[3] / "message_specs"
FOLDERS = sorted({path.parent for path in OURS.rglob("*.json")})
MEMBER_KEYS = struct.MEMBER_KEYS


def properties(name: str) -> dict[str, Any]:
    found: dict[str, Any] = schema()["$defs"][name]["properties"]
    return found


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("message", ["$schema", *MESSAGE_KEYS, *MEMBER_KEYS, "imports", "commonStructs"]),
        ("import", [*imports.IMPORT_KEYS]),
        ("struct", ["name", "about", "versions", "deprecatedVersions", "deprecated", *MEMBER_KEYS]),
        ("field", [*FIELD_KEYS, *MEMBER_KEYS]),
        ("optionalField", [*OPTIONAL_FIELD_KEYS, *MEMBER_KEYS]),
        ("format", ["$schema", *FORMAT_KEYS, "name", "type", "about", "fields"]),
        ("formatField", [*FORMAT_FIELD_KEYS, "fields"]),
    ],
)
def test_reader_accepts_what_the_schema_allows(name: str, keys: list[str]) -> None:
    assert set(properties(name)) == set(keys)


def test_no_object_allows_other_keys() -> None:
    closed = [each for each in schema()["$defs"].values() if "properties" in each]
    assert len(closed) == 15
    assert all(each["additionalProperties"] is False for each in closed)


def test_schema_values_equal_those_of_the_model() -> None:
    kinds = schema()["$defs"]
    assert kinds["messageType"]["enum"] == [*KINDS, "register"]
    assert kinds["entityType"]["enum"] == ["unknown", *ENTITY_TYPES, None]


def test_fmt_can_write_every_key() -> None:
    for definition in ("message", "import", "struct", "field", "optionalField"):
        assert list(canonical._keys(definition)) == list(properties(definition))


def test_key_missing_from_the_model_raises() -> None:
    other = dict.fromkeys(["dialect", "apiKey", "type", "about", "aliases"], "")
    with pytest.raises(TypeError, match="key validVersions for a message, but no model class has an attribute valid_"):
        keys_of("message", [FieldSpec], {"dialect": keys.text}, other)


EXTENDED = '"dialect": "tagwire",'
COMMON = ', "commonStructs": [ { "name": "S", "versions": "1+"§ } ]'


def spec(rest: str, dialect: str = "", *, type: str = "data", flexible: str = "flexibleVersions") -> str:
    return f'{{ {dialect} "name": "Foo", "type": "{type}", "validVersions": "0-3", "{flexible}": "1+"{rest} }}'


def of_field(type: str, dialect: str = "", more: str = "") -> str:
    return spec(f', "fields": [ {{ "name": "B", "type": "{type}", "versions": "1+"§{more} }} ]', dialect)


def alternative(tag: int, union: str) -> str:
    ranges = '"taggedVersions": "1+", "nullableVersions": "1+", "default": "null"'
    return f'{{ "name": "{"ABCDE"[tag]}", "type": "string", {ranges}, "tag": {tag}{union} }}'


UNIONS = [alternative(tag, f', "union": "{union}"') for tag, union in enumerate("UVVU")]
RELEASED = {
    "message": spec('§, "fields": [ { "name": "ErrorCode", "type": "int16", "versions": "0+" } ]', type="response"),
    "request": spec("§", type="request"),
    "field": spec(
        ', "fields": [ { "name": "A", "type": "[]S", "versions": "1+", "fields": [\n'
        '{ "name": "B", "type": "bytes", "versions": "1+"§ } ] } ]'
    ),
    "string": of_field("string"),
    "inline": of_field("S"),
    "struct": spec(COMMON),
    "extended": spec('§, "fields": []', EXTENDED),
    "extended field": of_field("int8", EXTENDED),
    "required field": of_field("bytes", EXTENDED),
    "extended array": of_field(
        "[]S", EXTENDED, ', "fields": [ { "name": "B", "type": "string", "versions": "1+", "mapKey": true } ]'
    ),
    "alternative": spec(f', "fields": [ {", ".join([*UNIONS, alternative(4, "§")])} ]', EXTENDED),
    "extended time": of_field("int64", EXTENDED),
    "extended bytes": of_field("bytes", EXTENDED),
    "extended struct": spec(COMMON, EXTENDED),
    "draft": spec("§", flexible="versionsWithOptional"),
    "optional": spec(
        ', "optionalFields": [ { "name": "B", "type": "bytes", "tag": 0§ } ]', flexible="versionsWithOptional"
    ),
}
A_FIELD = '{ "name": "C", "type": "int8", "versions": "1+" }'
AN_OPTIONAL_FIELD = '{ "name": "D", "type": "int8", "tag": 7 }'
SAYS_SOMETHING = [
    ("message", '"apiKey": 3'),
    ("message", '"aliases": ["Old"]'),
    ("message", '"deprecatedVersions": "0"'),
    ("message", '"headerVersions": {"0": 0, "1+": 1}'),
    ("message", '"headerVersions": {"0+": 0}, "fallback": {"version": 0, "errorCode": 35}'),
    ("message", '"reservedTags": [0]'),
    ("message", f'"commonStructs": [{{ "name": "S", "versions": "0+", "fields": [{A_FIELD}] }}]'),
    ("message", '"dialect": "tagwire"'),
    ("message", '"about": "text"'),
    ("extended time", '"semantic": "timestamp_ms"'),
    ("extended bytes", '"semantic": "decimal", "precision": 5, "scale": 2'),
    ("required field", '"required": true'),
    ("extended array", '"unique": true'),
    ("alternative", '"union": "U"'),
    ("extended", '"deprecated": "text"'),
    ("struct", '"about": "text"'),
    ("extended struct", '"deprecated": "text"'),
    ("request", '"listeners": ["broker"]'),
    ("request", '"latestVersionUnstable": true'),
    ("request", f'"fields": [{A_FIELD}]'),
    ("field", '"nullableVersions": "1+"'),
    ("field", '"sensitive": true'),
    ("extended field", '"enum": "State"'),
    ("extended field", '"deprecated": "text"'),
    ("field", '"taggedVersions": "1+", "tag": 0'),
    ("field", '"nullableVersions": "1+", "default": "null"'),
    ("field", '"ignorable": true'),
    ("field", '"mapKey": true'),
    ("field", '"zeroCopy": true'),
    ("field", '"flexibleVersions": "2+"'),
    ("field", '"recordFormats": {"0+": "v2"}'),
    ("field", '"about": "text"'),
    ("string", '"entityType": "topicName"'),
    ("inline", f'"fields": [{A_FIELD}]'),
    ("inline", '"fields": [], "reservedTags": [0]'),
    ("struct", f'"fields": [{A_FIELD}]'),
    ("struct", '"reservedTags": [0]'),
    ("draft", f'"optionalFields": [{AN_OPTIONAL_FIELD}]'),
    ("draft", f'"commonStructs": [{{ "name": "S", "versions": "0+", "optionalFields": [{AN_OPTIONAL_FIELD}] }}]'),
    ("optional", '"nullable": true'),
    ("optional", '"nullable": true, "default": "null"'),
    ("optional", '"ignorable": true'),
    ("optional", '"zeroCopy": true'),
    ("optional", '"recordFormats": {"0+": "v2"}'),
    ("optional", '"about": "text"'),
]


@pytest.mark.parametrize(("definition", "keys"), SAYS_SOMETHING)
def test_each_key_changes_the_model(definition: str, keys: str) -> None:
    without = RELEASED[definition].replace("§", ', "fields": []' if definition == "inline" else "")
    with_keys = RELEASED[definition].replace("§", f", {keys}")
    known = registers_among([b'{ "name": "State", "type": "register", "keys": "int8", "entries": [] }'])
    before, after = (read_spec(text, registers=known).message for text in (without, with_keys))
    assert before is not None and after is not None, read_spec(with_keys).problems
    assert before != after


def test_each_key_is_tested_for_an_effect_on_the_model() -> None:
    tested = {key for _, keys in SAYS_SOMETHING for key in re.findall(r'"(\w+)":', keys)}
    tested |= {"name", "type", "versions", "validVersions", "flexibleVersions", "versionsWithOptional"}
    tested |= {"$schema"}  # only editors use this key
    tested |= {"imports"}  # tested in test_imports.py
    assert tested >= {key for name in ("message", "struct", "field", "optionalField") for key in properties(name)}


def test_key_that_kafka_ignores_is_accepted_without_effect() -> None:
    text = RELEASED["struct"]
    with_key = text.replace("§", ', "deprecatedVersions": "1"')
    assert read_spec(with_key).message == read_spec(text.replace("§", "")).message is not None


@pytest.mark.parametrize(("keys", "expected"), [
    ('"name": 5', "found 5, expected a string"),
    ('"name": [1]', "found a list, expected a string"),
    ('"name": 1e45', "found a number of 40 digits or more, expected a string"),
    ('"name": "A", "latestVersionUnstable": 3', "found 3, expected true or false"),
    ('"name": "A", "fields": [4]', "found 4, expected an object"),
    ('"name": "A", "fields": [{ "name": "B", "type": "int8", "versions": "0+", "tag": 1.5 }]',
     "found 1.5, expected an integer or a string"),
    ('"name": "A", "fields": [{ "name": "B", "type": "int8", "versions": "0+", "about": {} }]',
     "found an object, expected a string or a number or true or false"),
])  # fmt: skip
def test_an_error_names_the_kinds_of_values_that_a_key_allows(keys: str, expected: str) -> None:
    text = f'{{ "type": "data", "validVersions": "0", "flexibleVersions": "none", {keys} }}'
    assert [each.message for each in read_spec(text, file="A.json").problems if each.rule == "TW111"] == [expected]


def test_schema_key_is_ignored_and_kept_at_the_top() -> None:
    text = RELEASED["message"].replace("§", "")
    named = text.replace('"name": "Foo"', '"name": "Foo", "$schema": "spec.schema.json"')
    assert read_spec(named).message == read_spec(text).message is not None
    formatted = format_spec(named, file="Foo.json", options=SpecOptions())
    assert formatted.splitlines()[1] == '  "$schema": "spec.schema.json",'
    assert [problem.rule for problem in read_spec(named.replace('"spec.schema.json"', "7")).problems] == ["TW111"]


@pytest.mark.parametrize("name", ["letters", "register"])
def test_unions_in_other_kinds_of_specs(name: str) -> None:
    text = {
        "letters": """{ "type": "format", "name": "Foo", "format": "foo", "discriminator": "M",
            "fields": [ { "name": "M", "type": "int8", "equals": 9 } ] }""",
        "register": '{ "name": "Foo", "type": "register", "keys": "int16", "entries": [] }',
    }[name]
    before, after = read_spec(text), read_spec(text.replace("{", '{ "$schema": "x",', 1))
    assert (after.message, after.register) == (before.message, before.register) != (None, None)


@pytest.mark.thorough
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(OURS)))
def test_bundled_specs_are_valid_for_editors_and_tagwire(folder: Path) -> None:
    validator = jsonschema.Draft202012Validator(schema())
    for path in sorted(folder.glob("*.json")):
        text = path.read_text("utf-8")
        root = parse(text, file=path.name).root
        assert root is not None, path
        tree = canonical.plain_tree(root)
        assert [(path.name, error.json_path, error.message) for error in validator.iter_errors(tree)] == []
        result = read_spec(text, file=path.name, options=SpecOptions())
        found = result.message or result.register
        assert found is not None and found.name == path.stem, path


def test_patterns_for_editors_accept_everything_that_the_reader_accepts() -> None:
    patterns = {name: re.compile(schema()["$defs"][name]["pattern"]) for name in ("range", "whole", "tag")}
    for text in ("none", "0", "0+", "0-3", " 1+ ", "", " ", "0-32767"):
        assert patterns["range"].search(text)
    for text in ("0", "7", "-1", "+5", "007"):
        assert patterns["whole"].search(text) and patterns["tag"].search(text)
    assert patterns["tag"].search("0x00fF") and not patterns["whole"].search("0x1")
    for text in ("0,2", "+", "0-", "None", "0 - 1"):
        assert not patterns["range"].search(text)


def test_the_schema_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("allow_extensions", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_specs_that_the_fast_test_accepts_have_no_errors(
    allow_extensions: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Edit values and keys of some specs. If the fast test, `_accepts`, accepts an edited spec, so must jsonschema."""
    texts = [path.read_text() for folder in FOLDERS for path in sorted(folder.glob("*.json"))[:2]]
    roots = [parse(text, file="spec").root for text in texts]
    specs = [spec_schema._plain(root) for root in roots if root is not None]
    edited = [each for spec in specs for each in (spec, *islice(_edits(spec), 40))]
    accepts = spec_schema._accepts(allow_extensions)
    judged = [(accepts(spec), _has_errors(spec, allow_extensions)) for spec in edited]
    assert not [spec for spec, (fast, errors) in zip(edited, judged, strict=True) if fast and errors]
    assert {fast for fast, _ in judged} == {False, True}
    monkeypatch.setattr(spec_schema, "_validator", None)  # valid specs of Kafka's dialect must pass without jsonschema
    kafka = parse((OURS / "kafka" / "clients" / "HeartbeatRequest.json").read_text(), file="spec").root
    assert kafka is not None and not list(spec_schema.shape_errors(kafka, allow_extensions=False))


def _edits(value: Any) -> Iterator[Any]:
    """Yield copies of a JSON value in which one scalar or key is replaced."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from ({**value, key: edit} for edit in _edits(member))
            for other in ("zzz", "dialect", "tag"):
                yield {other if each == key else each: value[each] for each in value}
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from ([*value[:index], edit, *value[index + 1 :]] for edit in _edits(item))
    else:
        yield from (7, 7.0, True, None, [], {}, "x", "kafka")


def _has_errors(spec: object, allow_extensions: bool) -> bool:
    ignored = {"pattern", "minLength", *(["dialect"] if allow_extensions else [])}
    return any(error.validator not in ignored for error in spec_schema._validator().iter_errors(spec))
