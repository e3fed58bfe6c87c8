"""Check that each rule rejects an invalid spec at the right position, and that no other rule rejects this spec.

In the specs here, § marks the expected position of the problem.
"""

import json
from pathlib import Path

import pytest

from tagwire_generator.problems import RULES
from tagwire_generator.reading.register import registers_among
from tagwire_generator.reading.spec import read_file, read_spec

DEEP = '{"name":' + 39 * "[" + "§[" + 40 * "]" + "}"


def spec(fields: str = "", more: str = "", *, kind: str = "data", valid: str = '"0-3"', flexible: str = '"1+"') -> str:
    """Return a spec in the released dialect, with its fields on line 3."""
    head = f'{{"name": "Sample", "type": "{kind}", "validVersions": {valid}, "flexibleVersions": {flexible},'
    return f'{head}\n  {more}\n  "fields": [{fields}]}}'


def draft(fields: str = "", optional: str = "", *, versions: str = '"versionsWithOptional": "1+",') -> str:
    """Return a spec in the draft dialect, with its optional fields on line 2."""
    head = f'{{"name": "Sample", "type": "data", "validVersions": "0-3", {versions}'
    return f'{head}\n  "optionalFields": [{optional}],\n  "fields": [{fields}]}}'


def optional(more: str, type: str = "string", tag: object = 1) -> str:
    return draft(optional=f'{{"name": "A", "type": "{type}", "tag": {tag}{more}}}')


def field(more: str = '"about": ""', type: str = "string", versions: str = "0+") -> str:
    """Return a field. If its type begins with §, the type's position is marked."""
    mark, name = "§" * type.startswith("§"), type.removeprefix("§")
    return f'{{"name": "A", "type": {mark}"{name}", "versions": "{versions}", {more}}}'


def tagged(name: str, tag: str, more: str = "") -> str:
    return f'{{"name": "{name}", "type": "int8", "versions": "1+", "taggedVersions": "1+", "tag": {tag}{more}}}'


def common(*structs: str) -> str:
    return f'"commonStructs": [{", ".join(structs)}],'


def struct(name: str, fields: str = "", versions: str = "0+") -> str:
    return f'{{"name": {name}, "versions": "{versions}", "fields": [{fields}]}}'


INT = '{"name": "B", "type": "int8", "versions": "0+"}'
KEYED = '"apiKey": 3,'
EXTENDED = '"dialect": "tagwire",'
STATE = (
    '{"name": "State", "type": "register", "keys": "int16", "closed": true, "entries": [{"key": 300, "name": "NEW"}]}'
)
REGISTERS = registers_among([STATE.encode()])
TAGGED_KEY = tagged("B", "0", ', "mapKey": §true')
NESTED = [struct(f'{"§" * (n == 1)}"S{n}"', field(type=f"S{n + 1}")) for n in range(33)]
OPTIONAL = '{"name": "A", "type": "int8", "tag": 1}'
ERROR_CODE = '{"name": "ErrorCode", "type": "int16", "versions": "0+"}'


def rows(rule: str, marked: str, *values: str) -> list[tuple[str, str]]:
    """Return a row for each value. In `marked`, the value follows the §."""
    return [(rule, marked.replace("§", f"§{value}")) for value in values]


def default(type: str) -> str:
    return spec(field('"default": §', type))


def keyed(key: str, more: str) -> str:
    return f'{{"name": "A", "type": "[]S", "versions": "0+", {more}, "fields": [{key}]}}'


NULL_SINCE_0, NULL_SINCE_1 = (f'"nullableVersions": "{since}+", "default": "null"' for since in (0, 1))


def alternatives(first: str = "", second: str = "", *, union: str = '"U"', type: str = "string") -> str:
    """Return two fields that are alternatives of a union. The arguments can make them invalid."""
    first = first or NULL_SINCE_1
    one = f'{{"name": "One", "type": "{type}", "taggedVersions": "1+", "tag": 0, {first}, "union": {union}}}'
    other = f'{{"name": "Two", "type": "string", "taggedVersions": "1+", "tag": 1, {NULL_SINCE_1}, "union": "U"}}'
    return f"{one}, {second or other}"


