"""Check that each change rule reports a change with its position and versions, and ignores similar valid changes.

In the new spec of each case, § marks the expected position of the finding.
"""

import json

import pytest
from change_specs import draft, field, optional, read, request, spec, struct, tagged

from tagwire_generator.evolution import Finding, compare_messages
from tagwire_generator.problems import CHANGE_RULES
from tagwire_generator.reading.positions import placed

A, LONG, TEXT, T = field(), field(type="int64"), field(type="string"), tagged()
UNSTABLE = '"latestVersionUnstable": true,'
HEADERS = '"headerVersions": {"0": "1", "1+": "2"},'
OLD_HEADERS = '"headerVersions": §{"0": "0", "1+": "2"},'
COMMON = f'"commonStructs": [{{"name": "S", "versions": "0+", "fields": [{A}]}}],'
NULL = ', "nullableVersions": "0+"'


def nullable(versions: str, type: str = "string") -> str:
    return field(type=type, more=f', "nullableVersions": {versions}')


def default(value: str, type: str = "int32", more: str = "") -> str:
    return field(type=type, more=f'{more}, "default": {value}')


def with_b(versions: str = "0+", more: str = "") -> str:
    return f"{A},{field('B', more=more, versions=versions)}"


def extended(fields: str = "") -> str:
    return spec(fields, '"dialect": "tagwire",')


EMPTY = "," + struct("", "S", "E")
FIVE = default('§"5"')


def alternatives(*unions: str, since: str = "1+") -> str:
    """Return the specs of tagged string fields, one per argument.

    An argument is the name of the field's union, or "" if there is none.
    """
    null = f', "nullableVersions": "{since}", "default": "null"'
    fields = []
    for tag, union in enumerate(unions):
        union_key = f', "union": {"§" * union.startswith("§")}"{union.lstrip("§")}"' if union else ""
        fields.append(tagged("ABCD"[tag], str(tag), "string", null + union_key, since=since))
    return ", ".join(fields)


def boxes(more: str = "", second: str = "") -> str:
    return struct(field(more=', "mapKey": true') + "," + field("B", more=second), more=more)


def records(first: str, then: str, mark: str = "") -> str:
    """Return a records field. Its format is v1 in the version range `first`, and v2 in the version range `then`."""
    return field(type="records", more=f', "recordFormats": {mark}{{"{first}": "v1", "{then}": "v2"}}')


