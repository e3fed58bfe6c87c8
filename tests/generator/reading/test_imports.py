import json
from typing import Any

import pytest

from tagwire_generator.message_classes import message_class
from tagwire_generator.problems import Problem
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.spec_files import SpecData
from tagwire_generator.reading.imports import SharedStructs, without_imports
from tagwire_generator.reading.spec import ReadResult, read_data, read_spec
from tagwire_generator.syntax.canonical import canonical_text, normal_form, plain_tree
from tagwire_generator.syntax.parse import parse
from tagwire_generator.views.data_view import DataViews

X = '{ "name": "X", "type": "int32", "versions": "0+" }'
TAGGED = '{ "name": "Label", "type": "string", "taggedVersions": "1+", "tag": 0 }'


def struct(name: str, fields: str, valid: str = "0-1", more: str = "") -> str:
    return (
        f'{{ "name": "{name}", "type": "struct", "dialect": "tagwire", "validVersions": "{valid}", {more}\n'
        f'  "fields": [ {fields} ] }}'
    )


def user(imports: str, fields: str, *, flexible: str = "0+", name: str = "User", dialect: str = "tagwire") -> str:
    """Return a message spec with its imports on line 2 and its fields on line 3, where the tests expect them."""
    head = f'{{ "name": "{name}", "type": "data", "dialect": "{dialect}", "validVersions": "0-2"'
    return f'{head}, "flexibleVersions": "{flexible}",\n  "imports": [ {imports} ],\n  "fields": [ {fields} ] }}'


def of(type: str, versions: str = "0+", name: str = "At") -> str:
    return f'{{ "name": "{name}", "type": "{type}", "versions": "{versions}" }}'


def read(specs: dict[str, str], file: str) -> ReadResult:
    data = {name: SpecData(name, "", text.replace("§", "").encode()) for name, text in specs.items()}
    return read_data(data[file].data, file=file, shared=SharedStructs(data.values()))


POINT = struct("Point", f"{X}, {TAGGED}")
ONCE = struct("Once", X, "0")
LINE = struct("Line", of("Point"), "0", '"imports": [ { "name": "Point", "structVersions": { "0+": 0 } } ],')
BOTH = '{ "name": "Point", "structVersions": { "0": 0, "1+": 1 } }'
STYLED = struct("Styled", '{ "name": "S", "type": "Style", "versions": "0+", "fields": [ ' + X + " ] }", "0")
EMPTY = struct("Empty", X.replace("0+", "1+"))

REJECTED = [
    ("TW314", user('{ "name": §"Pont" }', of("Pont"))),
    ("TW314", user('{ "name": §"Broken" }', of("Broken"))),
    ("TW314", user('{ "name": §"Ping" }', of("Ping"))),
    ("TW315", user('§{ "name": "Point" }', of("Point"))),
    ("TW315", user('{ "name": "Point", "structVersions": §{ "0+": 2 } }', of("Point"))),
    ("TW315", user('{ "name": "Point", "structVersions": §{ "0": 0, "2+": 1 } }', of("Point"))),
    ("TW315", user('{ "name": "Point", "structVersions": §{ "0": 1, "1+": 0 } }', of("Point"))),
    ("TW315", user('{ "name": "Point", "structVersions": §{ "0-2": 1 } }', of("Point"))),
    ("TW315", user('{ "name": "Once", "structVersions": §{ "none": 0 } }', of("Once"))),
    ("TW201", user('{ "name": "Point", "structVersions": §{ "zero": 0 } }'.replace("§{ ", "{ §"), of("Point"))),
    ("TW316", user(BOTH + ', { "name": §"Line" }', f'{of("Point")}, {of("Line", name="Way")}')),
    ("TW304", user(BOTH + ', { "name": §"Point" }', of("Point"))),
    ("TW304", user(BOTH, '{ "name": "At", "type": §"Point", "versions": "0+", "fields": [ ' + X + " ] }")),
    ("TW304", user('{ "name": "Styled" }', f'{of("Styled")}, {of("Style", name="B")[:-2]}, "fields": [ {X} ] }}'
                   .replace('"type": "Style"', '"type": §"Style"'))),
    ("TW306", user('{ "name": "Line" }', f'{of("Line")}, {of("Point", name="B")}'.replace('"Point"', '§"Point"'))),
    ("TW306", user('{ "name": "Styled" }', f'{of("Styled")}, {of("Style", name="B")}'.replace('"Style"', '§"Style"'))),
    ("TW309", user('{ "name": "Point", "structVersions": { "1+": 0 } }', of("Point").replace('"0+"', '§"0+"'))),
    ("TW320", user('{ "name": §"Once" }', X)),
    ("TW611", user('{ "name": §"Point", "structVersions": { "0+": 1 } }', of("Point"), flexible="1+")),
    ("TW311", user('{ "name": "Empty", "structVersions": { "0+": 0 } }', of("[]Empty"), flexible="none")
     .replace('"[]Empty"', '§"[]Empty"')),
    ("TW113", user('§{ "structVersions": { "0+": 0 } }', X)),
    ("TW110", user('{ "name": "Once", §"version": 0 }', of("Once"))),
    ("TW709", user("", X, dialect="kafka").replace('"imports": [ ]', '"imports": §[ ]').replace("[  ]", "§[  ]")),
]  # fmt: skip
OTHERS = {
    "Point.json": POINT,
    "Once.json": ONCE,
    "Line.json": LINE,
    "Styled.json": STYLED,
    "Empty.json": EMPTY,
    "Broken.json": struct("Broken", '{ "name": "X" }'),
    "Ping.json": struct("Ping", of("Pong"), "0", '"imports": [ { "name": "Pong" } ],'),
    "Pong.json": struct("Pong", of("Ping"), "0", '"imports": [ { "name": "Ping" } ],'),
}


