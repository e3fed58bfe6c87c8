from typing import Any

import pytest
from change_specs import field, read, spec, struct, tagged

from tagwire_generator.evolution import Finding, Released, compare_messages, compare_specs
from tagwire_generator.model import MessageSpec

A, TEXT, T = field(), field(type="string"), tagged()


def found(old: str, new: str) -> list[Finding]:
    return list(compare_messages(read(old), read(new)))


def test_versions_with_a_gap_are_two_findings() -> None:
    old = spec(A + "," + field("B", versions="1-2"), valid="0-4")
    both = found(old, spec(A + "," + field("B", versions="0+"), valid="0-4"))
    assert [(each.rule, each.versions) for each in both] == [("TW904", "0"), ("TW904", "3-4")]


def test_a_proof_is_of_a_version_with_few_other_differences() -> None:
    old = spec(TEXT)
    new = spec(field(type="string", more=', "nullableVersions": "0+"') + "," + field("B", versions="1+"))
    [finding] = [each for each in found(old, new) if each.rule == "TW907"]
    assert finding.versions == "0-2" and finding.proof is not None and finding.proof.version == 0
    assert finding.proof.value == {"a": None}


def test_a_renamed_struct_is_followed() -> None:
    [name, kind] = found(spec(struct(A)), spec(struct(field(type="int64"), "[]S2")))[::-1]
    assert [(each.rule, each.path) for each in (kind, name)] == [("TW903", "l.a"), ("TW942", "l")]


def test_finding_without_a_position_points_to_the_name() -> None:
    [finding] = compare_messages(read(spec(A)), read(spec(field(type="int64"))))
    assert (finding.line, finding.column) == (1, 10)


def sets(*specs: str, component: str = "c") -> list[MessageSpec]:
    return [read(text, component=component) for text in specs]


def api(name: str, key: int, type: str = "int32", more: str = "", kind: str = "metadata", valid: str = "0-2") -> str:
    return spec(field(type=type), f'"apiKey": {key},{more}', name=name, kind=kind, valid=valid)


SETS: list[tuple[str, list[str], list[str], list[str]]] = [
    ("nothing changed", [api("X", 1), api("Y", 2)], [api("Y", 2), api("X", 1)], []),
    ("a message more", [api("X", 1)], [api("X", 1), api("Y", 2)], []),
    ("gone", [api("X", 1), api("Y", 2)], [api("Y", 2)], ["TW961 X"]),
    ("gone for good", [api("X", 1, valid="none")], [], ["TW961 X"]),
    ("renamed, found by its key", [api("X", 1)], [api("Y", 1)], ["TW940 Y"]),
    ("renamed, found by its alias", [api("X", 1)], [api("Y", 7, more=' "aliases": ["X"],')], ["TW922 Y"]),
    ("a key taken by other bytes", [api("X", 1)], [api("Y", 1, "string")], ["TW903 Y", "TW925 Y"]),
    ("a key taken by others", [api("X", 1, valid="0")], [api("Y", 1, valid="1-2")], ["TW925 Y", "TW960 Y"]),
    ("a reserved key taken", [api("X", 1, valid="none")], [api("Y", 1)], ["TW961 X", "TW925 Y"]),
    ("swapped", [api("X", 1), api("Y", 2)], [api("X", 2), api("Y", 1)], ["TW922 X", "TW925 X", "TW922 Y", "TW925 Y"]),
    ("a name that moved on", [api("X", 1)], [api("X", 2), api("Y", 1)], ["TW922 X", "TW925 Y"]),
    ("another kind with the key", [api("X", 1)], [api("X", 1), api("YRequest", 1, kind="request")], []),
]


@pytest.mark.parametrize(("old", "new", "rules"), [row[1:] for row in SETS], ids=[row[0] for row in SETS])
def test_sets_of_messages(old: list[str], new: list[str], rules: list[str]) -> None:
    assert [f"{each.rule} {each.message_name}" for each in compare_specs(sets(*old), sets(*new))] == rules
    by_name = compare_specs(*({each.name: each for each in sets(*side)} for side in (old, new)))
    assert [f"{each.rule} {each.message_name}" for each in by_name] == rules


def test_keys_repeat_across_components() -> None:
    old = [*sets(api("X", 1), component="a"), *sets(api("Y", 1), component="b")]
    assert compare_specs(old, [*sets(api("Y", 1), component="b"), *sets(api("X", 1), component="a")]) == ()


def test_a_response_is_as_stable_as_its_request() -> None:
    flag = ' "latestVersionUnstable": true,'

    def pair(type: str) -> list[MessageSpec]:
        return sets(api("FooRequest", 1, type, flag, "request"), api("FooResponse", 1, type, kind="response"))

    rules = [(each.rule, each.message_name, each.versions) for each in compare_specs(pair("int32"), pair("int64"))]
    found = (("TW903", "0-1"), ("TW962", "2"))
    assert rules == [(rule, f"Foo{kind}", versions) for kind in ("Request", "Response") for rule, versions in found]


def history(old: str, **more: Any) -> Released:
    return Released(read(old), **more)


@pytest.mark.parametrize(
    ("retired", "new", "rules"),
    [
        ({"": {0: "t int32"}}, spec(A + "," + tagged("U")), ["TW926"]),
        ({"": {0: "t int32"}}, spec(A + "," + tagged(type="int64")), ["TW926"]),
        ({"": {0: ""}}, spec(A + "," + T), ["TW926"]),
        ({"": {0: "t int32"}}, spec(A + "," + T), []),
        ({"": {0: "t int32"}}, spec(A), []),
        ({"elsewhere": {0: "t int32"}}, spec(A + "," + tagged("U")), []),
    ],
)
def test_tags_that_only_a_lock_remembers(retired: dict[str, dict[int, str]], new: str, rules: list[str]) -> None:
    assert [each.rule for each in compare_messages(history(spec(A), retired_tags=retired), read(new))] == rules
