import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from tagwire.errors import SpecError
from tagwire.versions import HIGHEST, NONE, Versions
from tagwire.wire.types import WIRE_TYPES
from tagwire_generator.model import (
    ENTITY_TYPES,
    STRUCT_DEFAULT,
    Fallback,
    FieldSpec,
    FieldType,
    InvalidSpec,
    MessageSpec,
    MessageSummary,
    StructSpec,
    implicit_default,
)
from tagwire_generator.project.options import SpecOptions

ALL = Versions(0, HIGHEST)


def field(name: str = "A", type: str = "int8", versions: Versions = ALL, **more: Any) -> FieldSpec:
    return FieldSpec(name=name, type=FieldType.parse(type), versions=versions, **more)


def struct(name: str, *fields: FieldSpec, **more: Any) -> StructSpec:
    return StructSpec(name=name, versions=ALL, fields=fields, **more)


def message(*fields: FieldSpec, **more: Any) -> MessageSpec:
    keys: dict[str, Any] = {
        "name": "Sample",
        "kind": "data",
        "valid_versions": Versions(0, 3),
        "flexible_versions": ALL,
        **more,
    }
    return MessageSpec(fields=fields, **keys)


@pytest.mark.parametrize(
    ("prefix", "name"),
    [
        *(("", name) for name in [*WIRE_TYPES, "Foo", "F"]),
        *((prefix, name) for prefix in ("[]", " [] ") for name in [*WIRE_TYPES, "Foo", "F"] if name != "records"),
    ],
)
def test_types_are_read_and_printed(prefix: str, name: str) -> None:
    type = FieldType.parse(f"{prefix}{name}")
    assert str(type) == f"{prefix.strip()}{name}"
    assert FieldType.parse(str(type)) == type
    assert (type.struct is None) == (name in WIRE_TYPES)
    assert type.primitive is WIRE_TYPES.get(name)
    assert type.can_be_null == (bool(prefix) or name in ("string", "bytes", "records") or name not in WIRE_TYPES)


@pytest.mark.parametrize("name", WIRE_TYPES)
def test_implicit_default_is_valid(name: str) -> None:
    assert field(type=name).default == implicit_default(FieldType(name))


def test_each_entity_fits_its_type() -> None:
    for entity, type in ENTITY_TYPES.items():
        assert field(type=type, entity_type=entity).entity_type == entity


TAGGED: dict[str, Any] = {"tag": 0, "tagged_versions": ALL}
RESPONSE: dict[str, Any] = {"kind": "response"}

INVALID = [
    ("TW301", lambda: FieldType("Foo Bar")),
    ("TW402", lambda: FieldType("int31")),
    ("TW402", lambda: FieldType("")),
    ("TW402", lambda: FieldType("class")),
    ("TW404", lambda: FieldType("records", 1)),
    ("TW403", lambda: FieldType.parse("[] []")),
    ("TW401", lambda: field("a b")),
    ("TW401", lambda: field("")),
    ("TW406", lambda: field(nullable_versions=ALL, is_of_format=True)),
    ("TW501", lambda: field(type="bool", default=1)),
    ("TW502", lambda: field(type="int8", default=True)),
    ("TW502", lambda: field(type="int8", default="1")),
    ("TW503", lambda: field(type="int8", default=128)),
    ("TW504", lambda: field(type="float64", default=1)),
    ("TW505", lambda: field(type="uuid", default=bytes(16))),
    ("TW506", lambda: field(type="bytes", default=b"x")),
    ("TW506", lambda: field(type="records", default=b"")),
    ("TW506", lambda: field(type="[]int8", default=[])),
    ("TW506", lambda: field(type="S", default=())),
    ("TW507", lambda: field(type="string", default=None)),
    ("TW507", lambda: field(type="int8", default=None)),
    ("TW508", lambda: field(type="string", default="\u00fc" * 16384)),
    ("TW508", lambda: field(type="string", default=b"x")),
    ("TW601", lambda: field(tag=-1, tagged_versions=ALL)),
    ("TW602", lambda: field(tag=1)),
    ("TW603", lambda: field(tagged_versions=ALL)),
    ("TW301", lambda: struct("../x")),
    ("TW302", lambda: struct("S", field(), field())),
    ("TW303", lambda: struct("S", field("aB"), field("Ab"))),
    ("TW608", lambda: struct("S", field(**TAGGED), field("B", **TAGGED))),
    ("TW610", lambda: struct("S", field(**TAGGED), reserved_tags=(0,))),
    ("TW206", lambda: message(name="a-b")),
    ("TW207", lambda: message(name="ApiKey")),
    ("TW207", lambda: message(name="Import")),
    ("TW207", lambda: message(name="other")),
    ("TW207", lambda: message(name="v2")),
    ("TW301", lambda: struct("None")),
    ("TW112", lambda: message(kind="reply")),
    ("TW112", lambda: message(field(entity_type="topic"))),
    ("TW112", lambda: message(field(entity_type="zone"))),
    ("TW407", lambda: message(field(entity_type="topicName"))),
    ("TW114", lambda: message(api_key=2**15)),
    ("TW202", lambda: message(valid_versions=ALL)),
    ("TW205", lambda: message(flexible_versions=Versions(0, 3))),
    (
        "TW211",
        lambda: message(kind="coordinator-key", api_key=1, valid_versions=Versions(0, 1), flexible_versions=NONE),
    ),
    ("TW302", lambda: message(field(), field())),
    ("TW306", lambda: message(field(type="S"))),
    ("TW308", lambda: message(field(type="S"), structs=(struct("S", field(type="[]S")),))),
    ("TW304", lambda: message(field(type="S"), structs=(struct("S"), struct("S")))),
    ("TW301", lambda: message(structs=(struct("small"),))),
    ("TW217", lambda: message(fallback=Fallback(0, 35))),
    (
        "TW114",
        lambda: message(field("ErrorCode", "int16"), fallback=Fallback(0, 2**15), flexible_versions=NONE, **RESPONSE),
    ),
    ("TW609", lambda: message(field(tag=1, tagged_versions=ALL))),
    ("TW701", lambda: message(optional_versions=ALL)),
    ("TW701", lambda: message(dialect="draft", optional_versions=ALL)),
    ("TW702", lambda: message(field(**TAGGED), dialect="draft", optional_versions=NONE, flexible_versions=NONE)),
]