@pytest.mark.parametrize(("rule", "marked"), REJECTED)
def test_rejected_imports_and_their_positions(rule: str, marked: str) -> None:
    before = marked.partition("§")[0]
    found = read({**OTHERS, "User.json": marked}, "User.json").problems
    position = ("User.json", before.count("\n") + 1, len(before) - before.rfind("\n"))
    assert [(each.rule, (each.file, each.line, each.column)) for each in found] == [(rule, position)], found


def tree(text: str) -> dict[str, Any]:
    root = parse(text, file="").root
    assert root is not None
    return normal_form(plain_tree(root))


def only(specs: dict[str, str], file: str) -> Problem:
    [problem] = read(specs, file).problems
    return problem


def test_unknown_name_gets_the_closest_suggestion() -> None:
    problem = only({**OTHERS, "User.json": user('{ "name": "Pont" }', X)}, "User.json")
    assert problem.message == "there is no shared struct 'Pont'; did you mean 'Point'?".replace("'Pont'", "Pont")


def test_struct_with_errors_is_reported_with_its_file() -> None:
    problem = only({**OTHERS, "User.json": user('{ "name": "Broken" }', of("Broken"))}, "User.json")
    assert problem.message == "the shared struct Broken has errors; fix Broken.json first"


@pytest.mark.parametrize("name", ["Ping", "Pong"])
def test_cycle_is_reported_in_each_of_its_files(name: str) -> None:
    other = {"Ping": "Pong", "Pong": "Ping"}[name]
    problem = only(OTHERS, f"{name}.json")
    assert (problem.rule, problem.file, problem.line) == ("TW308", f"{name}.json", 1)
    assert f"{name} contains {other} contains {name}" in problem.message


def test_a_struct_that_imports_itself() -> None:
    me = struct("Me", of("Me"), "0", '"imports": [ { "name": "Me" } ],')
    assert only({"Me.json": me}, "Me.json").rule == "TW308"


def test_the_remedy_for_a_struct_with_versions() -> None:
    problem = only({**OTHERS, "User.json": user('{ "name": "Point" }', of("Point"))}, "User.json")
    assert problem.message.endswith('list the version that each version uses, as in "structVersions": {"0+": 0}')


def test_structs_in_the_versions_of_their_user() -> None:
    ranges = '{ "name": "Point", "structVersions": { "0-1": 0, "2+": 1 } }'
    message = read({**OTHERS, "User.json": user(ranges, of("Point"))}, "User.json").message
    assert message is not None
    [point] = message.structs
    assert [(each.name, str(each.versions), each.tag) for each in point.fields] == [
        ("X", "0+", None),
        ("Label", "2+", 0),
    ]
    old = read({**OTHERS, "User.json": user(ranges.replace("1 }", "0 }"), of("Point"))}, "User.json").message
    assert old is not None and [(str(each.versions), each.tag) for each in old.structs[0].fields][1] == ("none", None)


