from itertools import combinations

import pytest
from release_jars import Spec, data, field

from tagwire_workbench.archive.wire_facts import digest_of, wire_forms

INNER = [field("A", "string")]


def text(*fields: Spec, flexible: str = "0+", names: bool = False) -> str:
    return wire_forms(data("0", *fields, flexible=flexible), names=names)[0]


@pytest.mark.parametrize(
    ("fields", "plain", "compact"),
    [
        ([], "", "<>"),
        ([field("A")], "int32", "int32, <>"),
        ([field("A", "uuid"), field("B", "bool")], "uuid, bool", "uuid, bool, <>"),
        ([field("A", "string")], "string", "compact string, <>"),
        ([field("A", "bytes", nullableVersions="0+")], "bytes?", "compact bytes?, <>"),
        ([field("A", "[]int8")], "[]int8", "compact []int8, <>"),
        ([field("A", "[]string", nullableVersions="0+")], "[]string?", "compact []compact string?, <>"),
        ([field("A", "X", fields=INNER)], "{string}", "{compact string, <>}, <>"),
        ([field("A", "X", nullableVersions="0+", fields=INNER)], "int8? {string}", "int8? {compact string, <>}, <>"),
        ([field("A", "[]X", fields=INNER)], "[]{string}", "compact []{compact string, <>}, <>"),
        ([field("A", "string", flexibleVersions="none")], "string", "string, <>"),
    ],
)
def test_wire_facts_of_fields(fields: list[Spec], plain: str, compact: str) -> None:
    assert (text(*fields, flexible="none"), text(*fields)) == (plain, compact)


def test_facts_include_tags_and_optionally_names() -> None:
    fields = [
        field("FirstOne"),
        field("B", "string", tag=1, taggedVersions="0+"),
        field("C", tag=0, taggedVersions="0+"),
    ]
    assert text(*fields) == "int32, <0 int32, 1 compact string>"
    assert text(field("S", "X", fields=INNER, nullableVersions="0+", tag=0, taggedVersions="0+")) == (
        "<0 uvarint? {compact string, <>}>"
    )
    assert text(*fields, names=True) == "first_one int32, <0 c int32, 1 b compact string>"


def test_an_optional_buffer() -> None:
    spec = data("0", field("A"))
    spec = {key: value for key, value in spec.items() if key != "flexibleVersions"} | {"versionsWithOptional": "0+"}
    spec["optionalFields"] = [{"name": "B", "type": "int8", "tag": "0x0001"}]
    assert wire_forms(spec)[0] == "<<varint: 1 int8>>, int32"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (field("A"), field("Renamed")),
        (field("A"), field("A", default="7", ignorable=True)),
        (field("A", "bytes"), field("A", "records")),
        (field("A", "X", fields=INNER), field("A", "Y", fields=INNER)),
    ],
)
def test_changes_that_move_no_byte_are_ignored(one: Spec, other: Spec) -> None:
    assert text(one) == text(other)


def test_different_bytes_have_different_facts_and_digests() -> None:
    types = ["bool", "int8", "int16", "uint16", "int32", "int64", "uint32", "float64", "uuid", "string", "bytes"]
    fields = [field("A", kind + name) for name in types for kind in ("", "[]")]
    fields += [field("A", "X", fields=INNER), field("A", "[]X", fields=INNER), field("A", "X", fields=[])]
    nullable = [{**each, "nullableVersions": "0+"} for each in fields if each["type"] not in types[:9]]
    tagged = [{**each, "tag": 0, "taggedVersions": "0+"} for each in fields]
    both = [text(each, flexible=flexible) for each in [*fields, *nullable] for flexible in ("none", "0+")]
    found = [*both, *(text(each) for each in tagged)]
    for one, other in combinations(found, 2):
        assert one != other
    assert len({digest_of(each) for each in found}) == len(found)
    assert all(len(digest_of(each)) == 16 for each in found)
