import re
from collections.abc import Mapping
from typing import Any

import pytest
from release_jars import Spec, data, field, keyed

from tagwire.errors import SpecError
from tagwire.versions import Versions
from tagwire_workbench.archive.merge import FieldPairing, merged, paired
from tagwire_workbench.archive.wire_facts import wire_forms

TAG: Spec = {"tag": 0, "taggedVersions": "0+"}
A, B = field("A"), field("B")
PARTS = [field("P"), field("Q", "string")]


def common(*fields: Spec, name: str = "Part", versions: str = "0+") -> dict[str, Any]:
    return {"commonStructs": [{"name": name, "versions": versions, "fields": list(fields)}]}


def merge(newer: Spec, older: Spec) -> Spec:
    result = merged(newer, older)
    added = set(Versions.parse(older["validVersions"])) - set(Versions.parse(newer["validVersions"]))
    theirs = {version: text for version, text in wire_forms(older).items() if version in added}
    assert wire_forms(result) == {**theirs, **wire_forms(newer)}
    return result


def header(versions: Spec) -> Spec:
    return {"headerVersions": versions}


def shown(spec: Spec) -> list[str]:
    return [f"{each['name']} {each['type']} {each['versions']}" for each in spec["fields"]]


@pytest.mark.parametrize(
    ("newer", "older", "versions", "fields"),
    [
        # Versions that only the older spec has are added to the result.
        (data("2-3", A), data("0-2", A), "0-3", ["A int32 0+"]),
        (data("0-1", A), data("0-3", A), "0-3", ["A int32 0+"]),
        (data("3", A), data("0-2", A), "0-3", ["A int32 0+"]),
        # If the newer spec has all versions of the older spec, the result is the newer spec, unchanged.
        (data("0-3", field("A", versions="2-7")), data("0-2", field("B", versions="2+")), "0-3", ["A int32 2-7"]),
        # For a renamed field, the result has the new name.
        (data("1-2", field("New")), data("0-1", field("Old")), "0-2", ["New int32 0+"]),
        # A field that exists only in older versions keeps its position among the other fields.
        (data("2", A, field("C")),
         data("0-2", field("First", versions="0"), A, field("Mid", versions="0-1"), field("C")),
         "0-2", ["First int32 0", "A int32 0+", "Mid int32 0-1", "C int32 0+"]),
        (data("1-2", A, field("New", versions="2+")), data("0-1", A, field("Last", versions="0")), "0-2",
         ["A int32 0+", "Last int32 0", "New int32 2+"]),
        # Fields that no valid version has are dropped.
        (data("1", A), data("0-1", A, field("Future", versions="2+")), "0-1", ["A int32 0+"]),
        # A field's version range changes only if necessary.
        (data("2-3", A, field("B", versions="2+")), data("0-2", A, field("B", versions="2+")), "0-3",
         ["A int32 0+", "B int32 2+"]),
        (data("2-3", field("A", versions="2+")), data("1-2", field("A", versions="1+")), "1-3", ["A int32 1+"]),
        (data("2-3", field("A", versions="2")), data("0-2", field("A", versions="1+")), "0-3", ["A int32 1-2"]),
        (data("2-3", field("A", versions="3+")), data("0-2"), "0-3", ["A int32 3+"]),
        (data("2-3", field("A", versions="0+")), data("0-1"), "0-3", ["A int32 2+"]),
    ],
)  # fmt: skip
def test_versions_and_fields(newer: Spec, older: Spec, versions: str, fields: list[str]) -> None:
    result = merge(newer, older)
    assert (result["validVersions"], shown(result)) == (versions, fields)


