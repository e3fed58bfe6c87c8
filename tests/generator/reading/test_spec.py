from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tagwire.errors import SpecError
from tagwire.versions import NONE, Versions
from tagwire_generator.model import STRUCT_DEFAULT, Fallback, FieldSpec, MessageSpec
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.spec import load, read_file, read_spec

HEAD = '"name": "Sample", "type": "data", "validVersions": "0-3", "flexibleVersions": "1+"'


def read(text: str, **options: Any) -> MessageSpec:
    result = read_spec(text, file="Sample.json", options=SpecOptions(**options))
    assert result.message is not None, result.problems
    return result.message


def spec(*fields: str, head: str = HEAD) -> str:
    return f"{{{head}, \"fields\": [{', '.join(fields)}]}}"


def field(more: str, type: str = "string") -> FieldSpec:
    return read(spec(named("A", type, f'"versions": "0+", {more}'))).fields[0]


def named(name: str, type: str, more: str = '"versions": "0+"') -> str:
    return f'{{"name": "{name}", "type": "{type}", {more}}}'


def rules(text: str, **options: Any) -> list[str]:
    return [problem.rule for problem in read_spec(text, options=SpecOptions(**options)).problems]


@pytest.mark.parametrize(
    ("name", "reason"),
    [("no.json", "No such file or directory"), ("\0", "embedded null byte"), (".", "Is a directory")],
)
def test_unreadable_files(name: str, reason: str) -> None:
    (problem,) = read_file(name).problems
    assert (problem.rule, problem.message) == ("TW101", f"the file can't be read: {reason}")


def test_a_whole_message() -> None:
    text = """
    { "apiKey": 7, "type": "response", "name": "SampleResponse", "validVersions": "1-4", "flexibleVersions": "2+",
      "deprecatedVersions": "1", "headerVersions": {"2+": 0, "0-1": "0"}, "fallback": {"version": 1, "errorCode": 35},
      "reservedTags": [1],
      "commonStructs": [
        { "name": "Node", "versions": "0+", "fields": [
          { "name": "Id", "type": "int32", "versions": "0+", "mapKey": true, "entityType": "brokerId" },
          { "name": "Where", "type": "Place", "versions": "2+", "nullableVersions": "2+", "default": "null" } ] },
        { "name": "Place", "versions": "2+", "fields": [
          { "name": "Host", "type": "string", "versions": "2+", "flexibleVersions": "3+", "about": "The host." } ] } ],
      "fields": [
        { "name": "ErrorCode", "type": "int16", "versions": "0+" },
        { "name": "Nodes", "type": "[]Node", "versions": "0+", "nullableVersions": "3+" },
        { "name": "Extra", "type": "Extra", "tag": 0, "taggedVersions": "2+", "fields": [
          { "name": "Data", "type": "bytes", "versions": "2+", "zeroCopy": true, "ignorable": false } ] } ] }
    """
    message = read(text)
    expected = ("SampleResponse", "response", 7, "released")
    assert (message.name, message.kind, message.api_key, message.dialect) == expected
    assert (str(message.valid_versions), str(message.flexible_versions)) == ("1-4", "2+")
    assert (str(message.deprecated_versions), message.optional_versions) == ("1", NONE)
    assert message.header_versions == ((Versions(0, 1), 0), (Versions.parse("2+"), 0))
    assert message.fallback == Fallback(1, 35)
    assert message.reserved_tags == message.root.reserved_tags == (1,)
    assert [struct.name for struct in message.structs] == ["Place", "Node", "Extra"]
    assert message.root.fields == message.fields
    assert (message.root.name, message.root.versions) == ("SampleResponse", message.valid_versions)

    nodes, extra = message.fields[1:]
    assert (str(nodes.type), nodes.struct, nodes.default) == ("[]Node", "Node", ())
    assert (extra.versions, extra.tagged_versions, extra.tag) == (Versions.parse("2+"), Versions.parse("2+"), 0)
    assert extra.default is STRUCT_DEFAULT
    assert message.struct("Extra").versions == extra.versions
    assert message.struct("Extra").fields[0].zero_copy
    identity, where = message.struct("Node").fields
    assert (identity.map_key, identity.entity_type) == (True, "brokerId")
    assert where.default is None
    host = message.struct("Place").fields[0]
    assert (host.flexible_versions, host.about) == (Versions.parse("3+"), "The host.")


