import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from independent_encoder import bare_value, encode, full_value, within

from tagwire.errors import SpecError
from tagwire_generator.reading.spec import read_spec
from tagwire_generator.syntax.canonical import canonical_text, normal_form
from tagwire_workbench.draft_spec import (
    cut_to_plain,
    field_paths,
    first_flexible,
    only_version,
    restated,
    with_new_version,
)

Spec = dict[str, Any]

with gzip.open(Path(__file__).parents[1] / "data" / "kip482_rpcs" / "kafka_clients_2_4_1.jsonl.gz", "rt") as _lines:
    KAFKA: dict[str, Spec] = {spec["name"]: spec for spec in map(json.loads, _lines)}
RPCS = {name: spec for name, spec in KAFKA.items() if spec["type"] != "header"}
CUT = {name: plain for name, spec in RPCS.items() if (plain := cut_to_plain(spec)) is not None}
FROM_THE_START = {name: spec for name, spec in RPCS.items() if name not in CUT}


def message(*fields: Spec, **keys: Any) -> Spec:
    head = {"apiKey": 9, "type": "request", "name": "FooRequest", "validVersions": "0-4", "flexibleVersions": "3+"}
    return normal_form(head | {"fields": list(fields)} | keys)


def field(name: str = "Bar", **keys: Any) -> Spec:
    return {"name": name, "type": "int32", "versions": "0+", **keys}


def cut(spec: Spec, below: int | None = None) -> Spec:
    plain = cut_to_plain(spec, below)
    assert plain is not None
    return plain


def only_field(spec: Spec) -> Spec:
    [only] = spec["fields"]
    found: Spec = only
    return found


def check_valid(spec: Spec) -> None:
    result = read_spec(canonical_text(spec), file=f"{spec['name']}.json")
    assert [problem for problem in result.problems if problem.severity == "error"] == []


# A range that ends in a removed version becomes open-ended.
CLIPPED = [("0+", "0+"), ("2+", "2+"), ("0-1", "0-1"), ("0-2", "0-2"), ("1-3", "1+"), ("2-4", "2+")]


@pytest.mark.parametrize(("versions", "left"), [*CLIPPED, ("3+", None), ("3-4", None), ("4", None)])
def test_a_cut_clips_the_versions_of_fields(versions: str, left: str | None) -> None:
    plain = cut(message(field("Stays"), field(versions=versions)))
    assert plain["fields"][1:] == ([] if left is None else [field(versions=left)])
    assert (plain["validVersions"], plain["flexibleVersions"]) == ("0-2", "none")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"nullableVersions": "0-2"}, {"nullableVersions": "0-2"}),
        ({"nullableVersions": "2-3"}, {"nullableVersions": "2+"}),
        ({"nullableVersions": "3+"}, {}),
        ({"flexibleVersions": "none"}, {}),
        ({"flexibleVersions": "4+"}, {}),
        ({"taggedVersions": "3+", "tag": 0}, {}),  # tagged only in the removed versions, so both keys are removed
        ({"default": "a", "ignorable": True, "entityType": "groupId"},) * 2,
    ],
)
def test_cut_removes_keys_about_removed_versions(before: Spec, after: Spec) -> None:
    text = field(type="string")
    assert only_field(cut(message(text | before))) == text | after


def test_tagged_fields_and_reserved_tags_go() -> None:
    tagged = field("New", versions="3+", taggedVersions="3+", tag=0)
    struct = field("Pair", type="Pair", fields=[field("Left"), tagged], reservedTags=[1])
    plain = cut(message(struct, tagged, reservedTags=[1]))
    assert only_field(plain) == field("Pair", type="Pair", fields=[field("Left")])
    assert "reservedTags" not in plain