@pytest.mark.parametrize(
    ("newer", "older", "ranges"),
    [
        # A field's other version ranges are also merged: `nullableVersions`, `taggedVersions` and `flexibleVersions`.
        ({"nullableVersions": "0+"}, {}, {"versions": "0+", "nullableVersions": "2+"}),
        ({}, {"nullableVersions": "0+"}, {"versions": "0+", "nullableVersions": "0-1"}),
        ({"nullableVersions": "3+"}, {"nullableVersions": "3+"}, {"versions": "0+", "nullableVersions": "3+"}),
        ({"nullableVersions": "2+"}, {"nullableVersions": "1+"}, {"versions": "0+", "nullableVersions": "1+"}),
        ({**TAG, "versions": "1+", "taggedVersions": "1+"}, {"versions": "9+"},
         {"versions": "2+", "taggedVersions": "2+"}),
        ({**TAG}, {**TAG, "versions": "1+", "taggedVersions": "1+"}, {"versions": "1+", "taggedVersions": "1+"}),
        ({"flexibleVersions": "none"}, {"flexibleVersions": "none"}, {"versions": "0+", "flexibleVersions": "none"}),
        ({"flexibleVersions": "2+"}, {"flexibleVersions": "none"}, {"versions": "0+", "flexibleVersions": "2+"}),
        ({"flexibleVersions": "none"}, {}, {"versions": "0+", "flexibleVersions": "0-1"}),
        ({}, {"flexibleVersions": "none"}, {"versions": "0+", "flexibleVersions": "2+"}),
        ({}, {}, {"versions": "0+"}),
    ],
)  # fmt: skip
def test_ranges_of_a_field(newer: Spec, older: Spec, ranges: Spec) -> None:
    def one(versions: str, keys: Spec) -> Spec:
        return data(versions, {**field("A", "string"), **keys}, flexible="0+")

    [found] = merge(one("2-3", newer), one("0-1", older))["fields"]
    assert {key: value for key, value in found.items() if key.endswith("ersions")} == ranges


@pytest.mark.parametrize(
    ("newer", "older", "expected"),
    [
        ({"deprecatedVersions": "2"}, {"deprecatedVersions": "0-1"}, {"deprecatedVersions": "0-2"}),
        ({}, {"deprecatedVersions": "0-2"}, {"deprecatedVersions": "0-1"}),
        ({}, {}, {}),
        ({"latestVersionUnstable": True}, {}, {"latestVersionUnstable": True}),
        # A version that is unstable only in the older spec is stable in the result.
        ({}, {"latestVersionUnstable": True}, {}),
        ({"listeners": ["broker"]}, {"listeners": ["zkBroker"]}, {"listeners": ["broker"]}),
        ({}, {"listeners": ["zkBroker"]}, {"listeners": ["zkBroker"]}),
        (header({"0+": "2"}), {}, header({"0+": "2"})),
        ({}, header({"0+": "1"}), header({"0+": "1"})),
        (header({"0+": "2"}), header({"0": "0", "1+": "1"}), header({"0": "0", "1": "1", "2+": "2"})),
        (header({"0-2": "1", "3+": "2"}), header({"0+": "1"}), header({"0-2": "1", "3+": "2"})),
    ],
)
def test_keys_of_the_whole_message(newer: Spec, older: Spec, expected: Spec) -> None:
    result = merge(keyed("request", 1, "FooRequest", "2-3", **newer), keyed("request", 1, "FooRequest", "0-2", **older))
    keys = ("deprecatedVersions", "latestVersionUnstable", "listeners", "headerVersions")
    assert {key: result[key] for key in keys if key in result} == expected


@pytest.mark.parametrize(
    ("newer", "older", "expected"),
    [
        ({"0+": "v2"}, {"0": "v0", "1+": "v1"}, {"0": "v0", "1": "v1", "2+": "v2"}),
        ({"0-1": "v1", "2+": "v2"}, {"0+": "v1"}, {"0-1": "v1", "2+": "v2"}),
        ({"0+": "v2"}, None, {"0+": "v2"}),
        (None, {"0+": "v1"}, {"0+": "v1"}),
        (None, None, None),
    ],
)
def test_each_side_says_the_formats_of_its_own_versions(
    newer: Spec | None, older: Spec | None, expected: Spec | None
) -> None:
    def spec(versions: str, formats: Spec | None) -> Spec:
        return data(versions, field("R", "records") | ({} if formats is None else {"recordFormats": formats}))

    [found] = merge(spec("2-3", newer), spec("0-2", older))["fields"]
    assert found.get("recordFormats") == expected


def test_version_unstable_only_in_the_older_release_stays_unstable() -> None:
    newer, older = (keyed("request", 1, "FooRequest", versions) for versions in ("0-2", "0-3"))
    assert merge(newer, {**older, "latestVersionUnstable": True})["latestVersionUnstable"] is True
    assert "latestVersionUnstable" not in merge({**newer, "latestVersionUnstable": True}, older)


