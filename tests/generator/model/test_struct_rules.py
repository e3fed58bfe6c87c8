from collections.abc import Callable
from typing import Any

import pytest
from spec_models import ALL, field, message, struct

from tagwire.versions import NONE, Versions
from tagwire_generator.model import FieldSpec, InvalidSpec, MessageSpec


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
