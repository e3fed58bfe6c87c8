import re
from pathlib import Path

import pytest

from tagwire.wire.types import WIRE_TYPES
from tagwire_generator.model.field_spec import ENTITY_TYPES
from tagwire_generator.model.message_rules import KINDS
from tagwire_generator.problems import RULES
from tagwire_generator.reading.spec import read_spec
from tagwire_generator.syntax.spec_schema import schema

TEXT = (Path(__file__).parents[2] / "docs" / "spec-language.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```json\n(.*?)^```", TEXT, re.M | re.S)


def test_the_table_of_rules_is_complete() -> None:
    rows = re.findall(r"^\| (TW\d{3}) \| (error|warning) \| (.+) \|$", TEXT, re.M)
    assert rows == [(rule.id, rule.severity, rule.title) for rule in sorted(RULES.values(), key=lambda rule: rule.id)]


@pytest.mark.parametrize(
    ("name", "heading"),
    [
        ("message", "Messages"),
        *(("import", "Shared structs"), ("sharedStruct", "Shared structs"), ("struct", "Structs"), ("field", "Fields")),
        ("optionalField", "The draft dialect"),
        *((name, "Registers") for name in ("register", "entry", "keyRange")),
    ],
)
def test_every_key_is_explained(name: str, heading: str) -> None:
    section = TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    assert section
    assert [key for key in schema()["$defs"][name]["properties"] if f"`{key}`" not in section] == []


def test_all_types_and_kinds_are_documented() -> None:
    for word in (*WIRE_TYPES, *ENTITY_TYPES, *KINDS):
        assert f"`{word}`" in TEXT, word


def test_the_examples_are_valid() -> None:
    assert len(EXAMPLES) >= 2
    for example in EXAMPLES:
        result = read_spec(example, file="Example.json")
        assert result.message is not None or result.register is not None, result.problems