@pytest.mark.parametrize(("newer", "older"), [("2+", "2+"), ("2+", "none"), ("0+", "9+"), ("2+", "0+")])
def test_flexible_versions(newer: str, older: str) -> None:
    result = merge(data("2-3", A, flexible=newer), data("0-1", A, flexible=older))
    assert result["flexibleVersions"] == ("0+" if older == "0+" else "2+")


def test_renamed_structs_and_members() -> None:
    newer = data("1-2", field("Items", "[]Item", fields=[field("Id"), field("New", versions="2+")]))
    older = data("0-1", field("Entries", "[]Entry", fields=[field("Old", "int8", "0"), field("Key")]))
    [found] = merge(newer, older)["fields"]
    expected = ("Items", "[]Item", ["Old int8 0", "Id int32 0+", "New int32 2+"])
    assert (found["name"], found["type"], shown(found)) == expected


def test_a_common_struct_that_became_inline() -> None:
    newer = data("1", field("A", "Inner", fields=PARTS))
    older = data("0-1", field("A", "Part"), field("B", "[]Part", "0"), **common(*PARTS, field("Z", versions="0")))
    result = merge(newer, older)
    assert shown(result) == ["A Inner 0+", "B []Part 0"]
    assert shown(result["fields"][0]) == ["P int32 0+", "Q string 0+", "Z int32 0"]
    assert [(struct["name"], shown(struct)) for struct in result["commonStructs"]] == [
        ("Part", ["P int32 0+", "Q string 0+", "Z int32 0"])
    ]


def test_inline_structs_that_became_one_common_one() -> None:
    inner = [*PARTS, field("Z", versions="0")]
    newer = data("1", field("A", "Part"), field("B", "[]Part"), **common(*PARTS))
    older = data("0-1", field("A", "X", fields=inner), field("B", "[]Y", fields=inner))
    result = merge(newer, older)
    assert shown(result) == ["A Part 0+", "B []Part 0+"]
    assert [shown(struct) for struct in result["commonStructs"]] == [["P int32 0+", "Q string 0+", "Z int32 0"]]


def test_a_common_struct_that_was_renamed_and_has_an_older_use() -> None:
    newer = data("1", field("A", "[]Part"), **common(*PARTS))
    older = data("0-1", field("A", "[]Old"), field("B", "Old", "0"), **common(*PARTS, name="Old"))
    result = merge(newer, older)
    assert shown(result) == ["A []Part 0+", "B Part 0"]
    assert [struct["name"] for struct in result["commonStructs"]] == ["Part"]


def test_common_structs_inside_each_other_and_only_in_old_versions() -> None:
    structs = [
        {"name": "Outer", "versions": "0", "fields": [field("I", "[]Inner", "0")]},
        {"name": "Inner", "versions": "0", "fields": [field("J", versions="0")]},
    ]
    older = data("0-1", A, field("B", "Outer", "0"), commonStructs=structs)
    result = merge(data("1", A), older)
    assert [struct["name"] for struct in result["commonStructs"]] == ["Outer", "Inner"]


def test_removed_api_keeps_the_spec_of_the_older_release() -> None:
    removed = {"apiKey": 1, "type": "request", "name": "NewRequest", "validVersions": "none"}
    older = keyed("request", 1, "OldRequest", "0-2", A)
    assert merged(removed, older) == {**older, "name": "NewRequest"}
    assert merged(removed, removed) == removed
    assert merged(older, removed) == older


GAP = "after merging, the versions would be 0-3 without [2]"


def text(nullable: str) -> Spec:
    return field("A", "string", nullableVersions=nullable)