INNER = '"versions": "1+", "fields": [ { "name": "F", "type": "bool", "versions": "1+", "mapKey": true } ]'
LATER = {
    "struct": f'{{ "name": "B", "type": "Inner", {INNER} }}',
    "unique array": f'{{ "name": "B", "type": "[]Inner", "unique": true, {INNER} }}',
    "null by default": '{ "name": "B", "type": "int8", "versions": "1+", "nullableVersions": "1+", "default": "null" }',
    "first of two tags": '{ "name": "B", "type": "string", "taggedVersions": "1+", "tag": 0 }, '
    '{ "name": "C", "type": "string", "taggedVersions": "0+", "tag": 1 }',
    "one alternative of a union": ", ".join(
        f'{{ "name": "{name}", "type": "string", "taggedVersions": "{tag}+", "tag": {tag}, '
        f'"nullableVersions": "{tag}+", "default": "null", "union": "Kind" }}'
        for name, tag in (("C", 0), ("B", 1))
    ),
    "record formats": '{ "name": "B", "type": "records", "versions": "1+", "recordFormats": { "1+": "v2" } }',
    "imported struct": of("Once", "1+", "B"),
}


@pytest.mark.parametrize("later", LATER)
def test_fields_missing_from_the_imported_version_are_not_checked(later: str) -> None:
    imports = '"imports": [ { "name": "Once", "structVersions": { "1+": 0 } } ],' if "Once" in LATER[later] else ""
    deep = '{ "name": "N", "type": "[][]Deep", "versions": "0+", "fields": [ ' + X + " ] }"
    grown = struct("Grown", f"{X}, {deep}, {LATER[later]}", more=imports)
    imported = user('{ "name": "Grown", "structVersions": { "0-4": 0, "5+": 1 } }', of("Grown"))
    specs = {**OTHERS, "Grown.json": grown, "User.json": imported}
    assert read(specs, "Grown.json").problems == ()
    result = read(specs, "User.json")
    assert result.message is not None and result.problems == ()
    assert result.message.valid_versions == message_class(result.message).VERSIONS, "as `generate` needs"
    trees = {name: tree(specs[f"{name}.json"]) for name in ("Grown", "Once")}
    alone = read_spec(
        canonical_text(without_imports(tree(imported), result.message, trees)), options=SpecOptions(tag_gaps=True)
    )
    assert alone.message is not None and "B" not in [each.name for each in alone.message.struct("Grown").fields]


def test_structs_of_two_imports_with_one_name() -> None:
    other = STYLED.replace("Styled", "Other")
    fields = f"{of('Styled')}, {of('Other', name='B')}"
    specs = {**OTHERS, "Other.json": other, "User.json": user('{ "name": "Styled" }, { "name": "Other" }', fields)}
    problem = only(specs, "User.json")
    assert (problem.rule, problem.line) == ("TW304", 2)
    assert "struct Style is already declared; importing Styled also declares it" in problem.message


def test_direct_imports_and_owners_of_structs() -> None:
    point = '{ "name": "Point", "structVersions": { "0+": 0 } }'
    message = read({**OTHERS, "User.json": user(f'{{ "name": "Line" }}, {point}', of("Line"))}, "User.json").message
    assert message is not None
    assert [(each.name, each.is_direct) for each in message.imports] == [("Line", True), ("Point", True)]
    assert DataViews(message, None, "p").module("User.json").imports[-1] == ["from p.line import Line"]
    assert {each.name: each.owner for each in message.structs} == {"Point": "Point", "Line": "Line"}


def test_imports_are_not_checked_without_shared_structs() -> None:
    result = read_data(user('{ "name": "Point" }', of("Point")).encode(), shared=None)
    assert (result.message, result.problems) == (None, ())


@pytest.mark.parametrize("key", ["flexibleVersions", "apiKey", "headerVersions"])
def test_a_shared_struct_has_no_keys_of_messages(key: str) -> None:
    text = struct("Point", X, "0", f'"{key}": 1,')
    assert only({"Point.json": text}, "Point.json").rule == "TW110"


def test_a_shared_struct_is_an_extension() -> None:
    problem = only({"Point.json": POINT.replace('"dialect": "tagwire", ', "")}, "Point.json")
    assert (problem.rule, problem.message.partition(",")[0]) == ("TW709", "the type struct is an extension")


def test_draft_dialect_has_no_imports() -> None:
    draft = json.loads(user('{ "name": "Once" }', of("Once"))) | {"versionsWithOptional": "1+"}
    del draft["flexibleVersions"], draft["dialect"]
    specs = {**OTHERS, "User.json": json.dumps(draft)}
    assert "TW709" in {each.rule for each in read(specs, "User.json").problems}