@pytest.mark.parametrize(("rule", "build"), INVALID)
def test_an_invalid_object_cannot_be_built(rule: str, build: Any) -> None:
    with pytest.raises(InvalidSpec) as caught:
        build()
    assert rule in {violation.rule for violation in caught.value.errors}
    assert isinstance(caught.value, SpecError) and str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("dialect", "most"), [("draft", "the draft's tags are 0 to 65535"), ("released", "tags are 0 to")]
)
def test_an_error_about_a_reserved_tag_names_the_tags_of_the_dialect(dialect: str, most: str) -> None:
    with pytest.raises(InvalidSpec, match=f"reserves tag -1; {most}"):
        message(field(), dialect=dialect, reserved_tags=(-1,))


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(InvalidSpec) as caught:
        field("a b", default=300, zero_copy=True, tag=3)
    assert [violation.rule for violation in caught.value.errors] == ["TW401", "TW412", "TW602", "TW503"]
    assert caught.value.rule == "TW401"


def test_warnings_stop_nothing_and_do_not_count_in_equality() -> None:
    spec = message(field(versions=Versions(7, 9)), field("B", ignorable=True))
    assert [violation.rule for violation in spec.warnings] == ["TW420", "TW422"]
    assert dataclasses.replace(spec.fields[0]) == spec.fields[0]


@pytest.mark.parametrize(
    "spec", [FieldType("int8"), field(), struct("S"), message(), message().summary(), SpecOptions()]
)
def test_the_model_is_immutable_and_hashable(spec: Any) -> None:
    with pytest.raises(AttributeError):
        setattr(spec, dataclasses.fields(spec)[0].name, "Other")
    assert len({spec, spec}) == 1


def test_structs_come_after_those_that_they_hold() -> None:
    structs = (struct("A", field(type="C")), struct("B", field(type="[]A")), struct("C", field()), struct("D", field()))
    spec = message(field(type="B"), field("E", type="D"), structs=structs)
    assert [each.name for each in spec.structs] == ["C", "A", "B", "D"]
    assert spec.struct("A").fields[0].default is STRUCT_DEFAULT
    with pytest.raises(KeyError):
        spec.struct("E")


@pytest.mark.parametrize(
    ("valid", "unstable", "latest"),
    [
        (Versions(0, 3), False, 3),
        (Versions(0, 3), True, 2),
        (Versions(2, 2), True, -1),
        (Versions(0, 0), False, 0),
        (NONE, False, -1),
        (NONE, True, -1),
    ],
)
def test_the_latest_stable_version(valid: Versions, unstable: bool, latest: int) -> None:
    spec = message(kind="request", valid_versions=valid, latest_version_unstable=unstable)
    assert spec.latest_stable == latest


def test_removed_message_has_no_fields() -> None:
    spec = message(field(type="Undeclared"), valid_versions=NONE, structs=(struct("S"),), reserved_tags=(1,))
    assert (spec.fields, spec.structs, spec.reserved_tags, spec.root.fields) == ((), (), (), ())


def test_nesting_and_default_objects_are_bounded() -> None:
    def chain(depth: int, width: int) -> MessageSpec:
        inner = [struct(f"S{i}", *(field(f"F{k}", f"S{i + 1}") for k in range(width))) for i in range(depth)]
        return message(field(type="S0"), structs=(*inner, struct(f"S{depth}", field())))

    assert len(chain(30, 1).structs) == 31
    assert len(chain(11, 2).structs) == 12
    for depth, width in ((31, 1), (12, 2), (500, 3)):
        with pytest.raises(InvalidSpec) as caught:
            chain(depth, width)
        assert caught.value.rule == "TW312"