@pytest.mark.parametrize(
    ("newer", "older", "message"),
    [
        (data("3"), data("0-1"), "FooData: validVersions: after merging, the versions would be 0-3 without [2], but"),
        (data("2-3", field("A", versions="3+")), data("0-2", field("A", versions="0-1")), f"FooData.A: {GAP}"),
        (data("2-3", text("3+")), data("0-2", text("0-1")), f"FooData.A: nullableVersions: {GAP}"),
        (data("2-3", flexible="3+"), data("0-2", flexible="0+"), f"FooData: flexibleVersions: {GAP}"),
        (
            keyed("request", 1, "FooRequest", "2-3", deprecatedVersions="3"),
            keyed("request", 1, "FooRequest", "0-1", deprecatedVersions="0"),
            "FooRequest: deprecatedVersions: after merging, the versions would be 0-3 without [1, 2]",
        ),
        (data("1", field("A", "int8", "1+")), data("0", A), "FooData: the field A has type int32 in the older release"),
        (
            data("1-2", field("A", versions="0-1"), field("B", versions="2+")),
            data("0-2", field("N")),
            "FooData.n corresponds to the newer field a in one version, but to b in another",
        ),
        # A tagged field can't become an ordinary field.
        (
            data("1-2", flexible="0+"),
            data("0-1", field("A", **TAG), flexible="0+"),
            "error TW604: field A is tagged in 0 only",
        ),
        (data("1-2", flexible="9+"), data("0-1", flexible="0+"), "error TW205: flexibleVersions is 0, but all later"),
        (
            data("1", text("0+") | {"default": "null"}),
            data("0-1", field("A", "string")),
            "the merged spec of FooData would break rules of the spec language:\n<spec>:7:",
        ),
        (
            data("1", field("A", "Part", fields=PARTS)),
            data("0-1", field("A", "Part"), field("B", "Part", "0"), **common(*PARTS)),
            "error TW304: struct Part is already declared",
        ),
    ],
)
def test_merges_that_no_spec_can_express_are_rejected(newer: Spec, older: Spec, message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(message)):
        merged(newer, older)


def test_draft_dialect_is_rejected() -> None:
    draft = {key: value for key, value in data("0-1").items() if key != "flexibleVersions"}
    draft["versionsWithOptional"] = "1+"
    for newer, older in ((draft, data("2")), (data("2"), draft)):
        with pytest.raises(SpecError, match="specs in the draft dialect"):
            merged(newer, older)


def pairs(newer: Spec, older: Spec) -> FieldPairing:
    shared = set(Versions.parse(newer["validVersions"])) & set(Versions.parse(older["validVersions"]))
    return paired(newer, older, sorted(shared))


def of_root(newer: Spec, older: Spec) -> Mapping[str, str]:
    return pairs(newer, older).fields("FooData", "FooData", newer["fields"], older["fields"])


@pytest.mark.parametrize(
    ("newer", "older", "expected"),
    [
        # Fields match by name. If the names differ, they match by position.
        (data("1", A), data("0-1", A), {"A": "A"}),
        (data("1", B), data("0-1", A), {"A": "B"}),
        (data("1", B, A), data("0-1", A, B), {"A": "B", "B": "A"}),
        # If two specs have no version in common, their fields match only by name.
        (data("1", A), data("0-1", A, field("C", versions="0")), {"A": "A"}),
        (data("1-2", field("A", versions="2+")), data("0-1", field("A", versions="0")), {"A": "A"}),
        (data("1", field("C", versions="2+")), data("0-1", field("A", versions="0")), {}),
        # Old was renamed to New. Version 2 adds a different field that is also named Old.
        (data("1-2", field("New"), field("Old", "int8", versions="2+")), data("0-1", field("Old")), {"Old": "New"}),
        # Tagged fields match by tag.
        (data("1", field("T", **TAG), flexible="0+"), data("0-1", field("S", **TAG), flexible="0+"), {"S": "T"}),
        # Version 1 differs between the releases, so fields can't match by position.
        (
            data("1-2", field("A", "int8", versions="1"), field("Renamed", "int64", versions="2+")),
            data("0-1", field("A", "int16", versions="1"), field("B", "int64", versions="0")),
            None,
        ),
    ],
)
def test_partners(newer: Spec, older: Spec, expected: dict[str, str] | None) -> None:
    if expected is None:
        with pytest.raises(SpecError, match=r"field A has type int16 in the older release and int8 in the newer one"):
            of_root(newer, older)
    else:
        assert of_root(newer, older) == expected


def test_structs_are_paired_with_their_fields() -> None:
    newer = data("1", field("Items", "[]NewItem", fields=[field("Id"), field("Rack", "string")]))
    older = data("0-1", field("Entries", "[]Entry", fields=[field("Key"), field("Rack", "string")]))
    found = pairs(newer, older)
    assert found.structs == {"FooData": "FooData", "Entry": "NewItem"}
    inner = found.fields("NewItem", "Entry", newer["fields"][0]["fields"], older["fields"][0]["fields"])
    assert inner == {"Key": "Id", "Rack": "Rack"}