def test_problems_never_show_the_names_that_replace_invalid_names() -> None:
    twice = f'{named("B", "int8")}, {named("B", "int8")}'
    fields = (named("A", "S T", f'"versions": "0+", "fields": [{twice}]'), '{"type": "int8", "versions": "9+"}')
    found = {each.message for each in read_spec(spec(*fields, head=HEAD.replace("Sample", "x y"))).problems}
    assert {"struct '?' has a field B in versions 0+ already; rename one of them"} < found
    assert "field '?' exists in versions 9+, but '?' only in 0-3; it is never written" in found


def test_a_request() -> None:
    head = HEAD.replace("data", "request")
    message = read(f'{{{head}, "listeners": ["broker", "controller"], "latestVersionUnstable": true}}')
    assert message.listeners == ("broker", "controller")
    assert message.latest_version_unstable and message.latest_stable == 2


def test_the_drafts_own_example() -> None:
    """Read FooResponse, the example in KIP-482's first version, after adding its two missing brackets."""
    message = read("""
        { "apiKey": 9000, "type": "response", "name": "FooResponse", "validVersions": "0-9",
          "versionsWithOptional": "9+",
          "optionalFields": [ { "name": "UserAgent", "type": "string", "nullable": true, "tag": "0x0001" }, ],
          "fields": [
            { "name": "Foos", "type": "[]Foo", "versions": "0+",
              "optionalFields": [
                { "name": "Bar", "type": "string", "nullable": false, "tag": "0x0001", "default": "hello world" }, ],
              "fields": [ { "name": "Baz", "type": "int16", "versions": "0+" }, ], }, ], }
        """)
    nine = Versions.parse("9+")
    assert (message.dialect, message.optional_versions, message.flexible_versions) == ("draft", nine, NONE)
    foos, agent = message.fields
    assert (foos.name, foos.tag) == ("Foos", None)
    assert (agent.name, agent.tag, agent.default) == ("UserAgent", 1, "")
    assert agent.versions == agent.tagged_versions == agent.nullable_versions == nine
    baz, bar = message.struct("Foo").fields
    assert (baz.name, baz.tag) == ("Baz", None)
    assert (bar.tag, bar.default, bar.nullable_versions) == (1, "hello world", NONE)


@pytest.mark.parametrize(("tag", "number"), [("7", 7), ('"7"', 7), ('"0x00ff"', 255), ('"0xFFFF"', 65535), ("0", 0)])
def test_tags_of_the_draft(tag: str, number: int) -> None:
    head = HEAD.replace("flexibleVersions", "versionsWithOptional")
    text = f'{{{head}, "optionalFields": [{{"name": "A", "type": "records", "tag": {tag}, "ignorable": true}}]}}'
    (optional,) = read(text).fields
    assert (optional.tag, optional.ignorable, optional.default) == (number, True, None)


def test_members_of_an_optional_struct_may_leave_out_their_versions() -> None:
    head = HEAD.replace("flexibleVersions", "versionsWithOptional")
    members = '[{"name": "B", "type": "T", "fields": [{"name": "C", "type": "int8"}]}]'
    message = read(f'{{{head}, "optionalFields": [{{"name": "A", "type": "S", "tag": 5, "fields": {members}}}]}}')
    assert {str(spec.versions) for struct in message.structs for spec in struct.fields} == {"1+"}
    assert rules(spec(named("A", "S", f'"versions": "0+", "fields": {members}'), head=head)) == ["TW405", "TW405"]


