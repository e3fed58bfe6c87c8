from collections.abc import Iterator
from typing import Any

import pytest
from sample_messages.poll import PollRequest

from tagwire.layout import COMPACT, Array, Bits, Fixed, Layout, StructLayout, Varint
from tagwire.layout.parts import bit_names
from tagwire.lazy import FrozenData
from tagwire.message.field_table import layout_of
from tagwire.records import format_of
from tagwire.wire.types import WIRE_TYPES

INT = Fixed(WIRE_TYPES["int32"])
EMPTY = StructLayout("Empty", ())


def test_layouts_are_plain_data() -> None:
    assert Array(INT, COMPACT, nullable=True) == Array(Fixed(WIRE_TYPES["int32"]), COMPACT, nullable=True) != INT
    assert hash(Varint(32, zigzag=True)) == hash(Varint(32, zigzag=True))
    assert repr(Varint(32, zigzag=True)) == "Varint(bits=32, zigzag=True, signed=True)"
    assert repr(Bits("a", 1)) == "Bits(name='a', mask=1)"
    assert repr(Bits("a", 2, ("no", "yes"))) == "Bits(name='a', mask=2, values=('no', 'yes'))"
    assert repr(EMPTY) == "StructLayout(name='Empty', items=())"
    assert str(Layout("A", 3, EMPTY)) == "A v3" and str(Layout("A", None, EMPTY)) == "A"


def parts(value: Any) -> Iterator[FrozenData]:
    if isinstance(value, FrozenData):
        yield value
        for _, part in value.given():
            yield from parts(part)
    elif isinstance(value, tuple):
        for part in value:
            yield from parts(part)


@pytest.mark.parametrize(
    "layout",
    [
        *(layout_of(PollRequest, version) for version in range(4)),
        *(format_of(name).layout for name in ("v1", "v2", "v3", "kip82-int+kip87")),
    ],
    ids=str,
)
def test_parts_of_a_layout_equal_their_copies(layout: Layout) -> None:
    for part in parts(layout):
        assert part.replace() == part and repr(part.replace()) == repr(part)
        for name, value in part.given():
            assert part.replace(**{name: value}) == part, name
    assert layout.root.replace(name="Other").name == "Other"
    assert layout.root.replace(name="Other") != layout.root


ATTRIBUTES = (
    Bits("compression", 0b111, ("none", "gzip", "snappy")),
    Bits("is_transactional", 0b10000),
    Bits("has_headers", 0b100000),
    Bits("level", 0b11000000),
)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0b00000000, []),
        (0b00000001, ["compression gzip"]),
        (0b00000010, ["compression snappy"]),
        (0b00000111, ["compression 7"]),  # an unknown codec
        (0b00010000, ["transactional"]),
        (0b00110001, ["compression gzip", "transactional", "has headers"]),
        (0b10000000, ["level 2"]),
        (0b11001000, ["level 3"]),  # bit 3 is unused
    ],
)
def test_names_of_bits(number: int, words: list[str]) -> None:
    assert bit_names(ATTRIBUTES, number) == words


@pytest.mark.parametrize(
    ("number", "value", "expected"),
    [(0, 3, 0b11000000), (0b11111111, 1, 0b01111111), (0b01, 2, 0b10000001), (0, 5, 0b01000000)],
)
def test_a_group_of_bits_is_changed_alone(number: int, value: int, expected: int) -> None:
    assert ATTRIBUTES[3].put(number, value) == expected
    assert ATTRIBUTES[3].of(expected) == value & 3
