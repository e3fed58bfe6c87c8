import copy
import json
from typing import Any

import pytest

from tagwire_generator.problems import RULES
from tagwire_generator.reading.spec import read_spec


def field(name: str, type: str, **keys: Any) -> dict[str, Any]:
    return {"name": name, "type": type, **keys}


BITS = [{"name": "Compression", "bits": "0-2", "values": ["none", "gzip"]}]
MEMBERS = [
    field("Length", "varint", lengthOf="rest"),
    field("OffsetDelta", "varint", deltaOf="BaseOffset"),
    field("Value", "bytes", length="varint", nullable=True),
]
GOOD: dict[str, Any] = {
    "name": "LetterBatch",
    "type": "format",
    "format": "letters",
    "discriminator": "Magic",
    "fields": [
        field("BaseOffset", "int64"),
        field("BatchLength", "int32", lengthOf="rest"),
        field("Magic", "int8", equals=9),
        field("Crc", "crc32c", covers="Attributes"),
        field("Attributes", "int16", bits=[*BITS, {"name": "HasStamp", "bits": 4}]),
        field("Stamp", "uvarlong", when={"field": "Attributes.HasStamp"}),
        field("NotesLength", "int16", lengthOf="Notes", includesItself=True),
        field("Notes", "[]int32", count="rest"),
        field("Count", "int32", countOf="Records"),
        field("Records", "[]Record", compression="Attributes.Compression", fields=MEMBERS),
    ],
    "claims": [{"field": "BatchLength", "value": 16384, "bytes": 4}],
}


def changed(path: str, **keys: Any) -> str:
    """Return a valid spec with changed keys in the field at `path`, or in the message itself if `path` is "".

    A new value of None removes the key.
    """
    spec = node = copy.deepcopy(GOOD)
    for name in filter(None, path.split(".")):
        node = next(each for each in node["fields"] if each["name"] == name)
    for key, value in keys.items():
        node.pop(key, None)
        if value is not None:
            node[key] = value
    return json.dumps(spec)


PLAIN = {"name": "Foo", "type": "data", "validVersions": "0", "flexibleVersions": "none"}
CASES = [
    ("TW001", json.dumps(PLAIN | {"fields": [field("A", "varint", versions="0+")]})),
    ("TW002", changed("Crc", lengthOf="Attributes")),
    ("TW002", changed("Notes", bits=BITS)),
    ("TW002", changed("Records.Value", deltaOf="BaseOffset")),
    ("TW002", changed("Records.Value", equals=1)),
    ("TW002", changed("Magic", default=8)),
    ("TW002", changed("Records.Length", includesItself=True)),
    ("TW002", changed("BaseOffset", includesItself=True)),
    ("TW002", changed("BaseOffset", signed=True)),
    ("TW002", changed("BaseOffset", ascending="Key")),
    ("TW002", changed("BaseOffset", notEmpty=True)),
    ("TW003", changed("Records.Value", length=None)),
    ("TW003", changed("BaseOffset", length="int32")),
    ("TW003", changed("BaseOffset", count="int32")),
    ("TW003", changed("Records", count=None, fields=[field("A", "[]int8")])),
    ("TW003", changed("Count", countOf="Notes")),
    ("TW004", changed("Crc", covers=None)),
    ("TW004", changed("BaseOffset", covers="Magic")),
    ("TW005", changed("Attributes", bits=[*BITS, {"name": "HasStamp", "bits": "2-4"}])),
    ("TW005", changed("Attributes", bits=[*BITS, {"name": "HasStamp", "bits": 16}])),
    ("TW005", changed("Attributes", bits=[*BITS, {"name": "HasStamp", "bits": "5-4"}])),
    ("TW005", changed("Attributes", bits=[*BITS, {"name": "HasStamp", "bits": 4}, {"name": "hasStamp", "bits": 5}])),
    ("TW005", changed("Attributes", bits=[*BITS, {"name": "HasStamp", "bits": 4, "values": ["a", "b", "c"]}])),
    ("TW005", changed("Attributes", bits=[*BITS, {"name": "Has Stamp", "bits": 4}])),
    ("TW005", changed("Attributes", bits=[*BITS, {"name": "HasStamp", "bits": "four"}])),
    ("TW006", changed("BatchLength", lengthOf="BaseOffset")),
    ("TW006", changed("NotesLength", lengthOf="Stamp")),
    ("TW006", changed("Count", countOf="Letters")),
    ("TW006", changed("Crc", covers="Stamp")),
    ("TW006", changed("Stamp", when={"field": "Attributes.HasStump"})),
    ("TW006", changed("Stamp", when={"field": "Count"})),
    ("TW006", changed("Records", compression="Attributes")),
    ("TW006", changed("Records.OffsetDelta", deltaOf="FirstOffset")),
    ("TW007", changed("Count", lengthOf="rest", countOf=None)),
    ("TW008", changed("Records", compression="Attributes.HasStamp")),
    ("TW008", changed("Notes", compression="Attributes.Compression")),
    ("TW009", changed("", discriminator="Count")),
    ("TW009", changed("Magic", equals=None)),
    ("TW010", changed("", format="Letters!")),
    ("TW010", changed("", format="")),
    ("TW011", changed("", claims=[{"field": "Length", "value": 1, "bytes": 1}])),
]


@pytest.mark.parametrize(("rule", "text"), CASES)
def test_rule_rejects_invalid_specs(rule: str, text: str) -> None:
    result = read_spec(text, file="LetterBatch.json")
    assert result.message is None
    assert rule in [problem.rule for problem in result.problems], result.problems
    assert all(problem.line and problem.column for problem in result.problems)


def test_only_the_last_field_takes_the_rest() -> None:
    text = changed("Records.OffsetDelta", type="bytes", length="rest", deltaOf=None)
    [problem] = read_spec(text, file="LetterBatch.json").problems
    assert problem.message == "field OffsetDelta takes the rest of Record, but Value follows it"
    assert text[problem.column - 1 :].startswith('"rest"')


def test_every_rule_is_seen_to_reject() -> None:
    assert {rule for rule, _ in CASES} == {rule for rule in RULES if rule <= "TW011"}


def test_valid_example_breaks_no_rule() -> None:
    assert read_spec(json.dumps(GOOD), file="LetterBatch.json").problems == ()


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("TW113", changed("", format=None)),
        ("TW113", changed("", fields=None)),
        ("TW110", changed("", validVersions="0")),
        ("TW110", changed("BaseOffset", versions="0+")),
        ("TW112", changed("Notes", count="int8")),
        ("TW114", changed("Magic", equals="nine")),
        ("TW507", changed("Records.Value", nullable=False, default="null")),
        ("TW503", changed("Magic", default="300")),
        ("TW503", changed("Magic", equals=300)),
        ("TW306", changed("Records", type="[]Letter", fields=None)),
    ],
)
def test_rules_for_all_specs_apply_to_formats(rule: str, text: str) -> None:
    assert rule in [problem.rule for problem in read_spec(text, file="LetterBatch.json").problems]