def test_options_lift_rules() -> None:
    gap = spec('{"name": "A", "type": "int8", "taggedVersions": "1+", "tag": 10000}')
    assert rules(gap) == ["TW609"]
    assert read(gap, tag_gaps=True).fields[0].tag == 10000
    head = HEAD.replace("flexibleVersions", "versionsWithOptional")
    array = f'{{{head}, "optionalFields": [{{"name": "A", "type": "[]S", "tag": 0, "fields": []}}]}}'
    assert rules(array) == ["TW705"]
    assert read(array, allow_struct_arrays=True).options == SpecOptions(allow_struct_arrays=True)


def test_a_retired_tag_counts_as_taken() -> None:
    kept = '{"name": "A", "type": "int8", "taggedVersions": "1+", "tag": 1}'
    assert rules(spec(kept)) == ["TW609"]
    assert read(spec(kept, head=HEAD + ', "reservedTags": "0"')).reserved_tags == (0,)
    inline = f'{{"name": "S", "type": "S", "versions": "0+", "reservedTags": [0], "fields": [{kept}]}}'
    assert read(spec(inline)).struct("S").reserved_tags == (0,)


GONE = '"name": "GoneRequest", "type": "request", "apiKey": 4, "validVersions": "none"'


@pytest.mark.parametrize("more", ["", ', "flexibleVersions": "9-1"', ', "fields": [{"name": "A", "type": "Foo"}]'])
def test_removed_api_keeps_its_key(more: str) -> None:
    message = read(f"{{{GONE}{more}}}")
    assert (message.api_key, message.valid_versions, message.latest_stable) == (4, NONE, -1)
    assert message.fields == ()
    assert message.structs == ()


@pytest.mark.parametrize(("type", "default", "value"), [
    ("bool", '"TRUE"', True), ("bool", "false", False), ("int8", "-128", -128), ("int32", '"0x7fffffff"', 2**31 - 1),
    ("uint32", '"0xffffffff"', 2**32 - 1), ("uint32", "4294967295", 2**32 - 1), ("int64", '"+5"', 5),
    ("int32", '""', 0), ("float64", '"1e3"', 1000.0), ("float64", "-1.5", -1.5),
    ("float64", '"-Infinity"', float("-inf")), ("string", '"a\\"b\\\\c"', 'a"b\\c'), ("string", "5", "5"),
    ("uuid", '"AAAAAAAAAAAAAAAAAAAAAQ"', UUID(int=1)), ("uuid", '"_____________________w=="', UUID(int=2**128 - 1)),
    ("[]int32", '""', ()), ("bytes", "null", b""), ("records", '"null"', None),
])  # fmt: skip
def test_defaults(type: str, default: str, value: object) -> None:
    found = field(f'"default": {default}', type).default
    assert found == value and found.__class__ is value.__class__


def test_nan_is_a_default() -> None:
    found = field('"default": "NaN"', "float64").default
    assert isinstance(found, float) and found != found


IMPLICIT = [("bool", False), ("uint16", 0), ("float64", 0.0), ("string", ""), ("uuid", UUID(int=0)), ("[]string", ())]


@pytest.mark.parametrize(("type", "value"), [*IMPLICIT, ("bytes", b""), ("records", None)])
def test_implicit_defaults(type: str, value: object) -> None:
    assert field('"about": ""', type).default == value


def test_json_null_is_not_a_default_but_the_string_null_is() -> None:
    nullable = '"nullableVersions": "0+", "fields": []'
    assert field(f'{nullable}, "default": null', "S").default is STRUCT_DEFAULT
    assert field(f'{nullable}, "default": "null"', "S").default is None


@pytest.mark.parametrize(
    ("lenient", "plain"),
    [
        ('{"name": "A", "type": "int8", "versions": 0}', '{"name": "A", "type": "int8", "versions": "0"}'),
        ('{"name": "A", "type": " [] int8 ", "versions": " 0+ "}', '{"name": "A", "type": "[]int8", "versions": "0+"}'),
        (
            '{"name": "A", "type": "int8", "taggedVersions": "1+", "tag": "00", "ignorable": "true"}',
            '{"name": "A", "type": "int8", "versions": "1+", "taggedVersions": "1+", "tag": 0, "ignorable": true}',
        ),
        (
            '{"name": "A", "type": "S", "versions": "0-32767", "fields": {"name": "A", "type": "int8", "versions": 3}}',
            '{"name": "A", "type": "S", "versions": "0+", "fields": [{"name": "A", "type": "int8", "versions": "3"}]}',
        ),
        (
            '{"name": "A", "type": "bool", "versions": "0+", "default": true, "mapKey": 0, "about": null, "tag": null}',
            '{"name": "A", "type": "bool", "versions": "0+", "default": "true"}',
        ),
    ],
)
def test_leniencies_mean_the_plain_form(lenient: str, plain: str) -> None:
    assert read(spec(lenient)) == read(spec(plain))