def test_common_structs_go_with_their_last_user() -> None:
    def struct(name: str, *fields: Spec, **keys: Any) -> Spec:
        return {"name": name, "versions": "0+", "fields": list(fields), **keys}

    spec = message(
        field("Used", type="[][]Outer"),
        field("New", type="Lost", versions="3+"),
        dialect="tagwire",
        commonStructs=[
            struct("Inner", field("Leaf")),
            struct("Outer", field("Inner", type="Inner"), field("Newer", type="Later", versions="4+")),
            struct("Later", field("Leaf"), versions="4+"),
            struct("Lost", field("Kept", type="Inner")),
        ],
    )
    check_valid(spec)
    plain = cut(spec)
    assert plain["commonStructs"] == [struct("Inner", field("Leaf")), struct("Outer", field("Inner", type="Inner"))]
    spec["fields"] = [field()]
    assert "commonStructs" not in cut(spec)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"deprecatedVersions": "0-1"}, {"deprecatedVersions": "0-1"}),
        ({"deprecatedVersions": "1-3"}, {"deprecatedVersions": "1-2"}),
        ({"deprecatedVersions": "3"}, {}),
        ({"latestVersionUnstable": True}, {}),
        ({"listeners": ["broker"]},) * 2,
        ({"headerVersions": {"0": "0", "1-2": "1", "3+": "2"}}, {"headerVersions": {"0": "0", "1+": "1"}}),
        ({"headerVersions": {"0+": "2"}},) * 2,
    ],
)
def test_cut_clips_the_header(before: Spec, after: Spec) -> None:
    plain = cut(message(**before))
    left = {key: value for key, value in normal_form(plain).items() if key in {**before, **after}}
    assert left == after


@pytest.mark.parametrize(
    ("formats", "below", "left"),
    [
        ({"0-1": "v0", "2+": "v1"}, 3, {"0-1": "v0", "2+": "v1"}),
        ({"0-1": "v0", "2+": "v1"}, 2, {"0+": "v0"}),
        ({"0": "v0", "1-2": "v1", "3+": "v2"}, 2, {"0": "v0", "1+": "v1"}),
    ],
)
def test_a_cut_clips_record_formats(formats: Spec, below: int, left: Spec) -> None:
    plain = cut(message(field(type="records", recordFormats=formats)), below=below)
    assert only_field(plain)["recordFormats"] == left
    check_valid(plain)
    only = only_version(plain)
    check_valid(only)
    assert only_field(only)["recordFormats"] == {f"{below - 1}+": list(left.values())[-1]}


def test_fallback_stays_while_its_version_does() -> None:
    error = field("ErrorCode", type="int16")
    fallback = {"version": 1, "errorCode": 35}
    response = message(error, type="response", name="FooResponse", headerVersions={"0+": "0"}, fallback=fallback)
    plain = cut(response)
    assert plain["fallback"] == fallback
    assert "fallback" not in cut(response, below=1)
    assert "fallback" not in only_version(with_new_version(plain))


def test_nothing_to_cut() -> None:
    plain = message(field(versions="0-4"), field("Planned", versions="5+"), flexibleVersions="none")
    assert cut_to_plain(plain) == plain
    draft = with_new_version(plain)
    assert cut_to_plain(draft) == draft
    assert first_flexible(plain) > 32767


def test_nothing_left() -> None:
    assert cut_to_plain(message(field(), flexibleVersions="0+")) is None
    assert cut_to_plain(message(field(), validVersions="3-4")) is None
    assert cut_to_plain(message(field()), below=0) is None


def test_specs_are_not_changed() -> None:
    spec = message(field(versions="0-3", type="Foo", fields=[field("New", versions="4+")]), reservedTags=[0])
    before = json.dumps(spec)
    cut_to_plain(spec)
    restated(spec)
    only_version(with_new_version(cut(spec)))
    assert json.dumps(spec) == before


def test_a_further_version_keeps_the_versions_with_optional_fields() -> None:
    draft = with_new_version(with_new_version(message(flexibleVersions="none")))
    assert (draft["validVersions"], draft["versionsWithOptional"]) == ("0-6", "5+")
    none_yet = {key: value for key, value in message().items() if key != "flexibleVersions"}
    assert with_new_version(none_yet | {"versionsWithOptional": "none"})["versionsWithOptional"] == "5+"


def test_no_new_version_after_flexible_ones() -> None:
    with pytest.raises(SpecError, match="FooRequest: versions 3-4 are flexible, and a spec can't have both"):
        with_new_version(message())
    assert with_new_version(message(flexibleVersions="5+"))["versionsWithOptional"] == "5+"