HEADERS = spec(more='"headerVersions": §,', kind="request")
RECORDS = spec(field('"recordFormats": §', "records"))
RESERVED = spec(more='"reservedTags": §,')
TYPE = spec('{"name": "A", "type": §, "versions": "0+"}')
ERRORS = [
    # rules about text and keys
    ("TW102", "§\N{ZERO WIDTH NO-BREAK SPACE}{}"),
    ("TW103", "§"),
    ("TW103", '{"name": "A"§'),
    ("TW103", '{"name": "A" §"type": "data"}'),
    ("TW103", "§# a comment\n{}"),
    *rows("TW103", '{"name": §}', "", "'A'", '"A\n"', '"\\x"'),
    ("TW103", "{} §/* no end"),
    *rows("TW104", spec() + "\n§", "{}", "true"),
    ("TW105", spec(INT + "§,")),
    ("TW105", spec(field('"about": ""§,'))),
    ("TW106", spec(field('"about": "", §"versions": "1+"'))),
    ("TW106", spec(more='§"name": "Other",')),
    ("TW107", DEEP),
    ("TW108", spec(field('"about": §"\\ud800"'))),
    *rows("TW109", "  §", "[]", '"name"'),
    ("TW110", spec(more='§"abuot": 1,')),
    ("TW110", spec(field('§"flexible": null'))),
    ("TW110", spec(INT, common(struct('"S"', INT)[:-1] + ', §"tag": 0}'))),
    ("TW111", spec(more='"commonStructs": §3,')),
    ("TW111", spec("§3")),
    ("TW111", spec(more=f'"apiKey": §{"1" * 5000},')),
    *rows("TW111", spec(field('"ignorable": §')), '"yes"', "2"),
    *rows("TW111", default("string"), "[]", "{}"),
    *rows("TW111", spec(tagged("A", "§")), "0.5", "0.0", "true"),
    ("TW111", spec(more='"apiKey": §7.0,')),
    ("TW111", spec(valid="§1.5")),
    *rows("TW112", spec().replace('"data"', "§"), '"Data"', "0"),
    ("TW112", spec(INT, '"listeners": ["broker", §"brokers"],' + KEYED, kind="request")),
    *rows("TW112", spec(field('"entityType": §')), '"topic"', "1"),
    ("TW113", '§{"type": "data", "validVersions": "0", "flexibleVersions": "none"}'),
    ("TW113", '{§"name": null, "type": "data", "validVersions": "0", "flexibleVersions": "none"}'),
    ("TW113", spec('§{"name": "A", "versions": "0+"}')),
    ("TW113", spec(valid='§" "')),
    ("TW113", spec(INT, common('§{"name": "S"}'))),
    ("TW113", spec(INT, common('{"name": "S", "versions": §""}'))),
    ("TW113", draft(optional='§{"name": "A", "type": "int8"}')),
    *rows("TW114", spec(more='"apiKey": §,', kind="request"), '"0x7"', "40000"),
    ("TW114", spec(tagged("A", '§"one"'))),
    ("TW114", spec(more='"reservedTags": [§"-"],')),
    ("TW114", spec(ERROR_CODE, '"fallback": §{"version": 0, "errorCode": 40000},', kind="response", flexible='"none"')),
    # rules about messages and versions
    *rows("TW201", spec(valid="§"), '"0,2"', '"0-40000"', '"+1"'),
    ("TW201", spec(flexible='§"None"')),
    ("TW201", spec(more='"headerVersions": {§"0 - 3": "1"},', kind="request")),
    *rows("TW202", spec(valid="§"), '"0+"', '"0-32766"'),
    ("TW203", spec(valid='§"3-1"')),
    ("TW204", '§{"name": "A", "type": "data", "validVersions": "0"}'),
    ("TW205", spec(flexible='§"1-3"')),
    *rows("TW206", spec().replace('"Sample"', "§"), '"1_x"', '"../../etc/passwd"', f'"{101 * "x"}"'),
    *rows("TW207", spec().replace('"Sample"', "§"), '"Con"', '"AUX"', '"Lpt1"', '"Registry"', '"Class"', '"None"'),
    ("TW301", spec('{"name": "A", "type": §"[]True", "versions": "0+", "fields": []}')),
    ("TW208", spec(more='"listeners": §["broker"],', kind="response")),
    ("TW208", spec(more='"listeners": §"broker",')),
    ("TW209", spec(more='"latestVersionUnstable": §true,', kind="response")),
    ("TW210", "§" + spec(kind="coordinator-value")),
    ("TW211", spec(more=KEYED, kind="coordinator-key", valid='§"0-1"', flexible='"none"')),
    ("TW211", spec(more=KEYED, kind="coordinator-key", valid='"0"', flexible='§"0+"')),
    ("TW212", spec(more='"apiKey": §-1,', kind="metadata")),
    ("TW213", spec(more='"headerVersions": §{"0+": "1"},')),
    *rows("TW213", HEADERS, '{"0": 1, "1+": 3}'),
    *rows("TW215", HEADERS, '{"0-1": 1, "2+": 2}'),
    *rows(
        "TW214", HEADERS, '{"1+": 2}', '{"0-1": 2, "3+": 2}', '{"0-2": 2, "2+": 2}', '{"0-3": 2}', '{"0-8": 2, "9+": 2}'
    ),
    ("TW215", spec(more='"headerVersions": §{"0+": 0},', kind="response")),
    ("TW216", spec(more='"headerVersions": §{"0+": 1},', kind="response").replace("Sample", "ApiVersionsResponse")),
    ("TW216", spec(ERROR_CODE, '"fallback": §{"version": 0, "errorCode": 35},', kind="response")),
    ("TW217", spec(ERROR_CODE, '"fallback": §{"version": 0, "errorCode": 35},', kind="request")),
    ("TW217", spec(ERROR_CODE, '"fallback": §{"version": 4, "errorCode": 35},', kind="response", flexible='"none"')),
    ("TW218", spec(INT, '"fallback": §{"version": 0, "errorCode": 35},', kind="response", flexible='"none"')),
    *rows("TW219", spec(more='"aliases": §,'), '["Sample"]', '["Old", "oLD"]', '["no name"]', '"registry"'),
    # rules about structs
    ("TW301", spec(field('"fields": []', "§Foo-Bar"))),
    ("TW301", spec(field('"fields": []', "§Ünit"))),
    *rows("TW301", spec(INT, common(struct("§", INT))), '"foo"', '"A B"'),
    ("TW302", spec(INT + ', {"name": §"B", "type": "int8", "versions": "4+"}')),
    ("TW302", draft(INT, '{"name": §"B", "type": "int8", "tag": 1}')),
    ("TW303", spec(INT + ', {"name": §"b", "type": "int8", "versions": "0+"}')),
    ("TW304", spec(INT, common(struct('"S"', INT), struct('§"S"', INT)))),
    ("TW304", spec(field('"fields": []', "S") + ', {"name": "C", "type": §"S", "versions": "0+", "fields": []}')),
    ("TW304", spec(field('"fields": []', "Foo") + ', {"name": "C", "type": §"FOO", "versions": "0+", "fields": []}')),
    ("TW304", spec(field(f'"fields": [{INT}]', "§S"), common(struct('"S"', INT)))),
    ("TW305", spec(field('"fields": []', "§SAMPLE"))),
    *rows("TW306", TYPE, '"Foo"', '"Sample"'),
    ("TW306", spec(field('"fields": []', "S") + ', {"name": "C", "type": §"S", "versions": "0+"}')),
    ("TW307", spec(field(type="S"), common(struct('"S"', field('"fields": §[]', "T"))))),
    ("TW308", spec(field(type="S"), common(struct('"S"', field(type="§[]T")), struct('"T"', field(type="S"))))),
    ("TW309", spec('{"name": "A", "type": "S", "versions": §"0+"}', common(struct('"S"', INT, "1-2")))),
    ("TW310", spec('{"name": "A", "type": "S", "versions": §"4+", "fields": []}')),
    ("TW311", spec(field('"fields": []', "§[]S"))),
    ("TW311", spec(field('"fields": [{"name": "B", "type": "int8", "versions": "1+"}]', "§[]S"))),
    ("TW312", spec(field(type="S0"), common(*NESTED, struct('"S33"')))),
    ("TW313", spec(field('"fields": []', "§SampleV2"))),
    # rules about fields
    *rows("TW401", spec('{"name": §, "type": "int8", "versions": "0+"}'), '"a_b"', '"A\\n\\"\'"'),
    *rows("TW402", TYPE, '"int"', '""'),
    *rows("TW403", TYPE, '"[]"', '"[][][][][]int8"'),
    *rows("TW709", TYPE, '"[][]int8"'),
    *rows("TW404", TYPE, '"[]records"'),
    *(("TW405", spec(f'§{{"name": "A", "type": "int8"{versions}}}')) for versions in ("", ', "versions": " "')),
    ("TW406", spec(field('"nullableVersions": §"0+"', "uuid"))),
    ("TW511", spec(tagged("A", "0", ', "nullableVersions": §"1+"'), EXTENDED)),
    ("TW510", spec(field('"semantic": §"timestamp_ms"', "int32"), EXTENDED)),
    ("TW406", optional(', "nullable": §true', "int8")),
    ("TW407", spec(field('"entityType": §"topicName"', "int32"))),
    ("TW408", spec(field(f'"fields": §[{INT}]'))),
    ("TW408", spec(field(f'"fields": §[{INT}]', "[]int8"))),
    ("TW408", spec(field('"reservedTags": §[0]'))),
    ("TW409", spec(field('"flexibleVersions": §"none"', "int8"))),
    ("TW409", spec(field('"flexibleVersions": §"none"', "records"))),
    ("TW410", spec(field('"flexibleVersions": §" "'))),
    ("TW411", spec(field('"flexibleVersions": §"0+"'))),
    ("TW412", spec(field('"zeroCopy": §true'))),
    ("TW412", spec(field('"zeroCopy": §true', "[]bytes"))),
    ("TW413", spec(field('"mapKey": §true'))),
    ("TW414", spec(field('"recordFormats": §{"0+": "v2"}'))),
    ("TW414", spec(field('"recordFormats": §{"0+": "v2"}', "[]bytes"))),
    *rows("TW415", RECORDS, '{"1+": "v2"}', '{"0-2": "v2"}', '{"0-2": "v1", "2+": "v2"}', '{"none": "v1", "0+": "v2"}'),
    ("TW415", spec(field('"recordFormats": §{"0": "v1", "2+": "v2"}', "bytes"))),
    *rows("TW416", RECORDS, '{"0+": "V2"}'),
    *rows("TW111", RECORDS, '"v2"'),
    ("TW201", spec(field('"recordFormats": {§"0 - 3": "v2"}', "records"))),
    ("TW111", spec(field('"recordFormats": {"0+": §2}', "records"))),
    # rules about defaults and enums
    ("TW417", spec(field('"enum": §"States"', "int8"), EXTENDED)),
    ("TW418", spec(field('"enum": §"State"'), EXTENDED)),
    ("TW419", spec(field('"enum": §"State"', "int8"), EXTENDED)),
    ("TW502", spec(field('"enum": "State", "default": §"OLD"', "int16"), EXTENDED)),
    ("TW509", spec(field('"enum": §"State"', "int16"), EXTENDED)),
    ("TW509", spec(field('"enum": §"State", "default": "2"', "int16"), EXTENDED)),
    *rows("TW501", default("bool"), '"yes"', "1"),
    *rows("TW502", default("int32"), '"08"', '"0x"', '"0X10"', '" 5"', "1.5"),
    *rows("TW502", default("int64"), "true", f'{5000 * "9"}'),
    *rows("TW503", default("int8"), "128", '"0x80"'),
    *rows("TW503", default("uint16"), '"-1"'),
    *rows("TW503", default("uint32"), '"4294967296"'),
    *rows("TW503", default("int64"), '"9223372036854775808"'),
    *rows("TW504", default("float64"), '"x"', '"1_0"', '"nan"'),
    *rows("TW505", default("uuid"), '"00000000-0000-0000-0000-000000000000"', '"AAAA"'),
    *rows("TW506", default("bytes"), '"abc"'),
    *rows("TW506", default("[]int8"), '"{}"'),
    ("TW506", spec(field('"fields": [], "default": §"{}"', "S"))),
    *rows("TW507", default("int8"), '"null"'),
    *rows("TW507", default("string"), '"null"'),
    ("TW507", spec(field('"default": §"null", "nullableVersions": "0-3"'))),
    ("TW507", optional(', "default": §"null"')),
    *rows("TW508", default("string"), f'"{32768 * "x"}"'),
    # rules about tags
    *rows("TW601", spec(tagged("A", "§")), "-1", "2147483648"),
    *rows("TW601", RESERVED, "[-1]"),
    ("TW602", spec(field('"tag": §0', versions="1+"))),
    ("TW602", spec(field('"tag": §0, "taggedVersions": "none"', versions="1+"))),
    ("TW603", spec(field('"taggedVersions": §"1+"', versions="1+"))),
    ("TW604", spec(field('"tag": 0, "taggedVersions": §"1-3"', versions="1+"))),
    ("TW605", spec(field('"tag": 0, "taggedVersions": §"1+"', versions="2+"))),
    ("TW606", spec(field('"tag": 0, "taggedVersions": "1+", "nullableVersions": §"2+"', versions="1+"))),
    ("TW607", spec(field(f'"fields": [{TAGGED_KEY}]', "[]S", "1+"))),
    ("TW608", spec(tagged("A", "0") + ", " + tagged("B", "§0"))),
    ("TW608", draft(optional=OPTIONAL + ', {"name": "B", "type": "int8", "tag": §"0x0001"}')),
    ("TW609", spec(tagged("A", "0") + ", " + tagged("B", "§2") + ", " + tagged("C", "3"))),
    *rows("TW609", RESERVED, "[0, 2]"),
    ("TW610", spec(tagged("A", "§0"), '"reservedTags": [0],')),
    ("TW611", spec(field('"tag": 0, "taggedVersions": §"0+"'))),
    ("TW611", spec(field('"tag": 0, "taggedVersions": §"1+", "flexibleVersions": "none"'))),
    ("TW612", spec(field('"tag": §0, "taggedVersions": "1+"', "records"))),
    *rows("TW613", RESERVED, "[0, 1, 0]"),
    ("TW614", spec(field('"reservedTags": §[0]', "S"), common(struct('"S"', INT)))),
    # rules about the draft dialect
    ("TW701", draft(versions='"versionsWithOptional": "1+", §"flexibleVersions": "1+",')),
    ("TW701", draft(field('§"taggedVersions": "1+"'))),
    ("TW701", draft(field('§"flexibleVersions": "1+"'))),
    ("TW702", draft(optional=OPTIONAL, versions="").replace('"opt', '§"opt', 1)),
    ("TW702", draft(versions='"versionsWithOptional": "none",').replace('"optionalFields": [', '§"optionalFields": [')),
    ("TW702", draft(field(f'§"optionalFields": [{OPTIONAL}]', "S"), versions="").replace('"optionalFields": [],', "")),
    ("TW703", draft(versions='"versionsWithOptional": §"1-2",')),
    ("TW703", draft(INT, OPTIONAL, versions='"versionsWithOptional": §"1",')),
    ("TW704", optional(', §"versions": "1+"', "int8")),
    ("TW704", optional(', §"mapKey": true', "int8")),
    ("TW705", draft(optional=f'{{"name": "A", "type": §"[]S", "tag": 1, "fields": [{INT}]}}')),
    ("TW706", optional(f', "nullable": §true, "default": "null", "fields": [{INT}]', "S")),
    *rows("TW707", optional("", tag="§"), "65536", '"0x10000"'),
    ("TW707", draft(versions='"versionsWithOptional": "1+", "reservedTags": §[65536],')),
    ("TW708", spec(tagged("A", '§"0x0"'))),
    ("TW708", spec(more='"reservedTags": [§"0x0"],')),
    ("TW701", draft(versions='"versionsWithOptional": "1+", §"dialect": "tagwire",')),
    ("TW709", spec(more='"deprecated": §"x",')),
    ("TW709", spec(INT, common(struct('"S"', INT)[:-1] + ', "deprecated": §""}'))),
    ("TW709", spec(field('"required": §true'))),
    # rules about values in the tagwire dialect
    ("TW318", spec(field('"unique": §true', "[]int8"), EXTENDED)),
    ("TW318", spec(keyed(INT, '"unique": §true'), EXTENDED)),
    ("TW318", spec(keyed(INT, '"unique": §true').replace("[]S", "S"), EXTENDED)),
    ("TW318", spec(keyed(field('"mapKey": true', versions="1+") + ", " + INT, '"unique": §true'), EXTENDED)),
    ("TW319", spec(keyed(field('"mapKey": true', "float64"), '"unique": §true'), EXTENDED)),
    ("TW518", spec(tagged("B", "0", ', "required": §true'), EXTENDED)),
    ("TW519", spec(field('"fields": [' + field('"required": true') + "]", "§S"), EXTENDED)),
    ("TW617", spec(alternatives('"nullableVersions": "1+"', union='§"U"'), EXTENDED)),
    ("TW617", spec(alternatives(f'"versions": "0+", {NULL_SINCE_0}', union='§"U"'), EXTENDED)),
    ("TW617", spec(alternatives(f'{NULL_SINCE_1}, "ignorable": true', union='§"U"'), EXTENDED)),
    ("TW617", spec(alternatives(second=field(f'{NULL_SINCE_0}, "union": §"U"')), EXTENDED)),
    ("TW618", spec(alternatives(union='§"U"', second=INT), EXTENDED)),
    ("TW619", spec(alternatives(union='§"U"', second=INT).replace('§"U"', '§"9"'), EXTENDED)),
    ("TW619", spec(alternatives() + ', {"name": §"U", "type": "int8", "versions": "0+"}', EXTENDED)),
    ("TW619", spec(alternatives() + ', {"name": §"Which", "type": "int8", "versions": "0+"}', EXTENDED)),
]

