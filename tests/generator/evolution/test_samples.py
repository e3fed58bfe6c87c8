import json
from typing import Any

import pytest

from tagwire.interpreter.reader import decode
from tagwire.interpreter.writer import encode
from tagwire.layout import Layout
from tagwire.limits import DEFAULT_LIMITS
from tagwire.message.field_table import layout_of
from tagwire_generator.evolution.samples import converted, samples, without_classes
from tagwire_generator.expansion.message_classes import message_class
from tagwire_generator.reading.spec import read_spec


def layout(*fields: dict[str, Any], flexible: str = "0+") -> Layout:
    spec = {"dialect": "tagwire", "type": "data", "name": "Parcel", "validVersions": "0", "flexibleVersions": flexible}
    found = read_spec(json.dumps(spec | {"fields": [{"versions": "0+"} | each for each in fields]}))
    assert found.message is not None, found.problems
    return without_classes(layout_of(message_class(found.message, found.message.options), 0))


def alternative(tag: int) -> dict[str, Any]:
    nulls = {"nullableVersions": "0+", "default": "null", "taggedVersions": "0+"}
    return {"name": "ABC"[tag], "type": "string", "tag": tag, "union": "U"} | nulls


NESTED = {"name": "S", "type": "[]S", "fields": [{"versions": "0+"} | alternative(tag) for tag in range(2)]}
WEIGHT = {"name": "Weight", "type": "int32"}


@pytest.mark.parametrize(("fields", "names"), [
    ([WEIGHT], ()), ([WEIGHT], ("weight",)),
    (map(alternative, range(3)), ()), (map(alternative, range(3)), ("b",)),
    ([NESTED], ()), ([NESTED], ("s", "b")),
])  # fmt: skip
def test_samples_are_valid_messages(fields: Any, names: tuple[str, ...]) -> None:
    struct = layout(*fields)
    found = [*samples(struct, names, ())]
    assert len(found) > 1
    for value in found[:1] if names else found:  # if there are `names`, only the first message is sure to be valid
        again, _ = decode(struct, encode(struct, value), whole=True, strict=True, limits=DEFAULT_LIMITS)
        assert {key: again[key] for key in value} == value


POINT = {"name": "Place", "type": "Point", "fields": [{"name": "X", "type": "int32", "versions": "0+"}]}
COLOUR = {"name": "Colour", "type": "string", "default": "red"}


@pytest.mark.parametrize(("old", "new", "before", "after"), [
    ([WEIGHT], [WEIGHT, COLOUR], {"weight": 5}, {"weight": 5, "colour": "red"}),
    ([WEIGHT, COLOUR], [WEIGHT], {"weight": 5, "colour": "blue"}, {"weight": 5}),
    ([POINT], [POINT, WEIGHT], {"place": {"x": 3}}, {"place": {"x": 3}, "weight": 0}),
    ([{"name": "Place", "type": "int32"}], [POINT], {"place": 3}, {"place": {"x": 3}}),
    ([POINT], [{"name": "Place", "type": "int32"}], {"place": {"x": 3}}, {"place": 3}),
])  # fmt: skip
def test_a_value_is_carried_to_the_layout_after_a_change(
    old: Any, new: Any, before: dict[str, Any], after: dict[str, Any]
) -> None:
    source, target = (layout(*fields, flexible="none").root for fields in (old, new))
    assert converted(before, source, target, is_forward=True) == after
    assert converted(before, source, target, is_forward=False) == after