def test_leniencies_of_the_header() -> None:
    lenient = """{"name": "Sample", "type": "request", "apiKey": "7", "validVersions": 0, "flexibleVersions": "",
        "listeners": "broker", "fields": null, "commonStructs": [], "latestVersionUnstable": "false"}"""
    plain = """{"name": "Sample", "type": "request", "apiKey": 7, "validVersions": "0", "flexibleVersions": "none",
        "listeners": ["broker"]}"""
    assert read(lenient) == read(plain)


def test_all_problems_of_a_file_in_one_run_in_order() -> None:
    text = """{
      "name": "1_x", "type": "request", "validVersions": "0+", "flexibleVersions": "1-2", "bogus": 1,
      "commonStructs": [ { "name": "Node" } ],
      "fields": [
        { "name": "A", "type": "int", "versions": "x", "nullableVersions": "0+", "entityType": "topic" },
        { "name": "E", "type": "int8", "versions": "0+", "nullableVersions": "0+", "zeroCopy": true, "default": "999" },
        { "name": "A", "type": "string", "versions": "0+", "tag": 3 },
        { "name": "B", "type": "Foo", "versions": "0+" },
        { "name": "C", "type": "[]Bar", "versions": "0+", "fields": [
          { "name": "D", "type": "int8", "taggedVersions": "0+", "tag": 0 } ] }
      ]
    }"""
    found = [(problem.line, problem.rule) for problem in read_spec(text).problems]
    expected = {2: ["TW206", "TW202", "TW205", "TW110"], 3: ["TW113"], 5: ["TW402", "TW201", "TW112"]}
    expected |= {6: ["TW406", "TW412", "TW503"], 7: ["TW302", "TW602"], 8: ["TW306"], 10: ["TW611"]}
    assert found == [(line, rule) for line, rules in expected.items() for rule in rules]
    assert (missing := [problem.message for problem in read_spec("{}").problems[:3]]) == sorted(missing)