WARNINGS = [
    ("TW220", spec(field('"nullableVersions": §"3-1"'))),
    ("TW221", spec(more='"deprecatedVersions": §"2-4",')),
    ("TW222", spec(more='"apiKey": §-1,', kind="request")),
    ("TW223", spec(more='"apiKey": §1,')),
    ("TW320", spec(INT, common(struct('§"S"', INT)))),
    *rows("TW420", spec('{"name": "A", "type": "int8", "versions": §}'), '"4+"', '"none"'),
    ("TW420", spec(field('"fields": [{"name": "B", "type": "int8", "versions": §"0-1"}]', "S", "2+"))),
    ("TW421", spec(field('"nullableVersions": §"0-1"', versions="2+"))),
    ("TW422", spec(field('"ignorable": §true', versions="0-3"))),
    ("TW423", spec(field('"zeroCopy": §true, "tag": 0, "taggedVersions": "1+"', "bytes"))),
    ("TW520", spec(field('"default": §"abc"', "records"))),
    ("TW521", spec(field('"nullableVersions": §"0+", "tag": 0, "taggedVersions": "1+"'))),
    ("TW521", optional(', "nullable": §true')),
]


def position(marked: str) -> tuple[str, int, int]:
    """Return the text without §, and the line and column where § was."""
    before, mark, after = marked.partition("§")
    assert mark and "§" not in after, "exactly one § must say where the problem is"
    return before + after, before.count("\n") + 1, len(before) - before.rfind("\n")


