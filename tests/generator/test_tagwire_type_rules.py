"""Test the rules about the types of the tagwire dialect, and which changes of these types are breaking."""

import json
from typing import Any

import pytest

from tagwire_generator.evolution import compare_messages
from tagwire_generator.reading.spec import read_spec


def read_field(**keys: Any) -> Any:
    """Read a spec with one field that has these keys."""
    head = {"dialect": "tagwire", "type": "data", "name": "One", "validVersions": "0-1", "flexibleVersions": "1+"}
    return read_spec(json.dumps(head | {"fields": [{"name": "A", "versions": "0+", **keys}]}))


DECIMAL = {"type": "bytes", "semantic": "decimal"}
TAGGED = {"versions": "1+", "taggedVersions": "1+", "tag": 0}


@pytest.mark.parametrize(("field", "rule", "message"), [
    ({"type": "bytes[0]"}, "TW402", "from 1 to 65535"),
    ({"type": "bytes[65536]"}, "TW402", "from 1 to 65535"),
    ({"type": "bytes[x]"}, "TW402", "bytes[16]"),
    ({"type": "[][][][][]int8"}, "TW403", "at most 4"),
    ({"type": "uint8", "default": "256"}, "TW503", "uint8"),
    ({"type": "uint64", "default": "-1"}, "TW503", "uint64"),
    ({"type": "float32", "default": "1e39"}, "TW504", "float32"),
    ({"type": "bytes[2]", "default": "YWJj"}, "TW506", "2 bytes in standard base64"),
    ({**DECIMAL, "precision": 3, "default": "1000"}, "TW506", "at most 3 digits"),
    ({"type": "int32", "semantic": "timestamp_ms"}, "TW510", "a timestamp_ms is int64"),
    ({"type": "int64", "semantic": "timestamp_mss"}, "TW510", "timestamp_ms"),
    (DECIMAL, "TW510", "precision"),
    ({**DECIMAL, "precision": 77}, "TW510", "1 to 76"),
    ({**DECIMAL, "precision": 3, "scale": 4}, "TW510", "scale"),
    ({"type": "bytes", "precision": 3}, "TW510", "only a decimal"),
    ({"type": "int32", "nullableVersions": "1+", **TAGGED}, "TW511", '"default": "null"'),
])  # fmt: skip
def test_specs_that_are_rejected(field: dict[str, Any], rule: str, message: str) -> None:
    [problem] = read_field(**field).problems
    assert problem.rule == rule and message in problem.message and problem.line == 1


@pytest.mark.parametrize(
    ("old", "new", "rules"),
    [
        ({"type": "bytes[4]"}, {"type": "bytes[5]"}, ["TW903"]),
        ({"type": "bytes[16]"}, {"type": "uuid"}, ["TW920", "TW921"]),
        ({"type": "int64"}, {"type": "int64", "semantic": "timestamp_ms"}, ["TW952"]),
        ({"type": "int64"}, {"type": "int64", "nullableVersions": "0+"}, ["TW907"]),
        ({"type": "uint64"}, {"type": "int64"}, ["TW920"]),
        ({"type": "float32"}, {"type": "float64"}, ["TW903"]),
    ],
)
def test_breaking(old: dict[str, Any], new: dict[str, Any], rules: list[str]) -> None:
    before, after = (read_field(**field).message for field in (old, new))
    assert before is not None and after is not None
    assert sorted({each.rule for each in compare_messages(before, after)}) == rules
