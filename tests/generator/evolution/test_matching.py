import pytest

from tagwire.interpreter.schema import Field, Schema
from tagwire_generator.evolution.matching import matched


def renamed(old: Schema, new: Schema) -> list[tuple[str, str]]:
    steps = matched(old.layout.root, new.layout.root)
    return [
        (step.old.name, step.new.name) for step in steps if step.old and step.new and step.old.name != step.new.name
    ]


def struct(text: str) -> Schema:
    return Schema(*(Field(name, type) for name, type in (word.split(":") for word in text.split())))


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        ("a:int8 x:int8 b:int8", "a:int8 y:int8 b:int8", [("x", "y")]),
        ("a:int8 x:int8 b:int8", "y:int8 a:int8 b:int8", []),  # x and y have different neighbors
        ("a:int8 x:int8 b:int8 z:int8", "a:int8 b:int8 y:int8", [("z", "y")]),  # x was removed
        ("x:int16 a:int8", "y:uint16 a:int8", [("x", "y")]),  # signed and unsigned integers match
        ("x:uuid", "y:bytes[16]", [("x", "y")]),  # both types can have any 16 bytes as a value
        ("x:bytes[16]", "y:bytes[8]", []),
        ("x:int64", "y:float64", []),
    ],
)
def test_what_counts_as_renamed(old: str, new: str, pairs: list[tuple[str, str]]) -> None:
    assert renamed(struct(old), struct(new)) == pairs