FOUND = [
    ("TW917", "1-2", "c", extended(alternatives("U", "U", "")), extended(alternatives("U", "U", "§U"))),
    ("TW917", "1-2", "a", extended(), extended(alternatives("§U", "U"))),
    ("TW917", "1-2", "a", extended(alternatives("U", "U")), spec("", '"reservedTags": [0, 1],', name="§R")),
    ("TW918", "0-2", "l", extended(boxes()), extended(boxes(', "unique": §true'))),
    ("TW918", "0-2", "l", extended(boxes(', "unique": true')), extended(boxes(', "unique": §true', ', "mapKey":1'))),
    ("TW931", "1-2", "c", extended(alternatives("U", "U")), extended(alternatives("U", "U", "§U"))),
    ("TW950", "1-2", "a", extended(alternatives("U", "U")), extended(alternatives("§V", "V"))),
    ("TW951", "0-2", "a", extended(A), extended(field(more=', "required": §true'))),
    ("TW952", "0-2", "a", extended(LONG), extended(LONG[:-1] + ', "semantic": §"timestamp_ms"}')),
    ("TW901", "0", "", spec(A), spec(A, flexible="§0+")),
    ("TW901", "1", "", spec(A), spec(A, flexible="§2+")),
    ("TW901", "1-2", "", spec(A), spec(A, flexible="§none")),
    ("TW901", "0", "", draft(fields=A), draft(fields=A, since="§0+")),
    ("TW901", "1", "", draft(fields=A), draft(fields=A, since="§2+")),
    ("TW902", "1-2", "a", spec(TEXT), spec(field(type="string", more=', "flexibleVersions": §"none"'))),
    ("TW903", "0-2", "a", spec(A), spec(field(type="§int64"))),
    ("TW903", "0-2", "a", spec(A), spec(field(type="§[]int32"))),
    ("TW903", "0-2", "a", spec(field(type="bytes")), spec(field(type="§string"))),
    ("TW903", "0-2", "l.a", spec(struct(A)), spec(struct(field(type="§int16")))),
    ("TW903", "1-2", "t", spec(T), spec(tagged(type="§int64"))),
    ("TW903", "1-2", "t", draft(optional()), draft(optional(type="§int64"))),
    ("TW903", "1-2", "a", spec(field(type="[]int32")), spec(struct(A, "§[]S", "A"))),
    ("TW903", "0-2", "a", spec(A, flexible="none"), spec(struct(A + "," + field("B"), "§S", "A"), flexible="none")),
    ("TW904", "0-2", "b", spec(A), spec(with_b("§0+"))),
    ("TW904", "0", "b", spec(with_b("1+")), spec(with_b("§0+"))),
    ("TW904", "2", "b", spec(with_b("0-1")), spec(with_b("§0+"))),
    ("TW905", "0-2", "b", spec(with_b()), spec(A, name="§R")),
    ("TW905", "2", "b", spec(with_b()), spec(with_b("§0-1"))),
    ("TW905", "0-2", "l.b", spec(struct(with_b())), spec(struct(A, name="§L"))),
    ("TW906", "0-2", "b", spec(with_b()), spec(field("§B") + "," + A)),
    ("TW907", "0-2", "a", spec(TEXT), spec(nullable('§"0+"'))),
    ("TW907", "1", "a", spec(nullable('"2+"')), spec(nullable('§"1+"'))),
    ("TW907", "0-2", "l", spec(struct(A, "S")), spec(struct(A, "S", more=', "nullableVersions": §"0+"'))),
    ("TW907", "1-2", "t", draft(optional(type="string")), draft(optional(type="string", more=', "nullable": §true'))),
    ("TW908", "0-2", "a", spec(nullable('"0+"')), spec(field("§A", "string"))),
    ("TW908", "0-2", "a", spec(nullable('"0+"', "[]int8")), spec(field("§A", "[]int8"))),
    ("TW909", "1-2", "b", spec(with_b("1+")), spec(A + "," + tagged("B", "§0"))),
    ("TW909", "1-2", "b", spec(tagged("B")), spec(field("§B", versions="1+"), '"reservedTags": [0],')),
    ("TW910", "1-2", "t", spec(T), spec(tagged(tag="§1"), '"reservedTags": [0],')),
    ("TW910", "1-2", "t", draft(optional()), draft(optional(tag="§1"), more='"reservedTags": [0],')),
    ("TW911", "1-2", "u", spec(T), spec(tagged("U", "§0", "string"))),
    ("TW911", "1-2", "u", spec(T), spec(tagged(tag="1") + "," + tagged("U", "§0"))),
    ("TW911", "1-2", "u", draft(optional()), draft(optional("U", "§0", "string"))),
    ("TW912", "1-2", "t", spec(T), spec(tagged(more=', "default": §"5"'))),
    ("TW912", "1-2", "t.a", *(spec(tagged(type="S", more=f', "fields": [{each}]')) for each in (A, FIVE))),
    ("TW912", "1-2", "t", draft(optional()), draft(optional(more=', "default": §"5"'))),
    ("TW913", "0", "", request(HEADERS), request(OLD_HEADERS)),
    ("TW913", "0", "", request(), request(OLD_HEADERS)),
    ("TW920", "0-2", "a", spec(A), spec(field(type="§uint32"))),
    ("TW920", "0-2", "a", spec(field(type="[]uint16")), spec(field(type="§[]int16"))),
    ("TW921", "0-2", "a", spec(A), spec(FIVE)),
    ("TW921", "0-2", "a", spec(default('"1.5"', "float64")), spec(default('§"2.5"', "float64"))),
    ("TW921", "0-2", "b", spec(with_b("2+")), spec(with_b("2+", ', "default": §7'))),
    ("TW921", "0-2", "a", spec(nullable('"0+"')), spec(default('§"null"', "string", NULL))),
    ("TW921", "0-2", "l.a", spec(struct(A)), spec(struct(FIVE))),
    ("TW922", "0-2", "", request('"apiKey": 1,'), request('"apiKey": §2,')),
    ("TW922", "0-2", "", request('"apiKey": 1,'), request(name="§FooRequest")),
    ("TW923", "0-2", "", spec(A), spec(A, kind="§metadata", more='"apiKey": 1,')),
    ("TW924", "2", "", spec(A), spec(A, valid="§0-1")),
    ("TW924", "1-2", "", spec(A), spec(A, valid="§0")),
    ("TW926", "1-2", "u", spec(A, '"reservedTags": [0],'), spec(A + "," + tagged("U", "§0"))),
    ("TW926", "2", "u", spec(T, valid="0-1"), spec(tagged("U", "§0", since="2+"))),
    ("TW926", "1-2", "u", draft(more='"reservedTags": [0],'), draft(optional("U", "§0"))),
    ("TW927", "1-2", "", spec(A + "," + T), spec(A, name="§R")),
    ("TW927", "", "", spec(A, '"reservedTags": [0],'), spec(A, name="§R")),
    ("TW927", "1-2", "l", spec(struct(A + "," + T)), spec(struct(A, name="§L"))),
    ("TW927", "1-2", "", draft(optional(), A), draft(fields=A, name="§R")),
    ("TW928", "5+", "b", spec(A), spec(with_b("§5+"))),
    ("TW930", "1-2", "a", spec(records("0", "1+")), spec(records("0-2", "3+", "§"))),
    ("TW930", "1-2", "a", spec(records("0", "1+"), valid="1-2"), spec(field("§A", "records"), valid="1-2")),
    ("TW930", "1-2", "l.a", spec(struct(records("0", "1+"))), spec(struct(records("0-2", "3+", "§")))),
    ("TW928", "5+", "a", spec(TEXT), spec(nullable('§"5+"'))),
    ("TW928", "5+", "l.b", spec(struct(A)), spec(struct(with_b("§5+")))),
    ("TW929", "0", "", spec(A, valid="1-2"), spec(A, valid="§0-2")),
    ("TW929", "0-1", "", spec(A, valid="2"), spec(A, valid="§0-3")),
    ("TW929", "0-2", "", spec(valid="none"), spec(A, valid="§0-2")),
    ("TW940", "0-2", "", spec(A), spec(A, name="§Q")),
    ("TW941", "0-2", "b", spec(A), spec(field("§B"))),
    ("TW941", "0-2", "m", spec(struct(A)), spec(struct(A, name="§M"))),
    ("TW941", "0-2", "e", spec(A + EMPTY, flexible="none"), spec(A, name="§R", flexible="none")),
    ("TW941", "0-2", "topic_id", spec(field("TopicID")), spec(field("§TopicId"))),
    ("TW942", "0-2", "l", spec(struct(A)), spec(struct(A, "§[]S2"))),
    ("TW942", "0-2", "l", spec(struct(A, "[]S2")), spec(struct(A, "§[]S"))),
    ("TW943", "1-2", "u", spec(T), spec(tagged("§U"))),
    ("TW944", "0-1", "a", spec(field(versions="2+")), spec(field(versions="2+", more=', "ignorable": §true'))),
    ("TW944", "0-1", "a", spec(field(versions="2+", more=', "ignorable": true')), spec(field("§A", versions="2+"))),
    ("TW945", "0-2", "a", spec(field(type="[]int32"), flexible="none"), spec(struct(A, "§[]S", "A"), flexible="none")),
    ("TW945", "0-2", "a", spec(struct(A, "S", "A"), flexible="none"), spec(field(type="§int32"), flexible="none")),
    ("TW946", "0-2", "a", spec(field(type="bytes")), spec(field(type="§records"))),
    ("TW960", "0", "", spec(A), spec(A, valid="§1-2")),
    ("TW961", "0-2", "", spec(A), spec(valid="§none")),
    ("TW962", "2", "", request(UNSTABLE), request(UNSTABLE, field(type="int64"), name="§FooRequest")),
    ("TW962", "2", "", request(UNSTABLE), request(valid="§0-1")),
    ("TW963", "2", "", request(), request('"latestVersionUnstable": §true,')),
]