TAGGED = '"taggedVersions": "1+", "tag": 0'
TAG_1 = named("B", "int8", '"taggedVersions": "1+", "tag": 1')


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # A field that can't be read might have tag 0, so B's tag 1 is not reported as a gap.
        (named("A", "int8", '"taggedVersions": "1+", "tag": "zero"') + f", {TAG_1}", ["TW114"]),
        (f"{named('A', 'int', TAGGED)}, {TAG_1}", ["TW402"]),
        (f'{{"type": "int8", {TAGGED}}}, {TAG_1}', ["TW113"]),
        (f"3, {TAG_1}", ["TW111"]),
        # A tag of the wrong type must not also be reported as missing.
        (named("A", "int8", '"taggedVersions": "1+", "tag": []'), ["TW111"]),
        (named("A", "int8", '"taggedVersions": "x", "tag": 0'), ["TW201"]),
        # A type, range or default that can't be read causes one error only.
        (named("A", "strin", '"versions": "0+", "nullableVersions": "0+", "default": "null"'), ["TW402"]),
        (named("A", "string", '"versions": "0+", "nullableVersions": "x", "default": "null"'), ["TW201"]),
        (named("A", "string", '"versions": "x", "nullableVersions": "0-1", "default": "null"'), ["TW201"]),
        (named("A", "[]S", '"versions": "0+", "fields": [{"name": "B", "type": "int"}]'), ["TW402", "TW405"]),
        (named("A", "[]S", '"versions": "0+", "fields": [7]'), ["TW111"]),
        # The nested fields are checked even if the type of the field that contains them is unknown.
        (named("A", "foo", '"versions": "0+", "fields": [{"name": "B", "type": "int"}]'), ["TW402", "TW402", "TW405"]),
        # The declaration of struct S is invalid, but S must not be reported as unknown in the field that uses it.
        (named("A", "S") + '], "commonStructs": [{"versions": "0+"}', ["TW113"]),
        (named("A", "S") + '], "commonStructs": [{"name": "S", "versions": "?"}', ["TW201"]),
    ],
)
def test_no_follow_up_noise(fields: str, expected: list[str]) -> None:
    result = read_spec(f'{{{HEAD}, "fields": [{fields}]}}')
    assert sorted(problem.rule for problem in result.problems if problem.severity == "error") == sorted(expected)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (HEAD.replace("0-3", "x"), ["TW201"]),
        (HEAD.replace("data", "x") + ', "listeners": "broker"', ["TW112"]),
        (HEAD.replace("1+", "x"), ["TW201"]),
        (HEAD.replace('"1+"', "[1]"), ["TW111"]),
        (HEAD.replace('"Sample"', "[]"), ["TW111"]),
        (HEAD.replace("flexibleVersions", "versionsWithOptional").replace("1+", "x"), ["TW201"]),
    ],
)
def test_no_follow_up_noise_of_the_header(head: str, expected: list[str]) -> None:
    fields = [
        named("A", "Sample2", '"versions": "0+", "fields": []'),
        named("B", "int8", '"versions": "2+", "ignorable": true'),
    ]
    if "Optional" not in head:
        fields.append(named("C", "string", TAGGED))
    assert rules(spec(*fields, head=head)) == expected


def test_errors_suggest_similar_names() -> None:
    def message(text: str) -> str:
        return read_spec(text).problems[0].message

    assert "did you mean 'nullableVersions'?" in message(spec(named("A", "int8", '"nullable": 1, "versions": "0"')))
    assert "did you mean 'int32'?" in message(spec(named("A", "int332 ")))
    known = named("B", "Partition", '"versions": "0", "fields": []')
    assert "did you mean 'Partition'?" in message(spec(named("A", "Partitions"), known))
    assert "did you mean 'request'?" in message(spec(head=HEAD.replace("data", "Request")))


def test_a_file_and_its_name(tmp_path: Path) -> None:
    path = tmp_path / "Sample.json"
    path.write_text(spec(), encoding="utf-8")
    result = read_file(path, file="specs/Sample.json", component="clients")
    assert result.message is not None and not result.has_errors
    summary = result.message.summary()
    assert (summary.name, summary.component, summary.file) == ("Sample", "clients", "specs/Sample.json")
    assert (summary.line, summary.column) == (1, 10)
    assert load(path) == read_file(path).message


def test_load_raises_with_all_problems(tmp_path: Path) -> None:
    path = tmp_path / "Sample.json"
    path.write_text(spec('{"name": "A", "type": "int", "versions": "x"}'), encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load(path)
    error = caught.value
    assert (error.file, error.line, error.rule) == (str(path), 1, "TW402")
    assert [getattr(problem, "rule", None) for problem in error.problems] == ["TW402", "TW201"]
    assert str(error).count("^") == 2


@pytest.mark.parametrize(
    ("of_set", "of_spec", "is_allowed"),
    [
        ("kafka", "", False),
        ("tagwire", "", True),
        ("kafka", '"dialect": "tagwire",', True),
        ("tagwire", '"dialect": "kafka",', False),
    ],
)
def test_dialect_of_a_spec_defaults_to_its_set(of_set: Any, of_spec: str, is_allowed: bool) -> None:
    head = f'{of_spec} "name": "Foo", "type": "data", "validVersions": "0", "flexibleVersions": "none"'
    text = f'{{ {head}, "deprecated": "x" }}'
    result = read_spec(text, options=SpecOptions(dialect=of_set))
    assert (result.message is not None and result.message.deprecated == "x") is is_allowed
    assert [problem.rule for problem in result.problems] == ([] if is_allowed else ["TW709"])