def name_rows(row: object) -> str | None:
    return row if isinstance(row, str) and len(row) == 5 else ""


@pytest.mark.parametrize(("rule", "marked"), ERRORS, ids=name_rows)
def test_error_is_reported_at_its_position_and_alone(rule: str, marked: str) -> None:
    text, line, column = position(marked)
    result = read_spec(text, file="Sample.json", registers=REGISTERS)
    errors = [problem for problem in result.problems if problem.severity == "error"]
    assert [(problem.rule, problem.line, problem.column) for problem in errors] == [(rule, line, column)]
    assert result.message is None


def test_rules_about_version_0_apply_although_the_valid_versions_are_unknown() -> None:
    fallback = '"fallback": {"version": 0, "errorCode": 40000},'
    text = spec(ERROR_CODE, fallback, kind="response", valid='"x"', flexible='"none"')
    assert [problem.rule for problem in read_spec(text, file="Sample.json").problems] == ["TW201", "TW114"]


@pytest.mark.parametrize(("rule", "marked"), WARNINGS, ids=name_rows)
def test_warning_is_reported_at_its_position_and_stops_nothing(rule: str, marked: str) -> None:
    text, line, column = position(marked)
    result = read_spec(text, file="Sample.json", registers=REGISTERS)
    assert [(problem.rule, problem.line, problem.column) for problem in result.problems] == [(rule, line, column)]
    assert result.problems[0].severity == "warning"
    assert result.message is not None