def test_first_version_is_restated() -> None:
    spec = message(
        field(versions="0-1"),
        field("New", versions="2+"),
        field("Tagged", taggedVersions="1+", versions="1+", tag=0),
        validVersions="1-2",
        flexibleVersions="0+",
        headerVersions={"0+": "2"},
    )
    draft = restated(spec)
    check_valid(draft)
    assert only_field(draft) == field(versions="1")
    assert (draft["validVersions"], draft["versionsWithOptional"]) == ("1", "1+")
    assert draft["headerVersions"] == {"0+": "1"}
    assert "headerVersions" not in restated(message(flexibleVersions="0+"))


def test_the_new_version_alone() -> None:
    optional = {"name": "Agent", "type": "string", "tag": "0x0001", "nullable": True, "ignorable": True}
    origin = {"name": "Origin", "type": "Origin", "tag": "0x0002", "fields": [field("Member", versions="5+")]}
    spec = message(
        field("Old", versions="0-4"),
        field("Text", type="string", versions="1+", nullableVersions="0+", ignorable=True),
        field("Few", type="string", versions="0-5", nullableVersions="0-2"),
        validVersions="0-5",
        versionsWithOptional="5+",
        optionalFields=[optional, origin],
    )
    del spec["flexibleVersions"]
    check_valid(spec)
    alone = only_version(spec)
    check_valid(alone)
    assert (alone["validVersions"], alone["versionsWithOptional"]) == ("5", "5+")
    text = field("Text", type="string", versions="5+", nullableVersions="5+")
    assert alone["fields"] == [text, field("Few", type="string", versions="5")]
    kept = {key: value for key, value in optional.items() if key != "ignorable"}
    assert alone["optionalFields"] == [kept, origin]


def test_paths_of_fields() -> None:
    spec = message(
        field("Topics", type="[]Topic", fields=[field("Name")]),
        optionalFields=[{"name": "Agent", "type": "string", "tag": 0}],
        commonStructs=[{"name": "Pair", "versions": "0+", "fields": [field("Left")]}],
    )
    assert list(field_paths(spec)) == ["Topics", "Topics.Name", "Agent", "Pair.Left"]


def test_the_rpcs_of_kafka_2_4_1() -> None:
    assert len(RPCS) == 96
    apis = {name.removesuffix("Request").removesuffix("Response") for name in FROM_THE_START}
    assert apis == {"AlterPartitionReassignments", "ListPartitionReassignments"}


@pytest.mark.parametrize("name", CUT)
def test_plain_versions_keep_their_bytes_and_the_new_one_adds_a_byte_a_struct(name: str) -> None:
    spec, plain = RPCS[name], CUT[name]
    draft = with_new_version(plain)
    check_valid(plain)
    check_valid(draft)
    *old, new = versions(draft)
    assert old == versions(plain) == [v for v in versions(spec) if not within(v, spec["flexibleVersions"])]
    for version in old:
        value = full_value(spec, version)
        assert full_value(draft, version) == value
        assert encode(draft, version, value) == encode(spec, version, value)
    value = full_value(draft, new)
    assert value == full_value(plain, old[-1])
    assert len(encode(draft, new, value)) == len(encode(plain, old[-1], value)) + structs(value)
    bare = bare_value(draft, new)
    assert encode(draft, new, bare) == b"\x00" + encode(plain, old[-1], bare)


@pytest.mark.parametrize("name", FROM_THE_START)
def test_restated_first_versions_have_the_same_fields(name: str) -> None:
    draft = restated(RPCS[name])
    check_valid(draft)
    assert versions(draft) == [0]
    assert full_value(draft, 0) == full_value(RPCS[name], 0)


@pytest.mark.parametrize("name", RPCS)
def test_the_new_version_alone_has_the_same_bytes(name: str) -> None:
    draft = with_new_version(CUT[name]) if name in CUT else restated(RPCS[name])
    alone = only_version(draft)
    check_valid(alone)
    [new] = versions(alone)
    value = full_value(draft, new)
    assert full_value(alone, new) == value
    assert encode(alone, new, value) == encode(draft, new, value)
    assert only_version(alone) == alone
    plain = cut_to_plain(RPCS[name])
    assert plain is None or cut_to_plain(plain) == plain


def versions(spec: Spec) -> list[int]:
    return [version for version in range(30) if within(version, spec["validVersions"])]


def structs(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(structs(member) for member in value.values())
    return sum(structs(element) for element in value) if isinstance(value, list) else 0