def test_the_fields_of_a_message_are_bounded() -> None:
    def arrays(depth: int) -> MessageSpec:
        inner = [struct(f"S{i}", *(field(f"F{k}", f"[]S{i + 1}") for k in range(3))) for i in range(depth)]
        return message(field("R", type="S0"), structs=(*inner, struct(f"S{depth}", field())))

    assert len(arrays(7).structs) == 8
    for depth in (8, 12, 30):
        with pytest.raises(InvalidSpec) as caught:
            arrays(depth)
        assert caught.value.rule == "TW312" and "most of them below F0.F0.F0" in str(caught.value)


@pytest.mark.parametrize(("own", "nested", "where"), [(4000, 7000, ", most of them below R"), (7000, 4000, "")])
def test_an_error_about_too_many_fields_says_where_most_are(own: int, nested: int, where: str) -> None:
    fields, inner = ([field(f"F{k}") for k in range(count)] for count in (own - 1, nested))
    with pytest.raises(InvalidSpec, match=f"has 11000 fields, including those of its structs{where}; at most 10000"):
        message(field("R", "S"), *fields, structs=(struct("S", *inner),))


def test_tagged_fields_of_a_struct_are_bounded() -> None:
    def tagged(count: int) -> MessageSpec:
        fields = (field(f"F{i}", tagged_versions=ALL, tag=i) for i in range(count))
        return message(*fields, flexible_versions=ALL)

    assert len(tagged(1000).fields) == 1000
    with pytest.raises(InvalidSpec, match="has 1001 tagged fields; at most 1000") as caught:
        tagged(1001)
    assert caught.value.rule == "TW312"


def test_a_summary_survives_json() -> None:
    spec = message(kind="request", api_key=3, component="clients", file="Sample.json", line=2, column=5)
    summary = spec.summary()
    assert MessageSummary.from_dict(summary.as_dict()) == summary
    assert summary.as_dict() == {
        "name": "Sample",
        "kind": "request",
        "api_key": 3,
        "component": "clients",
        "valid_versions": "0-3",
        "flexible_versions": "0+",
        "file": "Sample.json",
        "line": 2,
        "column": 5,
        "about": "",
        "aliases": (),
        "numbers": (),
    }


def test_array_elements_take_at_least_one_byte() -> None:
    """Check which structs can be array elements: each element must take at least one byte.

    An empty struct takes a byte only if it has a tag section or a buffer of optional fields.
    """

    def arrays(flexible: Versions, *members: FieldSpec, versions: Versions = ALL, **more: Any) -> MessageSpec:
        return message(
            field(type="[]S", versions=versions), structs=(struct("S", *members),), flexible_versions=flexible, **more
        )

    late = field(versions=Versions.parse("2+"))
    assert arrays(ALL)
    assert arrays(Versions.parse("2+"), versions=Versions.parse("2+"))
    assert arrays(NONE, late, versions=Versions.parse("2+"))
    assert arrays(NONE, dialect="draft", optional_versions=ALL)
    rejected: list[Callable[[], MessageSpec]] = [
        lambda: arrays(NONE),
        lambda: arrays(Versions.parse("1+")),
        lambda: arrays(NONE, late),
        lambda: arrays(NONE, field(versions=Versions(0, 1)), versions=Versions.parse("1+")),
    ]
    for build in rejected:
        with pytest.raises(InvalidSpec) as caught:
            build()
        assert caught.value.rule == "TW311"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, SpecOptions()),
        ({"tag_gaps": True}, SpecOptions(tag_gaps=True)),
        (
            {"length_varint": "unsigned", "length_counts_tag": True},
            SpecOptions(length_varint="unsigned", length_counts_tag=True),
        ),
    ],
)
def test_options_from_settings(settings: dict[str, object], expected: SpecOptions) -> None:
    assert SpecOptions.from_mapping(settings) == expected


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"tag_gap": True}, "a spec set has no option 'tag_gap'; did you mean 'tag_gaps'?"),
        (
            {"x": 1},
            "a spec set has no option 'x'; there are dialect, tag_gaps, length_varint, length_counts_tag, "
            "allow_struct_arrays, unanswered_versions, header_key_order, entity_types",
        ),
        ({"tag_gaps": "yes"}, "option `tag_gaps` is 'yes'; it must be true or false"),
        ({"length_varint": "signed"}, "option `length_varint` is 'signed'; it must be 'zigzag' or 'unsigned'"),
    ],
)
def test_options_that_do_not_exist(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(SpecError) as caught:
        SpecOptions.from_mapping(settings)
    assert str(caught.value) == sentence