@pytest.mark.parametrize(("text", "message"), [
    (optional("", tag=-1), "field A has tag -1; the draft's tags are 0 to 65535"),
    (optional("", tag=2**32), "field A has tag 4294967296; the draft's tags are 0 to 65535"),
    (optional(', "nullable": true', "int32"), "field A is int32, which has no null, but is nullable; remove the key"),
    (optional(', "default": "null"'), 'field A is null by default, but is not nullable; write "nullable": true'),
    (draft(versions='"versionsWithOptional": "1+", "reservedTags": [4294967296],'),
     "struct Sample reserves tag 4294967296; the draft's tags are 0 to 65535"),
    (draft(fields='{"name": "A", "type": "int8"}'),
     "the field has no versions; give those in which it exists, or move it to optionalFields"),
    (optional("").replace('"1+"', '"5+"'),
     "A is optional in versionsWithOptional 5+, but Sample is only in 0-3; it is never written"),
])  # fmt: skip
def test_draft_dialect_has_its_own_keys_and_limits(text: str, message: str) -> None:
    [problem] = read_spec(text, file="Sample.json").problems
    assert problem.message == message


def test_draft_dialect_allows_optional_views() -> None:
    assert read_spec(optional(', "zeroCopy": true', "bytes"), file="Sample.json").problems == ()


FILES = [("TW101", None, 1, 1), ("TW102", b'{\n "a": "\xff"}', 2, 8), ("TW102", "{}".encode("utf-16"), 1, 1)]


@pytest.mark.parametrize(("rule", "content", "line", "column"), FILES)
def test_a_file_that_cannot_be_read(tmp_path: Path, rule: str, content: bytes | None, line: int, column: int) -> None:
    path = tmp_path / "Sample.json"
    if content is not None:
        path.write_bytes(content)
    (problem,) = read_file(path).problems
    assert (problem.rule, problem.line, problem.column) == (rule, line, column)
    assert problem.file == str(path)


def test_every_rule_is_seen_to_reject() -> None:
    # The rules in `apart` are tested in other files.
    apart = {rule for rule in RULES if rule.startswith(("TW0", "TW8"))} | {"TW314", "TW315", "TW316"}
    assert {str(row[0]) for row in (*ERRORS, *WARNINGS, *FILES)} == RULES.keys() - apart


def test_every_rule_has_a_description_and_a_reason() -> None:
    for rule in RULES.values():
        assert rule.title and not rule.title.endswith("."), rule.id
        assert rule.explanation.endswith("."), rule.id
        assert json.dumps(rule.title).isascii(), rule.id