def found(old: str, new: str) -> list[Finding]:
    text = new.replace("§", "")
    return list(placed(compare_messages(read(old), read(new)), {"R.json": text}))


def name_rows(value: object) -> str | None:
    return value if isinstance(value, str) and value.startswith("TW9") else ""


@pytest.mark.parametrize(("rule", "versions", "path", "old", "new"), FOUND, ids=name_rows)
def test_a_rule_finds(rule: str, versions: str, path: str, old: str, new: str) -> None:
    [finding] = [each for each in found(old, new) if each.rule == rule]
    before = new.partition("§")[0]
    assert (finding.versions, finding.path) == (versions, path)
    assert (finding.line, finding.column) == (before.count("\n") + 1, len(before) - before.rfind("\n"))
    assert finding.severity == CHANGE_RULES[rule].severity
    assert (finding.proof is not None) == (finding.severity == "wire" or rule == "TW920")
    assert finding.message_name in ("R", "Q", "FooRequest")
    assert finding.as_dict()["message"] == finding.message
    json.dumps(finding.as_dict())


@pytest.mark.parametrize(
    ("type", "old", "new", "text"),
    [
        ("string", '""', '"null"', "the default was empty and is now null"),
        ("string", '"null"', '"a"', "the default was null and is now 'a'"),
        ("bytes", '""', '"null"', "the default was empty and is now null"),
        ("bool", '"true"', '"false"', "the default was true and is now false"),
        ("int32", '"0x10"', '"-1"', "the default was 16 and is now -1"),
        ("float64", '"1.5"', '"2.5"', "the default was 1.5 and is now 2.5"),
    ],
)
def test_defaults_are_shown(type: str, old: str, new: str, text: str) -> None:
    null = NULL if type in ("string", "bytes") else ""
    [finding] = found(*(spec(default(each, type, null)) for each in (old, new)))
    assert finding.message.startswith(text)


