import dataclasses
from typing import Any

import pytest
from spec_models import ALL, field, message, struct

from tagwire.errors import SpecError
from tagwire.versions import NONE
from tagwire.wire.types import WIRE_TYPES
from tagwire_generator.model import ENTITY_TYPES, Fallback, FieldType, InvalidSpec, implicit_default
from tagwire_generator.project.options import SpecOptions


@pytest.mark.parametrize("name", WIRE_TYPES)
def test_implicit_default_is_valid(name: str) -> None:
    assert field(type=name).default == implicit_default(FieldType(name))


def test_each_entity_fits_its_type() -> None:
    for entity, type in ENTITY_TYPES.items():
        assert field(type=type, entity_type=entity).entity_type == entity


TAGGED: dict[str, Any] = {"tag": 0, "tagged_versions": ALL}

INVALID = [
    ("TW301", lambda: FieldType("Foo Bar")),
    ("TW402", lambda: FieldType("int31")),
    ("TW404", lambda: FieldType("records", 1)),
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
    ("TW301", lambda: struct("../x")),
    ("TW302", lambda: struct("S", field(), field())),
    ("TW608", lambda: struct("S", field(**TAGGED), field("B", **TAGGED))),
    ("TW206", lambda: message(name="a-b")),
    ("TW207", lambda: message(name="other")),
    ("TW207", lambda: message(name="v2")),
    ("TW301", lambda: struct("None")),
    ("TW112", lambda: message(kind="reply")),
    ("TW114", lambda: message(api_key=2**15)),
    ("TW202", lambda: message(valid_versions=ALL)),
    ("TW308", lambda: message(field(type="S"), structs=(struct("S", field(type="[]S")),))),
    ("TW217", lambda: message(fallback=Fallback(0, 35))),
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


@pytest.mark.parametrize(
    "spec", [FieldType("int8"), field(), struct("S"), message(), message().summary(), SpecOptions()]
)
def test_the_model_is_immutable_and_hashable(spec: Any) -> None:
    with pytest.raises(AttributeError):
        setattr(spec, dataclasses.fields(spec)[0].name, "Other")
    assert len({spec, spec}) == 1