SILENT = [
    ("the same", spec(A), spec(A)),
    ("new version", spec(A), spec(A, valid="0-3")),
    ("tagged field added", spec(A), spec(A + "," + T)),
    ("tagged field added between", spec(with_b()), spec(A + "," + T + "," + field("B"))),
    ("tagged field added in a struct", spec(struct(A)), spec(struct(A + "," + T))),
    ("tagged field removed, its tag reserved", spec(A + "," + T), spec(A, '"reservedTags": [0],')),
    ("optional field added", draft(fields=A), draft(optional(), A)),
    ("optional field removed, its tag reserved", draft(optional(), A), draft("", A, '"reservedTags": ["0x0000"],')),
    ("field added in a new version", spec(A), spec(with_b("3+"), valid="0-3")),
    ("field added in front in a new version", spec(A), spec(field("B", versions="3+") + "," + A, valid="0-3")),
    ("field ended at a new version", spec(with_b()), spec(with_b("0-2"), valid="0-3")),
    ("range opened", spec(with_b("0-2")), spec(A + "," + field("B"), valid="0-3")),
    ("nullable in a new version", spec(TEXT), spec(nullable('"3+"'), valid="0-3")),
    ("flexible in a new version", spec(A, flexible="none"), spec(A, flexible="3+", valid="0-3")),
    ("optional fields in a new version", draft(fields=A, since="none"), draft(fields=A, since="3+", valid="0-3")),
    ("flexible beyond the versions", spec(A, flexible="none"), spec(A, flexible="9+")),
    ("a default in other words", spec(default('"0x10"')), spec(default("16"))),
    ("a default that is the type's", spec(A), spec(default('"0"'))),
    ("prose and hints", spec(A), spec(field(more=', "about": "x", "entityType": "brokerId"'))),
    ("deprecated versions", spec(A), spec(A, '"deprecatedVersions": "0",')),
    ("map key", spec(struct(A)), spec(struct(field(more=', "mapKey": true')))),
    ("zero copy", spec(field(type="bytes")), spec(field(type="bytes", more=', "zeroCopy": true'))),
    ("ignorable where every version has it", spec(A), spec(field(more=', "ignorable": true'))),
    ("a common struct", spec(struct(A)), spec(field("L", "[]S"), COMMON)),
    ("renamed with an alias", spec(A), spec(A, '"aliases": ["R"],', name="Q")),
    ("header said, or by rule", request(), request(HEADERS)),
    ("a key where there was none", spec(A), spec(A, '"apiKey": 3,')),
    ("dead range as before", spec(with_b("5+")), spec(with_b("5+"), valid="0-3")),
    ("field left behind by dropped versions", spec(with_b("0")), spec(with_b("0"), valid="1-2")),
    ("nothing takes no bytes", spec(A, flexible="none"), spec(A + EMPTY, flexible="none")),
    ("unstable and the same", request(UNSTABLE), request('"latestVersionUnstable": true, "listeners": ["broker"],')),
    ("stable at last", request(UNSTABLE), request()),
    ("listeners", request(), request('"listeners": ["broker"],')),
    ("a format named at last", spec(field(type="records")), spec(records("0", "1+"))),
    ("a format for a new version", spec(records("0-2", "3+"), valid="0-1"), spec(records("0-1", "2+"))),
]


@pytest.mark.parametrize(("old", "new"), [row[1:] for row in SILENT], ids=[row[0] for row in SILENT])
def test_compatible_changes_are_not_reported(old: str, new: str) -> None:
    assert [finding.rule for finding in found(old, new) if finding.rule != "TW960"] == []


def test_every_rule_about_changes_is_seen_to_find() -> None:
    enums = {"TW915", "TW916", "TW947", "TW948", "TW949"}  # tested in test_value_rules.py
    assert {str(row[0]) for row in FOUND} | {"TW914", "TW925"} | enums == set(CHANGE_RULES)
